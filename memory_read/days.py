"""Which days and months a text names, in UTC. Pure.

As ISO dates (`2026-11-29`, `2026-11`), and in words with the names of months in English, German,
French and Spanish (`8 May, 2023`, `May 8th 2023`, `im August 2023`). A day without a year is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SPANS_MAX = 4
"""Days and months of one question that count."""

_NAMES = (
    "january jan januar januari janvier enero",
    "february feb februar febrero février fevrier",
    "march mar märz maerz marz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug août aout agosto",
    "september sept sep septembre septiembre setiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre decembre diciembre",
)
_MONTHS = {name: month for month, names in enumerate(_NAMES, 1) for name in names.split()}
_MONTH = f"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_YEAR = r"(?P<year>\d{4})\b"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.)?"
_OF = r"(?:,? | of | de | del )"
_DATE_IN_WORDS = re.compile(
    rf"\b{_DAY}{_OF}{_MONTH}\.?{_OF}{_YEAR}"
    rf"|\b{_MONTH.replace('month', 'month_2')}\.? {_DAY.replace('day', 'day_2')},? "
    rf"{_YEAR.replace('year', 'year_2')}",
    re.IGNORECASE,
)
_MONTH_IN_WORDS = re.compile(rf"\b{_MONTH}\.?{_OF}{_YEAR}", re.IGNORECASE)
_ISO = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?"
    r"(?:T(?P<hour>\d{2})[:-](?P<minute>\d{2})(?:[:-](?P<second>\d{2}))?)?(?!\d)"
)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From the first to the last millisecond of a day or a month."""

    begin_ms: int
    end_ms: int


def moment_of(text: str) -> int | None:
    """The first day, or time of one, that stands in a text."""
    for found in _ISO.finditer(text):
        if found["day"]:
            at = _at(found["year"], found["month"], *found.group("day", "hour", "minute", "second"))
            if at is not None:
                return _ms(at)
    for span in _dates_in_words(text):
        return span.begin_ms
    return None


def spans_of(text: str) -> tuple[TimeSpan, ...]:
    """The days that a text names; where it names none, the months."""
    days: list[TimeSpan] = []
    months: list[TimeSpan] = []
    for found in _ISO.finditer(text):
        day = found["day"]
        at = _at(found["year"], found["month"], day)
        if at is not None:
            (days if day else months).append(_whole_day(at) if day else _whole_month(at))
    days += _dates_in_words(text)
    for found in _MONTH_IN_WORDS.finditer(text):
        at = _at(found["year"], _number(found["month"]), None)
        if at is not None:
            months.append(_whole_month(at))
    return tuple(days or months)[:SPANS_MAX]


def _dates_in_words(text: str) -> Iterator[TimeSpan]:
    for found in _DATE_IN_WORDS.finditer(text):
        year, month, day = found.group("year", "month", "day")
        if year is None:
            year, month, day = found.group("year_2", "month_2", "day_2")
        at = _at(year, _number(month), day)
        if at is not None:
            yield _whole_day(at)


def _number(month: str) -> str:
    return str(_MONTHS[month.casefold()])


def _at(year: str, month: str, day: str | None, *time: str | None) -> datetime | None:
    hour, minute, second = (*(int(one or 0) for one in time), 0, 0, 0)[:3]
    try:
        return datetime(int(year), int(month), int(day or 1), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _whole_day(at: datetime) -> TimeSpan:
    begin = at.replace(hour=0, minute=0, second=0)
    return TimeSpan(_ms(begin), _ms(begin) + 86_400_000 - 1)


def _whole_month(at: datetime) -> TimeSpan:
    following = (at.replace(day=28) + timedelta(days=4)).replace(day=1)
    return TimeSpan(_ms(at), _ms(following) - 1)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
