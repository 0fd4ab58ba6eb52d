"""How long everybody waits while the database is locked and a very large thread is read.

One server; twenty clients that ask for something small, again and again; another process holds the
write lock for ten seconds; one more client reads, resumes and pages a thread of 400 MB. The gap is
measured in the server, the delay by the clients, which are in this process and not in that one.
Beside the time it was late stands the processor time that the server took between two wakes: what
a busy machine adds is in the first alone.
"""

import asyncio
import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.figures import Figures, options, percentile, report
from tests.bench.sides import rss_mib
from tests.support.attached import Attached
from tests.support.installed import environment
from tests.support.large_thread import write_large_thread
from tests.support.probed import gaps_ms, probed
from tests.support.rollout_files import THREAD

CLIENTS = 20
MIB = 400
LOCK_S = 10.0
PING_S = 0.05
WAIT_S = 500.0


@dataclass(slots=True)
class Pings:
    """What the twenty were answered, in milliseconds."""

    delays_ms: list[float] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep_on(self, client: Attached) -> None:
        """Ask again and again."""
        while not self.over.is_set():
            began = time.perf_counter()
            await client.call("thread/loaded/list", {})
            self.delays_ms.append((time.perf_counter() - began) * 1000)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), PING_S)


async def measure(mib: int) -> Figures:
    """One server, everything at once."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder, "home")
        home.mkdir(mode=0o700)
        path = write_large_thread(Path(folder, "source"), bytes_min=mib << 20)
        async with probed(home, environment(home)) as (process, url):
            reader = await Attached.to(url, patience_s=WAIT_S)
            await reader.call("thread/import", {"path": str(path)})
            clients = [await Attached.to(url) for _ in range(CLIENTS)]
            pings = Pings()
            asking = [asyncio.create_task(pings.keep_on(one)) for one in clients]
            before = rss_mib(process.pid)
            figures: Figures = {}
            for name, work in (("locked", _locked(home, reader)), ("loaded", _loaded(reader))):
                pings.delays_ms.clear()
                began = time.perf_counter()
                await work
                figures |= {
                    f"{name} seconds": time.perf_counter() - began,
                    f"{name} ping p99 ms": percentile(pings.delays_ms, 99),
                    f"{name} ping longest ms": max(pings.delays_ms),
                }
            pings.over.set()
            await asyncio.gather(*asking)
            view = await reader.call("memory/overview", {})
            figures["loop lag metric ms"] = view["server"]["load"]["loopLagLongestMs"]
            figures |= {"resident before MiB": before, "resident after MiB": rss_mib(process.pid)}
            gaps = await gaps_ms(process)
    for name, values in zip(("late", "of processor time"), zip(*gaps, strict=True), strict=True):
        figures |= {
            f"loop gap median ms {name}": percentile(values, 50),
            f"loop gap p99 ms {name}": percentile(values, 99),
            f"loop gap longest ms {name}": max(values),
        }
    return figures


async def _locked(home: Path, reader: Attached) -> None:
    """The lock is held while the thread is read from its file, and a change waits for it."""
    with _lock(home):
        until = time.perf_counter() + LOCK_S
        change: dict[str, Any] = {"threadId": THREAD, "mode": "disabled"}
        waiting = asyncio.create_task(reader.call("thread/memoryMode/set", change))
        await reader.call("thread/read", {"threadId": THREAD, "includeTurns": True})
        await reader.call("thread/items/list", {"threadId": THREAD, "limit": 100})
        await asyncio.sleep(max(0.0, until - time.perf_counter()))
    with contextlib.suppress(AssertionError):  # it was refused in time, as it may be
        await waiting


@contextlib.contextmanager
def _lock(home: Path) -> Iterator[None]:
    other = sqlite3.connect(home / "state.sqlite", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()


async def _loaded(reader: Attached) -> None:
    """The thread is loaded, paged, and goes on."""
    await reader.call("thread/resume", {"threadId": THREAD})
    cursor = None
    for _ in range(20):
        page = {"threadId": THREAD, "cursor": cursor, "limit": 100, "sortDirection": "desc"}
        cursor = (await reader.call("thread/items/list", page))["nextCursor"]
    await reader.call("thread/turns/list", {"threadId": THREAD, "limit": 100})


def main(*, quick: bool) -> dict[str, Figures]:
    """Ours alone."""
    return {"ours": asyncio.run(measure(MIB // 5 if quick else MIB))}


if __name__ == "__main__":
    report("freezes", main(quick=options(__doc__).quick))
