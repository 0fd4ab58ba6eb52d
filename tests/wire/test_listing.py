"""Lists come from the index: no transcript is opened for them."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from state.home import Home
from state.ids import ThreadId
from tests.support.homes import serving
from tests.support.methods import said, started
from tests.support.wire import WireClient


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


TOLD = ("id", "preview", "name", "createdAt", "updatedAt", "path", "cwd", "modelProvider")


async def _listed(client: WireClient) -> list[dict[str, Any]]:
    page = await client.request("thread/list", {"sortKey": "updated_at"})
    return [{key: row[key] for key in TOLD} for row in page["data"]]


def _put_back(home: Home, older: Path) -> None:
    for ending in ("-wal", "-shm"):
        home.database.with_name(f"{home.database.name}{ending}").unlink(missing_ok=True)
    shutil.copyfile(older, home.database)


@pytest.mark.requirement("FR-T19", "FR-S6")
async def test_an_index_that_is_older_than_the_transcripts_is_brought_up_to_them(
    tmp_path: Path,
) -> None:
    """Threads since then, and what was said since in old ones; what was deleted stays away."""
    older = tmp_path / "older"
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        grown, gone, known = [await started(client) for _ in range(3)]
        for thread in (grown, gone, known):
            await said(client, thread, "before")
        database = home.home.database
    await asyncio.to_thread(shutil.copyfile, database, older)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        late = await started(client)
        await said(client, late, "after")
        await client.request("thread/name/set", {"threadId": late, "name": "Late"})
        hidden = await started(client)
        await said(client, hidden, "not for memory")
        await client.request("thread/memoryMode/set", {"threadId": hidden, "mode": "disabled"})
        await client.request("thread/resume", {"threadId": grown})
        await said(client, grown, "more")
        row = await client.request("thread/read", {"threadId": gone})
        file = Path(row["thread"]["path"])
        kept = await asyncio.to_thread(file.read_bytes)
        await client.request("thread/delete", {"threadId": gone})
        before = await _listed(client)
        assert {row["id"] for row in before} == {grown, known, late, hidden}
    await asyncio.to_thread(_put_back, home.home, older)
    await asyncio.to_thread(file.write_bytes, kept)
    for _ in range(2):  # the second start finds nothing to do and changes nothing
        async with serving(tmp_path) as home, home.wire.client("pair") as client:
            assert await _listed(client) == before
            state = home.server.services.state
            async with state.database.reading() as read:
                row = await state.threads.get(read, ThreadId(hidden))
            assert row is not None and row.memory_mode == "disabled"


@pytest.mark.requirement("FR-T19")
async def test_a_transcript_that_is_none_keeps_no_start_and_no_list_back(tmp_path: Path) -> None:
    """A pipe, a link and a broken file of such a name, and one good file that was put there."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "words")
        path = Path((await _listed(client))[0]["path"])
    good = await asyncio.to_thread(_strange_ones, path, thread)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert {row["id"] for row in await _listed(client)} == {thread, good}


def _strange_ones(path: Path, thread: str) -> str:
    """Beside a transcript others by name, of which one is one; its thread."""
    ids = [f"01a22885-a458-7772-84ef-{number:012d}" for number in range(4)]
    pipe, link, broken, good = [path.with_name(path.name.replace(thread, one)) for one in ids]
    os.mkfifo(pipe)
    link.symlink_to(path)
    broken.write_bytes(b"\0 nothing of ours\n")
    good.write_text(path.read_text("utf-8").replace(thread, ids[3]), "utf-8")
    return ids[3]
