"""Commands that run on, by thread: found by their own thread only, bounded, the oldest go first."""

from server.agent.tools.terminals import Terminal, TerminalLimits, Terminals
from state.ids import ThreadId

ONE, OTHER = ThreadId("one"), ThreadId("other")


def held(terminals: Terminals, thread_id: ThreadId = ONE) -> Terminal:
    """A terminal that ended, kept."""
    made = terminals.make(thread_id, item_id="i", command="c", cwd="/w", now_ms=0)
    terminals.hold(made)
    return made


async def test_a_terminal_is_found_by_its_own_thread_only() -> None:
    """Ids are unique over all threads, and dropped ones are gone."""
    terminals = Terminals()
    mine, theirs = held(terminals), held(terminals, OTHER)
    assert mine.session_id != theirs.session_id
    assert terminals.find(ONE, mine.session_id) is mine
    assert terminals.find(OTHER, mine.session_id) is None
    terminals.drop(mine)
    assert terminals.find(ONE, mine.session_id) is None
    assert terminals.running(OTHER) == []


async def test_beyond_the_bound_the_least_recently_used_goes() -> None:
    """What was looked at lately stays."""
    terminals = Terminals(TerminalLimits(per_thread_max=3, protected=1))
    first, second, third = (held(terminals) for _ in range(3))
    terminals.use(first)
    fourth = held(terminals)
    there = [one for one in (first, second, third, fourth)
             if terminals.find(ONE, one.session_id) is not None]  # fmt: skip
    assert there == [first, third, fourth]


async def test_all_of_a_thread_end_together() -> None:
    """And nothing of another one."""
    terminals = Terminals()
    mine, theirs = held(terminals), held(terminals, OTHER)
    assert await terminals.end_all(ONE) == 0
    assert terminals.find(ONE, mine.session_id) is None
    assert terminals.find(OTHER, theirs.session_id) is theirs
    await terminals.close()
    assert terminals.find(OTHER, theirs.session_id) is None
