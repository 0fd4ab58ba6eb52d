"""Fifty WebSocket clients on ten threads with streaming turns, and three that behave badly.

`await Load(url, text, cwd).run(for_rounds(50))` gives what was measured, `for_seconds(60)` as many
turns as fit; `faults` lists what any healthy client missed or was told twice. The bad ones: one
reads nothing, one comes and leaves each second, one sends garbage.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.support.attached import Attached

CLIENTS, THREADS = 50, 10
Going = Callable[[int], bool]
"""Whether a thread begins one more turn, by how many it has had."""
ANSWERED: tuple[str | bytes, ...] = (
    "{",
    "[]",
    "[1, 2]",
    "null",
    '"text"',
    '{"id": null, "method": "thread/list"}',
    '{"id": 1.5, "method": "thread/list", "params": {}}',
    '{"id": "g7", "method": "no/such/method", "params": {}}',
    '{"id": "g8", "method": "turn/start", "params": {"threadId": "none"}}',
    '{"id": "g9", "method": "thread/read", "params": [1]}',
    b"\x00\xff binary",
    "x" * 10_000,
)
"""Garbage that is answered by an error each."""
SILENT = (
    '{"id": "g10", "result": {"decision": "accept"}}',
    '{"method": "initialized", "params": 5}',
)
"""Garbage that asks for nothing."""


def for_rounds(rounds: int) -> Going:
    """So many turns in each thread."""
    return lambda done: done < rounds


def for_seconds(seconds: float) -> Going:
    """As many as begin in that time, from now on, and one at least."""
    until = time.monotonic() + seconds
    return lambda done: done == 0 or time.monotonic() < until


@dataclass(slots=True)
class Measured:
    """What one load was like."""

    faults: list[str] = field(default_factory=list)
    start_ms: list[float] = field(default_factory=list)
    answered_ms: list[float] = field(default_factory=list)
    turns: int = 0
    deltas: int = 0
    seconds: float = 0.0
    reconnects: int = 0
    garbage: int = 0
    """Frames of it that are to be answered."""
    garbage_answered: int = 0

    @property
    def deltas_per_s(self) -> float:
        """Delta notifications that all clients together got."""
        return self.deltas / self.seconds if self.seconds else 0.0


class Load:
    """The clients and the threads of one run against one server.

    With `turns_per_thread` the clients of a thread leave it after so many and begin another.
    """

    def __init__(
        self, url: str, text: str, cwd: str, *, turns_per_thread: int | None = None
    ) -> None:
        self._url, self._text, self._cwd = url, text, cwd
        self._turns_per_thread = turns_per_thread
        self.measured = Measured()
        self._threads: list[str] = []
        self._clients: list[Attached] = []
        self._turn_ids: list[list[str]] = [[] for _ in range(THREADS)]
        """Of each thread's clients; the first turn of a thread is seen by one alone."""
        self._over = asyncio.Event()

    async def run(self, going: Going, sample: Callable[[], None] = lambda: None) -> Measured:
        """Turns in each thread as long as `going`, `sample` after each of the first thread."""
        self._clients = [await Attached.to(self._url) for _ in range(CLIENTS)]
        self._threads = [await self._begin_thread(at) for at in range(THREADS)]
        paused = await self._paused()
        bad = [asyncio.create_task(one) for one in (self._reconnecting(), self._garbage())]
        began = time.perf_counter()
        before = sum(client.deltas for client in self._clients)
        await asyncio.gather(*(self._turns(at, going, sample) for at in range(THREADS)))
        for at in range(THREADS):
            await self._told_of(at)
        self.measured.seconds = time.perf_counter() - began
        self.measured.deltas = sum(client.deltas for client in self._clients) - before
        self._over.set()
        await asyncio.gather(*bad)
        await paused.vanish()
        for client in self._clients:
            await client.leave()
        self._compare()
        return self.measured

    async def _begin_thread(self, at: int) -> str:
        """A thread with one turn, and all its clients listening to what comes next."""
        client, *others = self._clients[at::THREADS]
        began = time.perf_counter()
        started = await client.call("thread/start", {"cwd": self._cwd})
        self.measured.start_ms.append((time.perf_counter() - began) * 1000)
        thread_id = str(started["thread"]["id"])
        first, _ = await self._turn(client, thread_id)
        for key in [key for key in client.items if key[0] == first]:
            del client.items[key]
        for other in others:
            await other.call("thread/resume", {"threadId": thread_id})
        return thread_id

    async def _turns(self, at: int, going: Going, sample: Callable[[], None]) -> None:
        client, ids = self._clients[at], self._turn_ids[at]
        while going(len(ids)):
            turn_id, answered_ms = await self._turn(client, self._threads[at])
            ids.append(turn_id)
            self.measured.answered_ms.append(answered_ms)
            self.measured.turns += 1
            if at == 0:
                sample()
            if self._turns_per_thread and len(ids) % self._turns_per_thread == 0:
                await self._told_of(at)
                for one in self._clients[at::THREADS]:
                    await one.call("thread/unsubscribe", {"threadId": self._threads[at]})
                self._threads[at] = await self._begin_thread(at)

    async def _turn(self, client: Attached, thread_id: str) -> tuple[str, float]:
        words = [{"type": "text", "text": self._text}]
        began = time.perf_counter()
        reply = await client.call("turn/start", {"threadId": thread_id, "input": words})
        answered_ms = (time.perf_counter() - began) * 1000
        turn_id = str(reply["turn"]["id"])
        await client.until(lambda: client.turns[turn_id] > 0)
        return turn_id, answered_ms

    async def _told_of(self, at: int) -> None:
        wanted = self._turn_ids[at]
        for number, client in enumerate(self._clients[at::THREADS]):
            try:
                await client.until(lambda: all(client.turns[one] for one in wanted))  # noqa: B023
            except TimeoutError:
                missing = [one for one in wanted if not client.turns[one]]
                name = at + number * THREADS
                self.measured.faults.append(f"client {name} was not told {missing} ended")

    def _compare(self) -> None:
        """Each turn and each item ended once for each subscriber, and for all the same ones."""
        faults = self.measured.faults
        for at in range(THREADS):
            group = self._clients[at::THREADS]
            for number, client in enumerate(group):
                name = f"client {at + number * THREADS}"
                faults += [
                    f"{name}: {turn} ended {client.turns[turn]} times"
                    for turn in self._turn_ids[at]
                    if client.turns[turn] != 1
                ]
                told = client.items.items()
                faults += [f"{name}: {item} ended {many} times" for item, many in told if many != 1]
                if client.items != group[0].items:
                    faults.append(f"{name} saw other items than client {at}")
                if client.lagged:
                    faults.append(f"{name} was told {client.lagged} times that it is behind")

    async def _paused(self) -> Attached:
        """Subscribed to everything, and reads nothing from now on."""
        client = await Attached.to(self._url)
        for thread_id in self._threads:
            await client.call("thread/resume", {"threadId": thread_id})
        await client.pause()
        return client

    async def _reconnecting(self) -> None:
        async def once() -> None:
            client = await Attached.to(self._url)
            await client.call("thread/resume", {"threadId": self._threads[0]})
            await client.vanish()
            self.measured.reconnects += 1

        await self._each(1.0, once)

    async def _garbage(self) -> None:
        """The connection lives through all of it, and is answered whatever asks for an answer."""
        client = await Attached.to(self._url)

        async def once() -> None:
            for frame in (*ANSWERED, *SILENT):
                await client.send(frame)
            self.measured.garbage += len(ANSWERED)

        await self._each(0.1, once)
        await client.call("thread/loaded/list", {})
        with contextlib.suppress(TimeoutError):
            await client.until(lambda: client.errors >= self.measured.garbage)
        self.measured.garbage_answered = client.errors
        await client.leave()

    async def _each(self, seconds: float, once: Callable[[], Awaitable[None]]) -> None:
        while not self._over.is_set():
            await once()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), seconds)


def flat_mib(sizes: Sequence[float]) -> tuple[float, float]:
    """Of sizes in order those of the second quarter, when all is warm, and of the last."""
    quarter = max(1, len(sizes) // 4)
    return statistics.median(sizes[quarter : 2 * quarter]), statistics.median(sizes[-quarter:])
