"""The index of search: it follows the files, forgets what went, and outlives what happens to it."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_read.index_standing import INDEX_LIMITS
from memory_read.search import MemorySearch
from memory_read.wording import stems
from state.home import Home
from state.recovery import State, open_state
from state.stores.search import SearchStore, pressed
from tests.support.clock import ManualClock
from tests.support.searching import bytes_of, searching, settled, texts
from tests.support.source import ROOT

SECRET = "sk-" + "a1B2" * 8
CANARY = pressed(stems("quxfrobnicator"))
"""Its number in the rows; in the full-text index its digits are a word."""
NOTE = "extensions/ad_hoc/notes/2026-11-29T10-00-00-ports.md"


@pytest.fixture
async def search(state: State, memory: Path) -> AsyncIterator[MemorySearch]:
    """Search over the published memory."""
    async with searching(state) as (_, opened):
        yield opened


async def test_an_index_that_is_behind_gives_nothing_that_does_not_stand(
    state: State, memory: Path
) -> None:
    """Where the database cannot be written, the files themselves are read."""
    async with searching(state) as (_, search):
        assert await texts(search, "make check") != []
    handbook = memory / "MEMORY.md"
    handbook.write_text(handbook.read_text().replace("make check", "just all-of-it"))
    (memory / "memory_summary.md").unlink()
    async with searching(state, replace(INDEX_LIMITS, files_awaited_max=0)) as (index, search):
        await index.close()  # it follows nothing any more
        reply = await search.search("make check", version="v1")
        assert [hit.text for hit in reply.hits if "make" in hit.text] == []
        reply = await search.search("all-of-it", version="v1")
        assert reply.hits[0].text == "- tests run with just all-of-it"
        assert reply.indexing


async def test_deleted_words_leave_the_bytes_of_the_database(state: State, memory: Path) -> None:
    """Rows, full-text index and log: nothing of a file that went is left after a refresh."""
    recap = memory / "rollout_summaries" / "two.md"
    recap.write_text("- the canary is quxfrobnicator\n" * 3 + "- other words\n" * 300)
    async with searching(state) as (index, search):
        assert await texts(search, "quxfrobnicator") != []
        assert CANARY in bytes_of(state)
        recap.unlink()
        await settled(index)
        assert await texts(search, "quxfrobnicator") == []
        assert not _holds_canary(state)
        async with state.database.reading() as read:
            assert not await index.store.is_littered(read)


def _holds_canary(state: State) -> bool:
    there = bytes_of(state)
    return any(one in there for one in (CANARY, CANARY.hex().encode()[2:], b"quxfrob"))


async def test_a_reader_in_the_way_leaves_the_mark_until_it_is_gone(
    state: State, memory: Path
) -> None:
    """Old pages live as long as a snapshot needs them; then the next look clears them."""
    recap = memory / "rollout_summaries" / "two.md"
    recap.write_text("- the canary is quxfrobnicator\n")
    async with searching(state) as (index, search):
        assert await texts(search, "quxfrobnicator") != []
        async with state.database.reading() as read:
            await SearchStore().files(read, "v1")
            recap.unlink()
            await settled(index)
            assert await index.store.is_littered(read) or _holds_canary(state)
        await settled(index)
        assert not _holds_canary(state)


async def test_an_edition_that_changes_nothing_indexes_nothing_anew(
    state: State, memory: Path, search: MemorySearch
) -> None:
    """A publish exchanges the folder: files look new, their bytes are the same."""
    await texts(search, "make check")
    before = await _units(state)
    _exchange(memory)
    assert await texts(search, "make check") != []
    assert await _units(state) == before


def _exchange(folder: Path) -> None:
    for path in folder.rglob("*.md"):
        copy = path.with_suffix(".copy")
        copy.write_bytes(path.read_bytes())
        os.replace(copy, path)


async def _units(state: State) -> list[tuple[int, str]]:
    async with state.database.reading() as read:
        files = await SearchStore().files(read, "v1")
    return sorted((file.file_id, file.path) for file in files.values())


async def test_versions_that_are_first_indexed_at_once_do_not_undo_each_other(
    state: State, memory: Path
) -> None:
    """Each of them finds an index that nobody made yet."""
    async with searching(state) as (index, search):
        await settled(index)
        async with state.database.reading() as read:
            files = await SearchStore().files(read, "v1")
        assert len(files) == 3
        reply = await search.search("which tests run with make check", version="v1")
        assert (reply.hits[0].path, reply.indexing) == ("MEMORY.md", False)


async def test_an_index_of_other_stems_is_made_anew(state: State, memory: Path) -> None:
    """It says who made it."""
    async with searching(state) as (_, search):
        await texts(search, "make check")
    store = SearchStore()
    async with state.database.writing() as tx:
        await store.clear(tx, "an older one")
        file_id = await store.open_file(tx, "v1", "MEMORY.md")
        await store.close_file(
            tx, file_id, stamp="1:1:1:1", digest=b"", first_unit=1, units=0, words=0
        )
    async with searching(state) as (_, search):
        assert "- tests run with make check" in await texts(search, "make check")


async def test_an_index_that_is_damaged_is_made_anew_and_searches_go_on(
    state: State, memory: Path
) -> None:
    """The bytes of the full-text index are noise: the files are read, then indexed again."""
    async with searching(state) as (_, search):
        await texts(search, "make check")
    with sqlite3.connect(state.home.database) as raw:
        raw.execute("update search_stems_data set block = randomblob(40) where id > 10")
        raw.execute("update search_stems_data set block = x'ffff' where id = 10")
    raw.close()
    async with searching(state) as (index, search):
        assert "- tests run with make check" in await texts(search, "make check")
        await settled(index)
        reply = await search.search("make check", version="v1")
        assert not reply.indexing
        assert "- tests run with make check" in [hit.text for hit in reply.hits]


async def test_searches_answer_while_much_is_being_indexed(state: State, memory: Path) -> None:
    """From the files within a bound, and they say that the index is behind."""
    for number in range(80):
        (memory / "rollout_summaries" / f"r{number:03d}.md").write_text(
            "".join(f"- topic {number} line {line} about rivers\n" for line in range(60))
        )
    async with searching(state) as (index, search):
        replies = await asyncio.gather(
            *(search.search(f"topic {number}", version="v1") for number in range(8))
        )
        assert all(reply.hits for reply in replies)
        assert any(reply.indexing for reply in replies)
        await settled(index)
        reply = await search.search("topic 79 line 59", version="v1")
        assert not reply.indexing
        assert "topic 79 line" in reply.hits[0].text


async def test_the_work_goes_on_where_a_dead_process_left_it(state: State, memory: Path) -> None:
    """A file whose units are not all there has no stamp, and is made whole."""
    store = SearchStore()
    async with searching(state) as (_, search):
        await texts(search, "make check")
    async with state.database.writing() as tx:
        file_id = await store.open_file(tx, "v1", "MEMORY.md")
        assert await store.drop_units(tx, file_id, most=1) == 1
    async with searching(state) as (_, search):
        assert (await texts(search, "tests run with make check"))[0].startswith("- tests run")
    async with state.database.reading() as read:
        assert (await store.files(read, "v1"))["MEMORY.md"].stamp != ""


async def test_a_process_that_is_killed_in_the_middle_leaves_an_index_that_goes_on(
    home: Home, clock: ManualClock
) -> None:
    """What was indexed stays, the rest follows, and nothing is there twice."""
    folder = home.memories("v1") / "rollout_summaries"
    folder.mkdir(parents=True)
    for number in range(8):
        (folder / f"{number}.md").write_text(f"- river number {number} flows\n- other {number}\n")
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.index_child", str(home.root), cwd=ROOT
    )
    assert await child.wait() == -signal.SIGKILL
    state = await open_state(home, clock, "owner")
    try:
        async with state.database.reading() as read:
            assert 0 < len(await SearchStore().files(read, "v1")) < 8
        async with searching(state) as (_, search):
            found = await search.search("which river flows", version="v1", limit=50)
        assert sorted(hit.path for hit in found.hits) == [
            f"rollout_summaries/{number}.md" for number in range(8)
        ]
        assert not found.indexing
    finally:
        await state.close()
