"""Commands that run on after their call returned, by thread: found, read, written to, ended.

Invariant: a thread holds a bounded number; the oldest go first, those that ended before those that
run. What a thread holds dies with it, and with the server.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from server.agent.tools.output import HeadTail
from server.agent.tools.processes import Process
from state.ids import ThreadId

IDS = range(1_000, 100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalLimits:
    """Bounds of what runs on."""

    per_thread_max: int = 64
    protected: int = 8
    """The newest ones are never ended to make room while others are there."""
    unread_bytes_max: int = 1_048_576
    """Of output that the model has not read yet: head and tail."""
    kept_bytes_max: int = 262_144
    """Of the whole output, for the completed item: head and tail."""
    completion_wait_s: float = 2.0
    """Wait for items to be completed when a thread is let go."""


@dataclass(slots=True, kw_only=True, eq=False)
class Terminal:
    """One command and what it printed; `arrived` is set when there is something to look at."""

    session_id: int
    thread_id: ThreadId
    item_id: str
    command: str
    cwd: str
    started_at_ms: int
    unread: HeadTail
    kept: HeadTail
    process: Process | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    used: int = 0
    """Order of last use."""
    finish: Callable[[], None] = lambda: None
    """Tells clients what is held back of the output; called once it ended."""
    wrote: Callable[[str], None] | None = None
    """Tells clients what it was given to read."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process is not None and not self.process.ended.is_set()

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return None if self.process is None else self.process.exit_code


class Terminals:
    """Every terminal of this server; used on the event loop only."""

    def __init__(self, limits: TerminalLimits = TerminalLimits()) -> None:
        self._limits = limits
        self._terminals: dict[ThreadId, dict[int, Terminal]] = {}
        self._tasks: dict[ThreadId, set[asyncio.Task[None]]] = {}
        self._uses = 0

    def make(
        self, thread_id: ThreadId, *, item_id: str, command: str, cwd: str, now_ms: int
    ) -> Terminal:
        """A terminal with an id of its own; it is held only once `hold` is called."""
        used = {number for held in self._terminals.values() for number in held}
        session_id = next(
            number for number in iter(lambda: secrets.choice(IDS), None) if number not in used
        )
        return Terminal(
            session_id=session_id,
            thread_id=thread_id,
            item_id=item_id,
            command=command,
            cwd=cwd,
            started_at_ms=now_ms,
            unread=HeadTail(self._limits.unread_bytes_max),
            kept=HeadTail(self._limits.kept_bytes_max),
        )

    @property
    def count(self) -> int:
        """How many commands run on in the background, over all threads."""
        return sum(map(len, self._terminals.values()))

    def hold(self, terminal: Terminal) -> None:
        """Keep it for later calls; makes room where there is none."""
        held = self._terminals.setdefault(terminal.thread_id, {})
        while len(held) >= self._limits.per_thread_max:
            self._end_oldest(held)
        held[terminal.session_id] = terminal
        self.use(terminal)

    def use(self, terminal: Terminal) -> None:
        """Note that it was used just now."""
        self._uses += 1
        terminal.used = self._uses

    def drop(self, terminal: Terminal) -> None:
        """Forget it, running or not."""
        held = self._terminals.get(terminal.thread_id, {})
        held.pop(terminal.session_id, None)
        if not held:
            self._terminals.pop(terminal.thread_id, None)

    def find(self, thread_id: ThreadId, session_id: int) -> Terminal | None:
        """A terminal of this thread."""
        return self._terminals.get(thread_id, {}).get(session_id)

    def running(self, thread_id: ThreadId) -> list[Terminal]:
        """Those of a thread that run, oldest first."""
        held = self._terminals.get(thread_id, {}).values()
        return sorted((one for one in held if one.is_running), key=lambda one: one.started_at_ms)

    def watch(self, terminal: Terminal, task: "asyncio.Task[None]") -> None:
        """Keep a task that completes a terminal's item after its call."""
        tasks = self._tasks.setdefault(terminal.thread_id, set())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def end(self, terminal: Terminal) -> None:
        """Kill it and forget it."""
        self.drop(terminal)
        if terminal.process is not None:
            await terminal.process.killed()

    async def end_all(self, thread_id: ThreadId) -> int:
        """Kill everything of a thread, and let its items be completed; how many ran."""
        held = list(self._terminals.get(thread_id, {}).values())
        ran = sum(one.is_running for one in held)
        await asyncio.gather(*(self.end(one) for one in held))
        if tasks := self._tasks.pop(thread_id, set()):
            await asyncio.wait(tasks, timeout=self._limits.completion_wait_s)
        return ran

    async def close(self) -> None:
        """Kill everything, and let the items be completed."""
        await asyncio.gather(*(self.end_all(one) for one in list(self._terminals)))

    def _end_oldest(self, held: dict[int, Terminal]) -> None:
        by_use = sorted(held.values(), key=lambda one: one.used)
        ended = [one for one in by_use if not one.is_running]
        free = by_use[: max(1, len(by_use) - self._limits.protected)]
        oldest = (ended or free)[0]
        del held[oldest.session_id]
        if oldest.process is not None:
            oldest.process.kill()
