"""Literal search over lines: modes, folding and windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.errors import PathRefused
from state.workspace.search import MatchMode, find, parse_mode, prepare, split_lines

LINES = ("alpha", "beta gamma", "Alpha beta", "", "gamma", "delta alpha")


def _found(queries: list[str], mode: MatchMode, **folding: bool) -> list[tuple[int, int]]:
    wanted = prepare(
        queries,
        case_sensitive=folding.get("case_sensitive", True),
        normalized=folding.get("normalized", False),
    )
    return [(one.first, one.last) for one in find(LINES, wanted, mode)]


def test_any_gives_each_line_that_holds_one_of_them() -> None:
    assert _found(["alpha", "beta"], MatchMode()) == [(0, 0), (1, 1), (2, 2), (5, 5)]


def test_case_and_punctuation_can_be_ignored() -> None:
    assert _found(["ALPHA"], MatchMode(), case_sensitive=False) == [(0, 0), (2, 2), (5, 5)]
    assert _found(["a b", "x"], MatchMode(), normalized=True) == [(2, 2)]


def test_all_on_the_same_line_wants_every_query() -> None:
    assert _found(["beta", "gamma"], MatchMode(kind="all_on_same_line")) == [(1, 1)]


def test_windows_are_the_smallest_ones_only() -> None:
    within = MatchMode(kind="all_within_lines", line_count=3)
    assert _found(["alpha", "gamma"], within) == [(0, 1), (4, 5)]


def _slow_windows(lines: list[str], queries: list[str], count: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for first, line in enumerate(lines):
        if not any(query in line for query in queries):
            continue
        for last in range(first, min(first + count, len(lines))):
            text = lines[first : last + 1]
            if all(any(query in one for one in text) for query in queries):
                spans.append((first, last))
                break
    return [
        (first, last)
        for first, last in spans
        if not any(
            (other != (first, last) and first <= other[0] and other[1] <= last) for other in spans
        )
    ]


@given(
    st.lists(st.text(alphabet="abc", max_size=2), max_size=12),
    st.integers(min_value=1, max_value=6),
)
def test_windows_agree_with_the_rule_written_out(lines: list[str], count: int) -> None:
    queries = ["a", "b"]
    wanted = prepare(queries, case_sensitive=True, normalized=False)
    mode = MatchMode(kind="all_within_lines", line_count=count)
    found = [(one.first, one.last) for one in find(lines, wanted, mode)]
    assert found == _slow_windows(lines, queries, count)


@pytest.mark.parametrize("queries", [[], ["a", "  "], ["!!"]])
def test_empty_queries_are_refused(queries: list[str]) -> None:
    with pytest.raises(PathRefused, match="queries must not be empty or contain empty strings"):
        prepare(queries, case_sensitive=True, normalized=True)


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (
            {"type": "all_within_lines", "line_count": 0},
            "all_within_lines.line_count must be a positive integer",
        ),
        ({"type": "all_within_lines"}, "missing field `line_count`"),
        ({"type": "regex"}, "unknown variant `regex`"),
        ({}, "missing field `type`"),
    ],
)
def test_a_wrong_mode_is_named(mode: dict[str, object], sentence: str) -> None:
    with pytest.raises(PathRefused, match=sentence):
        parse_mode(mode)


def test_extra_keys_of_a_mode_are_ignored() -> None:
    assert parse_mode({"type": "any", "line_count": 3}) == MatchMode()


def test_a_carriage_return_before_the_line_feed_is_no_text() -> None:
    assert split_lines("a\r\nb\rc\n\n") == ("a", "b\rc", "")
