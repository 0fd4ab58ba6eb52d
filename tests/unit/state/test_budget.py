"""Estimates and cuts of text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.policy.budget import (
    LINES_CUT_MARK,
    chunk_utf8,
    cut_at_lines,
    estimate_tokens,
    truncate_middle,
    truncate_middle_bytes,
)


def test_four_bytes_are_one_token_and_a_part_counts_whole() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "äöü")] == [0, 1, 1, 2, 2]


def test_the_recorded_example_of_a_cut_summary_is_reproduced() -> None:
    cut = truncate_middle("x" * 72_003, tokens_max=2_500)
    assert cut == "x" * 5_000 + "…15501 tokens truncated…" + "x" * 5_000


def test_a_text_of_exactly_the_budget_stays_whole() -> None:
    assert truncate_middle("x" * 10_000, tokens_max=2_500) == "x" * 10_000
    assert "…1 tokens truncated…" in truncate_middle("x" * 10_001, tokens_max=2_500)


def test_the_byte_form_counts_characters() -> None:
    assert truncate_middle_bytes("abcdefghij", bytes_max=4) == "ab…6 chars truncated…ij"


@pytest.mark.requirement("MW-8.3-char-boundary")
@settings(deadline=None)
@given(st.text(), st.integers(0, 60))
def test_no_cut_falls_inside_a_character(text: str, budget: int) -> None:
    for cut in (
        truncate_middle(text, tokens_max=budget),
        truncate_middle_bytes(text, bytes_max=budget),
        cut_at_lines(text, tokens_max=budget),
    ):
        cut.encode()


@pytest.mark.requirement("FR-R9")
@settings(deadline=None)
@given(st.text(alphabet="ab\nü"), st.integers(0, 60))
def test_a_cut_at_lines_keeps_whole_lines_and_never_exceeds_its_budget(
    text: str, tokens: int
) -> None:
    cut = cut_at_lines(text, tokens_max=tokens)
    assert len(cut.encode()) <= max(tokens * 4, 0) or cut == text
    assert estimate_tokens(cut) <= tokens or not text


@pytest.mark.requirement("FR-R9")
def test_a_cut_at_lines_says_so_on_a_line_of_its_own() -> None:
    text = "\n".join(f"line {number}" for number in range(100))
    cut = cut_at_lines(text, tokens_max=50)
    *kept, mark = cut.split("\n")
    assert mark == LINES_CUT_MARK
    assert kept == text.split("\n")[: len(kept)] and len(kept) > 10


@pytest.mark.requirement("MW-8.2-chunks")
@settings(deadline=None)
@given(st.text(), st.integers(4, 40))
def test_chunks_join_to_the_text_again(text: str, size: int) -> None:
    chunks = chunk_utf8(text, size)
    assert "".join(chunks) == text
    assert all(0 < len(chunk.encode()) <= size for chunk in chunks)


def test_a_chunk_too_small_for_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="four bytes"):
        chunk_utf8("text", 3)
