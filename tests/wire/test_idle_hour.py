"""A server with thousands of threads and nothing to do looks through none of them for an hour."""

import asyncio
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state
from tests.support.clock import ManualClock
from tests.support.homes import Serving, serving
from tests.support.many_threads import many_threads
from tests.support.wire import KINDS, Kind

THREADS = 5_000
STEPS = 100
HUNDREDS_MAX = THREADS // STEPS
"""A look at each thread takes at least one step of the engine; in fact from five to forty."""
MINUTES = 60
BEFORE_MINUTES = 15
HOUR_S = 3_600
NOW_MS = 1_795_000_000_000


class Watched:
    """What the engine of the database and the files of sessions are asked for."""

    def __init__(self) -> None:
        self.on = False
        self.hundreds: Counter[str] = Counter()
        """By statement, the most steps in hundreds that one run of it took."""
        self.runs: Counter[str] = Counter()
        self.files: list[str] = []

    def connect(self, make: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
        """The same, with each connection watched."""

        def connect(*given: Any, **named: Any) -> sqlite3.Connection:
            connection = make(*given, **named)
            run = _Run(self)
            connection.set_trace_callback(run.begun)
            connection.set_progress_handler(run.stepped, STEPS)
            return connection

        return connect

    def audited(self, event: str, given: tuple[Any, ...]) -> None:
        """Called by the interpreter for whatever it opens or lists."""
        if self.on and event in ("open", "os.listdir", "os.scandir") and "sessions" in str(given):
            self.files.append(f"{event} {given[0]}")


class _Run:
    """The statement that a connection is at."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._statement, self._hundreds = "", 0

    def begun(self, statement: str) -> None:
        """The engine begins with it."""
        self._statement, self._hundreds = statement, 0
        if self._watched.on:
            self._watched.runs[statement] += 1

    def stepped(self) -> int:
        """It took a hundred steps more; it goes on."""
        self._hundreds += 1
        if self._watched.on:
            most = self._watched.hundreds
            most[self._statement] = max(most[self._statement], self._hundreds)
        return 0


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Watches until the test is over; a hook of the interpreter stays, and does nothing then."""
    made = Watched()
    monkeypatch.setattr(sqlite3, "connect", made.connect(sqlite3.connect))
    sys.addaudithook(made.audited)
    yield made
    made.on = False


@pytest.mark.requirement("FR-T19", "FR-K3")
@pytest.mark.parametrize("kind", KINDS)
async def test_an_idle_hour_reads_no_transcript_and_scans_no_table(
    kind: Kind, tmp_path: Path, watched: Watched
) -> None:
    """With learning on and a client attached; that it was awake shows in what it asked."""
    home = Home(tmp_path / "home")
    await (await open_state(home, SystemClock(), "test")).close()
    begun_ms = NOW_MS - 86_400_000 - THREADS * 1_000
    await asyncio.to_thread(many_threads, home.database, THREADS, begun_ms=begun_ms, gap_ms=1_000)
    clock = ManualClock(NOW_MS)
    async with (
        serving(tmp_path, clock=clock, learning=True) as server,
        server.wire.client(kind) as client,
    ):
        await client.request("thread/list", {"limit": 50})
        await _settled(server)
        for _ in range(BEFORE_MINUTES):  # a start looks at everything once
            clock.advance(HOUR_S / MINUTES)
            await _settled(server)
        watched.on = True
        for _ in range(MINUTES):
            clock.advance(HOUR_S / MINUTES)
            await _settled(server)
        watched.on = False
    print(f"\n{sum(watched.runs.values())} statements of {len(watched.runs)} kinds")
    assert watched.runs, "nothing woke: the hour did not pass for it"
    assert watched.files == []
    most = watched.hundreds.most_common(1)
    assert not most or most[0][1] < HUNDREDS_MAX, most


async def _settled(server: Serving) -> None:
    """Let what woke come to its end: it waits for threads of the database, a few trips each."""
    for _ in range(5):
        await asyncio.sleep(0.005)
        async with server.server.services.state.database.writing():
            pass
