"""What a server holds does not grow with the threads, turns, clients and errors it has seen."""

from collections.abc import Awaitable, Callable, Mapping, Set
from pathlib import Path

import pytest

from state.ids import ThreadId
from tests.support.growth import lengths
from tests.support.homes import Serving, serving
from tests.support.methods import error_of, said, started

WARM_UP, ROUNDS = 3, 8
MARKS = {"Trace.sentences[]", "Trace.words", "Withdrawn.thread_ids"}
LOOKED_AT = {
    "Connections._running",
    "Hub._heard",
    "Hub._listeners",
    "Hub._peers",
    "IdleThreads._quiet_since_ms",
    "Journal._named",
    "KnownModels._found_s",
    "LiveThreads._loading",
    "LiveThreads._threads",
    "McpFleet._crews",
    "MemoryCounters._counts",
    "Providers._warming",
    "Questions._open",
    "Scheduler._passes",
    "StoredTurns._kept",
    "Terminals._tasks",
    "Terminals._terminals",
    "Withheld._marks",
}
"""Some of the tables that must be among those that were compared."""


async def _visited(home: Serving, number: int) -> None:
    """A client comes, does what clients do, makes mistakes of its own, and leaves."""
    live = home.server.services.live
    async with home.wire.client("websocket") as client:
        thread = await started(client)
        await said(client, thread, f"lake {number} is deep")
        await client.request("memory/search", {"query": f"lake{number} depth"})
        await client.request("thread/read", {"threadId": thread, "includeTurns": True})
        await client.request("thread/memoryMode/set", {"threadId": thread, "mode": "disabled"})
        for method, params in (
            (f"no/such/method{number}", {}),
            ("thread/read", {"threadId": f"no thread {number}"}),
            ("thread/start", {"modelProvider": f"nobody{number}"}),
            ("memory/search", {"query": "x", "version": f"v{number}9"}),
            ("turn/interrupt", {"threadId": thread, "turnId": f"none {number}"}),
        ):
            await error_of(client, method, params)
        fork = (await client.request("thread/fork", {"threadId": thread}))["thread"]["id"]
        await client.request("thread/name/set", {"threadId": thread, "name": f"lake {number}"})
        await said(client, fork, f"and lake {number} is cold")
        await client.request("thread/archive", {"threadId": fork})
        await client.request("thread/unarchive", {"threadId": fork})
        await client.request("thread/resume", {"threadId": fork, "excludeTurns": True})
        await client.request("thread/delete", {"threadId": thread})
        left = await started(client, model=f"model {number}")
        await client.request("thread/unsubscribe", {"threadId": left})
    for one in (fork, left):
        await live.unload(ThreadId(one))


async def _learned(home: Serving, number: int) -> None:
    """A thread is heard, told in memory, and deleted."""
    async with home.wire.client("websocket") as client:
        thread = await started(client)
        await said(client, thread, f"I always prefer the editor walrus{number} for Go files.")
        await client.request("memory/consolidate/start", {"wait": True})
        found = await client.request("memory/search", {"query": f"walrus{number}"})
        assert found["hits"]
        await client.request("thread/delete", {"threadId": thread})
        found = await client.request("memory/search", {"query": f"walrus{number}"})
        assert not found["hits"]


@pytest.mark.requirement("FR-S13")
async def test_a_server_holds_as_much_after_many_clients_as_after_a_few(tmp_path: Path) -> None:
    """Every container that its objects reach is looked at, so that a new table counts as well."""
    async with serving(tmp_path) as home:
        seen, grown = await _grown(home, _visited)
    assert LOOKED_AT - seen == set()
    assert grown == {}


@pytest.mark.requirement("FR-S13")
async def test_what_was_learned_and_deleted_leaves_nothing_but_bounded_marks(
    tmp_path: Path,
) -> None:
    """Of who went and what they said, so that it does not come back (`test_gone.py`)."""
    async with serving(tmp_path) as home:
        seen, grown = await _grown(home, _learned)
    assert MARKS <= seen
    assert grown.keys() - MARKS == set()


async def _grown(
    home: Serving, visit: Callable[[Serving, int], Awaitable[None]]
) -> tuple[Set[str], Mapping[str, tuple[int, int]]]:
    """The containers that were looked at, and those that hold more with each visit."""
    for number in range(WARM_UP):
        await visit(home, number)
    before = lengths([home.server, vars(home.wire)])
    for number in range(ROUNDS):
        await visit(home, WARM_UP + number)
    after = lengths([home.server, vars(home.wire)])
    both = {path: (before.get(path, 0), held) for path, held in after.items()}
    return before.keys(), {one: two for one, two in both.items() if two[1] - two[0] >= ROUNDS}
