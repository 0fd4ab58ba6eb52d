"""`thread/list` and its search at growing numbers of stored threads: does a page's cost grow?

Ours is filled through its store; the reference finds rollout files (of one turn) and indexes them
at its start, so its largest size is left out.
"""

import asyncio
import time
from pathlib import Path

from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state
from tests.bench.clients import Client, ws_client
from tests.bench.figures import Figures, options, report, spread
from tests.bench.sessions import write_sessions
from tests.bench.sides import Side, SideHome, home_of, model, sides, ws_server
from tests.support.rows import a_thread

SIZES = (1_000, 10_000, 100_000)
INDEXING_S = 180
_NEWEST_MS = 1_700_000_000_000


async def measure(side: Side, size: int, *, rounds: int) -> Figures:
    """Pages and searches of a home of that many threads."""
    with model() as model_port, home_of(side, model_port=model_port) as home:
        if side.ours:
            await _fill(home, size)
        else:
            write_sessions(home.path / "sessions", size, turns=1)
        with ws_server(home) as (_, port):
            async with ws_client(port) as client:
                await _indexed(client, size)
                return await _pages(client, size, rounds)


async def _fill(home: SideHome, size: int) -> None:
    state = await open_state(Home(home.path), SystemClock(), "bench")
    async with state.database.writing() as tx:
        for number in range(size):
            at_ms = _NEWEST_MS + number * 1_000
            row = a_thread(number, created_at_ms=at_ms, updated_at_ms=at_ms)
            await state.threads.put(tx, row)
    await state.close()


async def _indexed(client: Client, size: int) -> None:
    """Wait until every thread is listed, or nothing more comes."""
    seen, until = -1, time.monotonic() + INDEXING_S
    while time.monotonic() < until:
        count = await _count(client)
        if count >= size or (count == seen and count > 0):
            return
        seen = count
        await asyncio.sleep(2)


async def _count(client: Client) -> int:
    """Threads over all pages."""
    total, cursor = 0, None
    while True:
        asked = {"limit": 100, "cursor": cursor, "useStateDbOnly": True}
        page = await client.call("thread/list", asked)
        total += len(page["data"])
        cursor = page.get("nextCursor")
        if cursor is None:
            return total


async def _pages(client: Client, size: int, rounds: int) -> Figures:
    asked = {
        "page of 25": {"limit": 25},
        "page of 100": {"limit": 100},
        "page of 100, index only": {"limit": 100, "useStateDbOnly": True},
        "search, 25": {"limit": 25, "searchTerm": "change 7"},
        "search without a hit": {"limit": 25, "searchTerm": "nobody said this"},
    }
    figures: Figures = {}
    for name, params in asked.items():
        await client.timed("thread/list", params)
        times = [await client.timed("thread/list", params) for _ in range(rounds)]
        figures |= spread(f"{size} threads, {name}", times)
    began = time.perf_counter()
    figures[f"{size} threads, listed in all pages"] = await _count(client)
    figures[f"{size} threads, all pages s"] = time.perf_counter() - began
    return figures


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side and size."""
    measured: dict[str, Figures] = {}
    for side in sides(reference):
        figures = measured.setdefault(side.name, {})
        for size in SIZES[: 2 if quick or not side.ours else 3]:
            figures |= asyncio.run(measure(side, size, rounds=5 if quick else 25))
    return measured


if __name__ == "__main__":
    given = options(__doc__)
    report("listing", main(given.reference, quick=given.quick))
