"""Fifty thousand threads: a page is there at once, over every transport, and the next one fits."""

import asyncio
import time
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state
from tests.support.many_threads import many_threads
from tests.support.owner_process import WAYS, Way, owned
from tests.support.wire import WireClient

THREADS, PAGE = 50_000, 50
PAGE_MS_MAX = 100.0
TRIES = 10
GAP_MS = 1_000


async def _home_of_many(folder: Path) -> tuple[Path, list[str]]:
    """A home of so many threads, the newest a day old; and their ids, the newest first."""
    home = Home(folder / "home")
    clock = SystemClock()
    await (await open_state(home, clock, "test")).close()
    begun_ms = clock.now_ms() - 86_400_000 - THREADS * GAP_MS
    ids = await asyncio.to_thread(
        many_threads, home.database, THREADS, begun_ms=begun_ms, gap_ms=GAP_MS
    )
    return home.root, ids[::-1]


async def _timed_ms(client: WireClient, **more: object) -> float:
    began = time.perf_counter()
    page = await client.request("thread/list", {"limit": PAGE, **more})
    took_ms = (time.perf_counter() - began) * 1_000
    assert len(page["data"]) == PAGE
    return took_ms


async def _new_thread(client: WireClient, cwd: Path) -> str:
    started = await client.request("thread/start", {"cwd": str(cwd)})
    thread_id = str(started["thread"]["id"])
    words = [{"type": "text", "text": "hello"}]
    await client.request("turn/start", {"threadId": thread_id, "input": words})
    await client.notification("turn/completed")
    return thread_id


@pytest.mark.requirement("FR-T19")
@pytest.mark.parametrize("way", WAYS)
async def test_pages_among_fifty_thousand_are_quick_and_fit_while_threads_arrive(
    way: Way, tmp_path: Path
) -> None:
    """The best of some tries is taken, so that a busy machine is not measured instead."""
    home, ids = await _home_of_many(tmp_path)
    async with owned(way, home, tmp_path) as (_, client):
        for more in ({}, {"sortKey": "updated_at"}, {"cwd": "/p3"}, {"sortDirection": "asc"}):
            times_ms = [await _timed_ms(client, **more) for _ in range(TRIES)]
            print(f"\n{way} {more}: {min(times_ms):.1f} to {max(times_ms):.1f} ms")
            assert min(times_ms) < PAGE_MS_MAX
        listed: list[str] = []
        cursor = None
        for _ in range(4):
            page = await client.request("thread/list", {"limit": PAGE, "cursor": cursor})
            listed += [row["id"] for row in page["data"]]
            cursor = page["nextCursor"]
            await _new_thread(client, tmp_path)
        assert listed == ids[: 4 * PAGE]
        newest = await client.request("thread/list", {"limit": PAGE})
        assert [row["id"] for row in newest["data"]][4:] == ids[: PAGE - 4]
