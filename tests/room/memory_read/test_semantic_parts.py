"""What a server has of search by meaning, and what it tells a person of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from memory_read.semantic.filling import FILLING_LIMITS, VectorFilling
from memory_read.semantic.meaning import Meaning
from memory_read.semantic.minilm import missing_modules
from memory_read.withheld import OPEN
from server.cli.doctor import search_check
from server.searching import SemanticSearch, searching_of
from server.settings import load_settings
from state.recovery import State
from tests.support.meaning import StemEmbedder, meaning

pytest.importorskip("numpy", reason="numpy comes with the extras `semantic` and `dev`")
WITHOUT_EXTRA = bool(missing_modules())


async def test_a_person_is_told_how_many_pieces_have_vectors(state: State, memory: Path) -> None:
    """Nothing where all have them, and it is said where none ever will."""
    embedder = StemEmbedder()
    filling = VectorFilling(state, embedder)
    parts = SemanticSearch(filling=filling, meaning=Meaning(state, embedder, filling))
    async with meaning(state, StemEmbedder(model_id="another")) as opened:
        await opened.filled()
        [told] = await parts.notes("v1")
        assert told.startswith("0 of ") and "found by their words" in told
    filling.follow("v1")
    await filling.finished("v1")
    assert await parts.notes("v1") == []
    await filling.close()
    broken = StemEmbedder(model_id="broken", broken=True)
    filling = VectorFilling(state, broken)
    parts = SemanticSearch(filling=filling, meaning=Meaning(state, broken, filling))
    filling.follow("v1")
    await filling.finished("v1")
    [told] = await parts.notes("v1")
    assert "words alone" in told and "doctor" in told
    await filling.close()


async def test_of_few_files_it_is_known_when_they_got_vectors(state: State, memory: Path) -> None:
    """One that was forgotten gets another number than it ever had, so that it is read anew."""
    limits = replace(FILLING_LIMITS, files_noted_max=2)
    async with meaning(state, StemEmbedder(), limits) as opened:
        had: list[int] = []
        for number, name in enumerate(("one", "two", "three", "one")):
            (memory / f"{name}.md").write_text(f"# X\n\n- {name} walruses: {number} in the north\n")
            await opened.filled()
            files = (await opened.index.look("v1")).files
            assert sum(opened.filling.made(one.file_id) > 0 for one in files.values()) <= 2
            had.append(opened.filling.made(files["one.md"].file_id))
        assert had[2] == 0 and had[3] > had[0] > 0
        reply = await opened.search.search("walruses one north", version="v1")
        assert reply.mode == "semantic" and reply.hits[0].path == "one.md"


async def test_the_setting_switches_it_off(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then, and without the extra, search goes by words and doctor says so."""
    off = load_settings(state.home)
    found, _ = searching_of(off, state, OPEN, lambda told: None)
    assert found.semantic is None
    check = search_check(off)
    assert (check.ok, check.found) == (True, "by words; by meaning is switched off")
    monkeypatch.setenv("MEMORYD_SEMANTIC_SEARCH", "on")
    on = load_settings(state.home)
    found, _ = searching_of(on, state, OPEN, lambda told: None)
    assert (found.semantic is None) is WITHOUT_EXTRA
    check = search_check(on)
    assert check.ok
    assert ("would let it" in check.found) is WITHOUT_EXTRA
    assert ("all-minilm" in check.found) is not WITHOUT_EXTRA
    await found.index.close()
