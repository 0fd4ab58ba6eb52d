"""Lists come from the index: no transcript is opened for them."""

import asyncio
import os
from pathlib import Path

import pytest

from state.ids import ThreadId
from tests.support.homes import serving
from tests.support.methods import said, started


@pytest.mark.requirement("FR-T19")
async def test_lists_and_searches_of_threads_open_no_transcript(tmp_path: Path) -> None:
    """Each file is a pipe by then, which whoever opened it would wait at for ever."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        threads = []
        for number in range(3):
            thread = await started(client)
            await said(client, thread, f"words {number}")
            await client.request("thread/name/set", {"threadId": thread, "name": f"n {number}"})
            await home.server.services.live.unload(ThreadId(thread))
            threads.append(thread)
        paths = await asyncio.to_thread(lambda: list(home.home.sessions.rglob("*.jsonl")))
        assert len(paths) == len(threads)
        for path in paths:
            path.unlink()
            os.mkfifo(path)
        for params in ({}, {"sortKey": "updated_at"}, {"searchTerm": "n "}, {"limit": 3}):
            page = await client.request("thread/list", params)
            assert sorted(row["id"] for row in page["data"]) == sorted(threads)
        found = await client.request("thread/search", {"searchTerm": "n 1"})
        assert [hit["thread"]["id"] for hit in found["data"]] == [threads[1]]
