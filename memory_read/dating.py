"""Dates lines of the summary that were last confirmed long ago, and marks them to be verified.

Pure. A line was last confirmed when somebody last said it: at the newest state of a session, or of
a note, that holds its words or that the line names; else on the day it stands under; and never
later than the newest session of all. Use confirms nothing: a wrong line is used like a right one.

Invariant: marks depend on the files and the day of UTC alone, so that threads of one day get the
same bytes; what a thread was given is recorded with it and stays.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from memory_read.statements import folded, statements_in

LEGEND = (
    "A day with `verify` behind a line is when it was last confirmed: check it before you rely on "
    "it, or say that it is old."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatingLimits:
    """From how many days on a line is marked."""

    verify_days: int = 90
    drift_days: int = 30
    """For what changes by itself: versions, ports, paths, commands, counts, addresses."""


DATING_LIMITS = DatingLimits()

_DAY = re.compile(r"\b(\d{4}-\d\d-\d\d)(?=T|\b)")
_UPDATED = re.compile(r"^updated_at: (\d{4}-\d\d-\d\d)T", re.MULTILINE)
_THREAD = re.compile(r"^thread_id: ([0-9a-fA-F-]{36})\s*$", re.MULTILINE)
_NAMED = re.compile(
    r"rollout_summaries/([^\s;|,)`]+\.md)|\b([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\b",
    re.IGNORECASE,
)
_DAY_HEADING = re.compile(r"^(#{1,6})\s+(\d{4}-\d\d-\d\d)\s*$")
_HEADING = re.compile(r"^(#{1,6})\s")
_POINT = re.compile(r"^(?:[-*+]|\d{1,3}[.)])\s+\S")
_DRIFT = re.compile(
    r"""
      \bv?\d+\.\d+(?:\.\d+)*\b                    # versions
    | \bport\b|:\d{2,5}\b                         # ports
    | \bhttps?://|\bwww\.                         # addresses
    | [\w.~-]*/[\w./-]+|`[^`\s]+\.\w{1,8}(?::\d+)?`  # paths
    | `[^`\n]*\s[^`\n]*`                          # commands
    | \b\d+\s+[a-z]{3,}                           # counts
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A summary with its marks."""

    text: str
    marked: int


@dataclass(slots=True)
class Confirmations:
    """When what was last said, by everything that a line may be known by."""

    _statements: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    newest: str | None = None
    """The day of the newest session of all."""

    def add_recap(self, name: str, text: str) -> None:
        """A recap, by the name of its file."""
        head = text[:2_000]
        found = _UPDATED.search(head) or _DAY.match(name)
        if found is None:
            return
        day = found[1]
        self._note(self._names, name.casefold(), day)
        if thread := _THREAD.search(head):
            self._note(self._names, thread[1].casefold(), day)
        self._add_statements(text, day)

    def add_note(self, name: str, text: str) -> None:
        """A note of the user, by the name of its file, which begins with its time."""
        if found := _DAY.match(name):
            self._add_statements(text, found[1])

    def of(self, line: str) -> str | None:
        """The day a line was last confirmed, as far as its words and the sources it names tell."""
        days = [self._names.get((a or b).casefold()) for a, b in _NAMED.findall(line)]
        days.append(self._statements.get(folded(line)))
        return max((day for day in days if day is not None), default=None)

    def _add_statements(self, text: str, day: str) -> None:
        self.newest = max(self.newest or day, day)
        for line in text.split("\n"):
            for statement in statements_in(line):
                self._note(self._statements, statement, day)

    def _note(self, known: dict[str, str], key: str, day: str) -> None:
        known[key] = max(known.get(key, day), day)


def dated(
    summary: str,
    confirmations: Confirmations,
    *,
    now_ms: int,
    limits: DatingLimits = DATING_LIMITS,
) -> Dated:
    """The summary with the day behind each line that is to be verified."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    before = {
        drifts: (today - timedelta(days=days)).isoformat()
        for drifts, days in ((True, limits.drift_days), (False, limits.verify_days))
    }
    lines: list[str] = []
    marked = 0
    for line, day in _days(summary.split("\n"), confirmations):
        if day is not None and day < before[bool(_DRIFT.search(_without_sources(line)))]:
            line = f"{line.rstrip()} [{day}: verify]"
            marked += 1
        lines.append(line)
    return Dated(text="\n".join(lines), marked=marked)


def _days(lines: Iterable[str], confirmations: Confirmations) -> Iterable[tuple[str, str | None]]:
    """Each line with the day it was last confirmed; None where it says nothing to confirm."""
    under: tuple[int, str] | None = None
    for line in lines:
        if heading := _HEADING.match(line):
            depth = len(heading[1])
            if under is not None and depth <= under[0]:
                under = None
            if (day := _DAY_HEADING.match(line)) and _is_day(day[2]):
                under = (depth, day[2])
            yield line, None
        elif _POINT.match(line):
            own = confirmations.of(line) or (under[1] if under else confirmations.newest)
            yield line, own
        else:
            yield line, confirmations.of(line) if line.strip() else None


def _without_sources(line: str) -> str:
    """A line without the recaps and threads it names, which never change."""
    return _NAMED.sub("", line)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
