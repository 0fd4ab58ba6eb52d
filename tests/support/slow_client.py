"""Twenty clients of the installed server, on every transport, and one of them does not read.

`async with twenty(owner, model, "unix") as flood: await flood.run(50_000_000)` lets turns with long
questions and answers pass until each of the others has got so much.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed

from tests.bench.sides import rss_mib
from tests.support.attached import Attached
from tests.support.owner_process import JOINING, Owner, Way
from tests.support.responses_server import Recorded, Reply, ResponsesServer

CLIENTS = 20
WORDS = "a few words of a long text " * 1_600
TURNS = 10
"""In each thread, which is deleted behind them: what a thread keeps is no matter of the wire."""


def answering_at_length(request: Recorded) -> Reply:
    """A long answer in pieces to a long question, a short one to a short one."""
    long = len(request.user_texts[-1]) > 100
    return Reply(text=WORDS if long else "short", delta_characters=1_000)


@dataclass(slots=True)
class Flood:
    """The clients of one run, and what was seen of the server meanwhile."""

    owner: Owner
    model: ResponsesServer
    others: list[Attached]
    slow: Attached
    cwd: str
    turns: list[str] = field(default_factory=list)
    sizes_mib: list[float] = field(default_factory=list)
    """Resident memory after each turn."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server says that it closed a client as too slow."""
    log: list[str] = field(default_factory=list)

    async def run(self, bytes_each: int) -> None:
        """Thread after thread until each of the others has so much more."""
        until = self.others[0].bytes + bytes_each
        while min(one.bytes for one in self.others) < until:
            await self._thread()

    async def _thread(self) -> None:
        first = self.others[0]
        thread = str((await first.call("thread/start", {"cwd": self.cwd}))["thread"]["id"])
        await self._turn(thread, "begin", [first])
        for one in self.others[1:]:
            await one.call("thread/resume", {"threadId": thread})
        if not self.closed.is_set():
            with suppress(OSError, ConnectionClosed):  # the server may have closed it by now
                await self.slow.ask("thread/resume", {"threadId": thread})
        for _ in range(TURNS):
            self.turns.append(await self._turn(thread, WORDS, self.others))
            self.sizes_mib.append(rss_mib(self.owner.process.pid))
        await first.call("thread/delete", {"threadId": thread})
        self.model.requests.clear()  # a hundred megabytes that nobody looks at

    async def _turn(self, thread: str, text: str, told: list[Attached]) -> str:
        given = {"threadId": thread, "input": [{"type": "text", "text": text}]}
        turn = str((await self.others[0].call("turn/start", given))["turn"]["id"])
        for one in told:
            await one.until(lambda: one.turns[turn] > 0)  # noqa: B023
        return turn

    async def watch(self) -> None:
        """Read what the server logs."""
        assert self.owner.process.stderr is not None
        while line := (await self.owner.process.stderr.readline()).decode():
            self.log.append(line)
            if "too slow" in line:
                self.closed.set()


@asynccontextmanager
async def twenty(owner: Owner, model: ResponsesServer, slow: Way, cwd: str) -> AsyncIterator[Flood]:
    """Nineteen on every transport and one on that of `slow`; all read until told otherwise."""
    model.choose = answering_at_length
    async with AsyncExitStack() as stack:
        clients = [
            await Attached.over(await stack.enter_async_context(owner.link(transport)))
            for transport in (
                slow,
                *(JOINING[number % len(JOINING)] for number in range(CLIENTS - 1)),
            )
        ]
        flood = Flood(owner, model, clients[1:], clients[0], cwd)
        watching = asyncio.create_task(flood.watch())
        try:
            yield flood
        finally:
            watching.cancel()
            flood.slow.link.wake()
            flood.slow.link.cut()  # a process that carries lines to it may wait for it to read
            for one in flood.others:
                with suppress(OSError):
                    await one.link.close()
