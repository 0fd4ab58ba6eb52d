"""Search by meaning: what is near is found too, and nothing comes out that does not stand."""

import asyncio
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memory_read.semantic.filling import FILLING_LIMITS
from state.home import Home
from state.named_queries import Query
from state.recovery import State, open_state
from state.stores.vectors import VectorStore
from tests.support.clock import ManualClock
from tests.support.meaning import DIMENSIONS, StemEmbedder, meaning
from tests.support.searching import bytes_of, texts
from tests.support.source import ROOT

pytest.importorskip("numpy", reason="numpy comes with the extras `semantic` and `dev`")

MEANINGS = {"hound": "dog", "release": "deploy"}
SECRET = "sk-" + "a1B2" * 8


def _write(memory: Path, *lines: str) -> Path:
    handbook = memory / "MEMORY.md"
    handbook.write_text("# Handbook\n\n" + "".join(f"- {line}\n" for line in lines))
    return handbook


async def test_other_words_of_the_same_meaning_are_found(state: State, memory: Path) -> None:
    """Words alone find nothing here, and the reply says by what it was found."""
    _write(memory, "the dog is called Rex", "lunch is at noon")
    async with meaning(state, StemEmbedder(meanings=MEANINGS)) as opened:
        await opened.filled()
        reply = await opened.search.search("hound", version="v1")
        assert reply.hits[0].text == "- the dog is called Rex"
        assert (reply.mode, reply.indexing) == ("semantic", False)
        assert reply.hits[0].score > 0
        # Nothing is near this one, and nothing is told.
        assert await texts(opened.search, "submarine") == []


async def test_until_vectors_are_there_words_find_and_the_reply_says_so(
    state: State, memory: Path
) -> None:
    """First none, then those of a part."""
    _write(memory, "the dog is called Rex", "lunch is at noon")
    embedder = StemEmbedder(meanings=MEANINGS)
    embedder.gate.clear()
    async with meaning(state, embedder) as opened:
        try:
            await opened.index.settle()
            reply = await opened.search.search("who is Rex", version="v1")
            assert (reply.mode, reply.indexing) == ("lexical", True)
            assert reply.hits[0].text == "- the dog is called Rex"
        finally:
            embedder.gate.set()
        await opened.filled()
        reply = await opened.search.search("who is Rex", version="v1")
        assert (reply.mode, reply.indexing) == ("semantic", False)
        _write(memory, "the dog is called Rex", "a hound sleeps in the kennel")
        embedder.gate.clear()
        try:
            await opened.index.settle()
            reply = await opened.search.search("who is Rex", version="v1")
            assert reply.hits[0].text == "- the dog is called Rex"
            assert reply.indexing
        finally:
            embedder.gate.set()


async def test_what_was_edited_or_deleted_does_not_come_out(state: State, memory: Path) -> None:
    """Neither its text nor its vectors: they leave the database with their unit."""
    handbook = _write(memory, "the dog is called Rex", "lunch is at noon")
    async with meaning(state, StemEmbedder(meanings=MEANINGS)) as opened:
        await opened.filled()
        assert await texts(opened.search, "hound") == ["- the dog is called Rex"]
        vectors = await _vectors(state)
        _write(memory, "the cat is called Tom", "lunch is at noon")
        assert await texts(opened.search, "hound") == []
        handbook.unlink()
        await opened.filled()
        assert await texts(opened.search, "hound") == []
        gone = vectors - await _vectors(state)
        assert gone
        await opened.index.settle()
        assert not any(one in bytes_of(state) for one in gone)


async def test_a_line_that_a_note_forgets_is_not_found_by_its_meaning(
    state: State, memory: Path
) -> None:
    """The rules of reading hold whatever brought a unit here."""
    _write(memory, "the dog is called Rex")
    async with meaning(state, StemEmbedder(meanings=MEANINGS)) as opened:
        await opened.filled()
        notes = memory / "extensions" / "ad_hoc" / "notes"
        notes.mkdir(parents=True)
        (notes / "2026-11-29T10-00-00-dog.md").write_text("forget that the dog is called Rex\n")
        assert not any("- the dog" in text for text in await texts(opened.search, "hound"))


async def test_an_edit_embeds_only_what_is_new(state: State, memory: Path) -> None:
    """The other units of the file are indexed anew and keep their vectors."""
    lines = [f"river number {number} flows" for number in range(20)]
    _write(memory, *lines)
    embedder = StemEmbedder()
    async with meaning(state, embedder) as opened:
        await opened.filled()
    async with meaning(state, embedder) as opened:
        before = embedder.embedded
        _write(memory, "a new line", *lines)
        await opened.filled()
        assert embedder.embedded == before + 1


async def test_another_model_makes_them_anew(state: State, memory: Path) -> None:
    """And nothing is compared across models meanwhile."""
    _write(memory, "the dog is called Rex")
    async with meaning(state, StemEmbedder(meanings=MEANINGS)) as opened:
        await opened.filled()
    other = StemEmbedder(model_id="stems/2", meanings=MEANINGS)
    async with meaning(state, other) as opened:
        reply = await opened.search.search("who is Rex", version="v1")
        assert (reply.mode, reply.indexing) == ("lexical", True)
        await opened.filled()
        assert await texts(opened.search, "hound") == ["- the dog is called Rex"]


