"""A Markdown text as units that stand or go as a whole; pure.

A unit is a heading, a bullet with what is indented below it, a paragraph, a fenced block or a run
of blank lines. Joining all units gives the text back, byte for byte.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

UnitKind = Literal["heading", "item", "paragraph", "fence", "blank"]
_HEADING = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BULLET = re.compile(r"\s{0,3}(?:[-*+]|\d{1,4}[.)])\s")


@dataclass(frozen=True, slots=True)
class Unit:
    """Some lines that belong together; `level` is that of a heading, else 0."""

    kind: UnitKind
    lines: tuple[str, ...]
    level: int = 0

    @property
    def text(self) -> str:
        """Its lines."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, if there is one, and what stands below it up to the next of its level."""

    heading: Unit | None
    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        """Heading and content."""
        return joined((*((self.heading,) if self.heading else ()), *self.units))


def units_of(text: str) -> tuple[Unit, ...]:
    """Take a text apart."""
    found: list[Unit] = []
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        kind, end = _unit_at(lines, place)
        heading = _HEADING.match(lines[place]) if kind == "heading" else None
        found.append(Unit(kind, tuple(lines[place:end]), len(heading[1]) if heading else 0))
        place = end
    return tuple(found)


def joined(units: Iterable[Unit]) -> str:
    """Put units together again."""
    return "\n".join(unit.text for unit in units)


def parts_of(units: Sequence[Unit], level: int) -> tuple[Part, ...]:
    """Cut before each heading of this level or above; the first part may have no heading."""
    parts: list[Part] = []
    heading: Unit | None = None
    below: list[Unit] = []
    for unit in units:
        if unit.kind == "heading" and unit.level <= level:
            if heading is not None or below:
                parts.append(Part(heading, tuple(below)))
            heading, below = unit, []
        else:
            below.append(unit)
    if heading is not None or below:
        parts.append(Part(heading, tuple(below)))
    return tuple(parts)


def without_empty(units: Sequence[Unit], *, level_min: int) -> tuple[Unit, ...]:
    """Drop headings of this level and deeper that have nothing below them any more."""
    kept: list[Unit] = []
    content_below = 0
    for unit in reversed(units):
        if unit.kind == "heading":
            if unit.level >= level_min and unit.level >= content_below:
                continue
            content_below = unit.level if unit.level < content_below else content_below
        kept.append(unit)
        if unit.kind not in ("heading", "blank"):
            content_below = 7
    return tuple(reversed(kept))


def _unit_at(lines: Sequence[str], place: int) -> tuple[UnitKind, int]:
    """The kind of the unit that starts here, and where it ends."""
    line = lines[place]
    if not line.strip():
        return "blank", place + 1
    if _HEADING.match(line):
        return "heading", place + 1
    fence = _FENCE.match(line)
    if fence:
        return "fence", _fence_end(lines, place, fence[1])
    if _BULLET.match(line):
        return "item", _item_end(lines, place)
    end = place + 1
    while end < len(lines) and _goes_on(lines[end]):
        end += 1
    return "paragraph", end


def _goes_on(line: str) -> bool:
    """Whether a paragraph goes on with this line."""
    starts_anew = _HEADING.match(line) or _FENCE.match(line) or _BULLET.match(line)
    return bool(line.strip()) and not starts_anew


def _fence_end(lines: Sequence[str], place: int, fence: str) -> int:
    for end in range(place + 1, len(lines)):
        if lines[end].strip().startswith(fence):
            return end + 1
    return len(lines)


def _item_end(lines: Sequence[str], place: int) -> int:
    """A bullet takes along what is indented deeper, and lines that go on without a blank."""
    indent = len(lines[place]) - len(lines[place].lstrip())
    end = place + 1
    while end < len(lines):
        line = lines[end]
        deeper = len(line) - len(line.lstrip()) > indent
        if not line.strip() or _HEADING.match(line):
            break
        if _BULLET.match(line) and not deeper:
            break
        end += 1
    return end
