"""Literal search over the lines of one file; pure, without a file in sight.

Invariant: every match names whole lines of the text it was given, and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from state.errors import PathRefused

ANY = "any"
ALL_ON_SAME_LINE = "all_on_same_line"
ALL_WITHIN_LINES = "all_within_lines"
EMPTY_QUERIES = "queries must not be empty or contain empty strings"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchMode:
    """How the queries of one search belong together."""

    kind: Literal["any", "all_on_same_line", "all_within_lines"] = "any"
    line_count: int = 1

    def wire(self) -> dict[str, object]:
        """The mode as the caller wrote it."""
        if self.kind == ALL_WITHIN_LINES:
            return {"type": self.kind, "line_count": self.line_count}
        return {"type": self.kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Queries trimmed, and in the form in which they are compared."""

    queries: tuple[str, ...]
    needles: tuple[str, ...]
    case_sensitive: bool
    normalized: bool

    def fold(self, text: str) -> str:
        """Query or line as it is compared."""
        if not self.case_sensitive:
            text = text.lower()
        if self.normalized:
            text = "".join(char for char in text if char.isalnum())
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Lines from first to last, 0-based and inclusive, with the queries found in them."""

    first: int
    last: int
    matched: tuple[str, ...]


def parse_mode(value: Mapping[str, object] | None) -> MatchMode:
    """The match mode of a tool call.

    Raises: PathRefused.
    """
    if value is None:
        return MatchMode()
    match value.get("type"):
        case "any":
            return MatchMode()
        case "all_on_same_line":
            return MatchMode(kind="all_on_same_line")
        case "all_within_lines":
            count = value.get("line_count")
            if count is None:
                raise PathRefused("missing field `line_count`")
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise PathRefused("all_within_lines.line_count must be a positive integer")
            return MatchMode(kind="all_within_lines", line_count=count)
        case None:
            raise PathRefused("missing field `type`")
        case other:
            raise PathRefused(
                f"unknown variant `{other}`, expected one of "
                f"`{ANY}`, `{ALL_ON_SAME_LINE}`, `{ALL_WITHIN_LINES}`"
            )


def prepare(queries: Sequence[str], *, case_sensitive: bool, normalized: bool) -> Prepared:
    """Check and fold the queries once, before any file is read.

    Raises: PathRefused.
    """
    trimmed = tuple(query.strip() for query in queries)
    bare = Prepared(
        queries=trimmed, needles=(), case_sensitive=case_sensitive, normalized=normalized
    )
    needles = tuple(bare.fold(query) for query in trimmed)
    if not needles or not all(needles):
        raise PathRefused(EMPTY_QUERIES)
    return Prepared(
        queries=trimmed, needles=needles, case_sensitive=case_sensitive, normalized=normalized
    )


def split_lines(text: str) -> tuple[str, ...]:
    """Lines without their ends; only a line feed ends one, a return before it goes too."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return tuple(line.removesuffix("\r") for line in lines)


def find(lines: Sequence[str], wanted: Prepared, mode: MatchMode) -> tuple[Window, ...]:
    """All matches in these lines, by first line."""
    hits = {
        number: found
        for number, line in enumerate(lines)
        if (found := _found(wanted.fold(line), wanted.needles))
    }
    if mode.kind == ALL_WITHIN_LINES:
        return _windows(hits, wanted, mode.line_count)
    needed = len(wanted.needles) if mode.kind == ALL_ON_SAME_LINE else 1
    return tuple(
        Window(first=number, last=number, matched=_names(found, wanted))
        for number, found in hits.items()
        if len(found) >= needed
    )


def _found(line: str, needles: Sequence[str]) -> frozenset[int]:
    return frozenset(index for index, needle in enumerate(needles) if needle in line)


def _names(found: frozenset[int], wanted: Prepared) -> tuple[str, ...]:
    return tuple(wanted.queries[index] for index in sorted(found))


def _windows(
    hits: Mapping[int, frozenset[int]], wanted: Prepared, line_count: int
) -> tuple[Window, ...]:
    """The windows that hold every query and no smaller such window."""
    following: dict[int, int] = {}
    kept: list[tuple[int, int]] = []
    for first in sorted(hits, reverse=True):
        for index in hits[first]:
            following[index] = first
        if len(following) < len(wanted.needles):
            continue
        last = max(following.values())
        # Going upwards, a window holds an earlier found one exactly when it does not end before it.
        if last < first + line_count and (not kept or last < kept[-1][1]):
            kept.append((first, last))
    return tuple(
        Window(first=first, last=last, matched=wanted.queries) for first, last in reversed(kept)
    )