async def test_a_model_that_cannot_be_used_leaves_search_by_words(
    state: State, memory: Path
) -> None:
    """Nobody waits for vectors that never come."""
    _write(memory, "the dog is called Rex")
    embedder = StemEmbedder(broken=True)
    async with meaning(state, embedder) as opened:
        await opened.filled()
        reply = await opened.search.search("who is Rex", version="v1")
        assert (reply.mode, reply.indexing) == ("lexical", False)
        assert reply.hits[0].text == "- the dog is called Rex"


async def test_a_question_in_a_script_that_the_model_was_not_taught_goes_by_words(
    state: State, memory: Path
) -> None:
    """Its vector would say nothing."""
    _write(memory, "小狗叫雷克斯")
    async with meaning(state, StemEmbedder()) as opened:
        await opened.filled()
        reply = await opened.search.search("小狗", version="v1")
        assert reply.mode == "lexical"
        assert reply.hits[0].text == "- 小狗叫雷克斯"


async def test_the_work_stands_back_in_a_thread_of_its_own(state: State, memory: Path) -> None:
    """Never on the event loop, and in one thread."""
    _write(memory, "the dog is called Rex", "lunch is at noon")
    embedder = StemEmbedder()
    async with meaning(state, embedder) as opened:
        await opened.filled()
        assert {name.partition("_")[0] for name in embedder.threads} == {"vectors"}
        assert len(embedder.threads) == 1


async def test_a_secret_reaches_no_model(state: State, memory: Path) -> None:
    """It is masked first, as for the words."""
    _write(memory, f"the key is {SECRET}")
    embedder = StemEmbedder()
    async with meaning(state, embedder) as opened:
        await opened.filled()
    assert any("the key is" in text for text in embedder.texts)
    assert not any(SECRET in text for text in embedder.texts)


async def test_a_long_unit_is_found_by_any_part_of_it(state: State, memory: Path) -> None:
    """It is cut into windows, and the nearest one counts; within a bound."""
    filler = " ".join(f"word{number}" for number in range(120))
    _write(memory, f"{filler} the dog is called Rex", "lunch is at noon")
    limits = replace(FILLING_LIMITS, windows_per_unit=12)
    async with meaning(state, StemEmbedder(meanings=MEANINGS), limits) as opened:
        await opened.filled()
        [found] = await texts(opened.search, "what is the hound called")
        assert "Rex" in found
        assert max(map(len, await _vectors(state))) > DIMENSIONS
    limits = replace(FILLING_LIMITS, windows_per_unit=1)
    async with meaning(state, StemEmbedder(model_id="one window"), limits) as opened:
        await opened.filled()
        assert {len(one) for one in await _vectors(state)} == {DIMENSIONS}


async def test_beyond_the_bound_units_are_found_by_words(state: State, memory: Path) -> None:
    """And the reply does not say that more is to come."""
    _write(memory, *(f"river number {number} flows" for number in range(20)))
    limits = replace(FILLING_LIMITS, units_max=5)
    async with meaning(state, StemEmbedder(), limits) as opened:
        await opened.filled()
        _, done = await VectorStore().count(state.database, "v1", "stems/1")
        assert done == 5
        reply = await opened.search.search("river number 19", version="v1", limit=20)
        assert (len(reply.hits), reply.mode, reply.indexing) == (20, "semantic", False)


async def test_after_a_kill_the_work_goes_on_where_it_was(
    home: Home, memory: Path, clock: ManualClock
) -> None:
    """What was kept is kept, the rest is made."""
    _write(memory, *(f"river number {number} flows" for number in range(60)))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.vectors_child", str(home.root), cwd=ROOT
    )
    assert await child.wait() == -signal.SIGKILL
    state = await open_state(home, clock, "owner")
    try:
        units, done = await VectorStore().count(state.database, "v1", "stems/1")
        assert 0 < done < units
        embedder = StemEmbedder()
        async with meaning(state, embedder) as opened:
            await opened.filled()
        assert embedder.embedded == units - done
    finally:
        await state.close()


async def test_a_question_to_an_empty_memory_loads_nothing(home: Home) -> None:
    """The arithmetic alone takes a tenth of a second, and there is nothing to reckon with."""
    code = (
        "import asyncio, pathlib, sys\n"
        "from state.clock import SystemClock\n"
        "from state.home import Home\n"
        "from state.recovery import open_state\n"
        "from tests.support.meaning import StemEmbedder, meaning\n"
        "async def ask():\n"
        "    home = Home(pathlib.Path(sys.argv[1]))\n"
        "    state = await open_state(home, SystemClock(), 'asking')\n"
        "    async with meaning(state, StemEmbedder()) as opened:\n"
        "        reply = await opened.search.search('who sings', version='v1')\n"
        "        print(reply.hits, 'numpy' in sys.modules)\n"
        "    await state.close()\n"
        "asyncio.run(ask())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(home.root), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await child.communicate()
    assert told.decode().strip() == "() False"


async def _vectors(state: State) -> set[bytes]:
    rows = await state.database.glance(Query("test", "select windows from search_vectors"))
    return {bytes(row["windows"]) for row in rows}
