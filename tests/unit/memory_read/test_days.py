"""Days and months that a text names."""

from datetime import UTC, datetime

import pytest

from memory_read.days import moment_of, spans_of


def _shown(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).isoformat()[:19]


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("what did we do on May 8th, 2023?", "2023-05-08T00:00:00", "2023-05-08T23:59:59"),
        ("what happened in August 2023", "2023-08-01T00:00:00", "2023-08-31T23:59:59"),
        ("was geschah im Dezember 2026?", "2026-12-01T00:00:00", "2026-12-31T23:59:59"),
        ("¿qué pasó el 3 de octubre de 2023?", "2023-10-03T00:00:00", "2023-10-03T23:59:59"),
        ("le 1er août 2024", "2024-08-01T00:00:00", "2024-08-01T23:59:59"),
        ("deploys of 2026-02", "2026-02-01T00:00:00", "2026-02-28T23:59:59"),
        ("deploys of 2026-02-03", "2026-02-03T00:00:00", "2026-02-03T23:59:59"),
    ],
)
def test_a_question_names_a_day_or_a_month(text: str, begin: str, end: str) -> None:
    """In ISO form and in the words of four languages."""
    [span] = spans_of(text)
    assert (_shown(span.begin_ms), _shown(span.end_ms)) == (begin, end)


@pytest.mark.parametrize(
    "text",
    ["in May", "port 2023", "31 February 2023 is none", "2023-13-01", "maybe 2023", "v2026-1-1"],
)
def test_what_names_none_names_none(text: str) -> None:
    """A month without a year is any; what cannot be is not."""
    assert [span for span in spans_of(text) if span.end_ms - span.begin_ms < 10**8] == []
    assert moment_of(text) is None


def test_a_day_counts_more_than_a_month_beside_it() -> None:
    """So that one day is not drowned by thirty."""
    assert len(spans_of("on 3 May 2023, not in June 2023")) == 1


def test_a_heading_in_words_dates_what_stands_below_it() -> None:
    """As the names of recaps and their heads do."""
    assert _shown(moment_of("1:56 pm on 8 May, 2023") or 0) == "2023-05-08T00:00:00"
    assert _shown(moment_of("2026-11-29T10-00-05-ports.md") or 0) == "2026-11-29T10:00:05"
