"""Cuts out of the artefacts what only inputs that went had supported; pure, without a model.

Invariant: taking away too much is allowed, too little is not. What names a source that went goes
with it; what names none is kept only where the words of the remaining inputs carry it. A text that
has nothing to lose comes back byte for byte.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from memory_write.hand_lines import (
    HAND_HEADING,
    UNKNOWN,
    HandLine,
    in_place,
    places_of,
    with_hand_lines,
)
from memory_write.phase2.evidence import Evidence
from memory_write.phase2.notes_told import MARK
from memory_write.phase2.outline import Part, Unit, joined, parts_of, units_of, without_empty
from memory_write.phase2.sources import Sources, Withdrawn, cited_in
from state.ids import ThreadId
from state.workspace.layout import HANDBOOK, SKILLS, SUMMARY, SUMMARY_FIRST_LINE, SUMMARY_HEADINGS

NO_HANDBOOK = """# Task Group: none yet

scope: nothing is remembered at the moment
applies_to: cwd=none; reuse_rule=nothing to reuse
"""
_TASK_HEADING = re.compile(r"^## Task (\d+)\b")
_TAGS = re.compile(r"\s*\[((?:Task \d+)(?:\s*[,;]\s*(?:Task )?\d+)*)\]")
_NUMBER = re.compile(r"\d+")
_GAPS = re.compile(r"\n{3,}")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---(?:\n|\Z)", re.DOTALL)
_NOTE_SOURCES = (MARK, "extensions/", "### note_files", "### extension_resource_files")
# A file of which so much goes is not worth its rest.
FILE_SHARE_MAX = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What went, what remains, and what a person wrote."""

    gone: Withdrawn
    kept: Sources
    evidence: Evidence
    by_hand: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By file, the lines that stand there since the last edition; those of a person."""
    rebuild_follows: bool = True
    """Whether unsupported text may go too, since a rebuild will bring back what is true."""

    def goes_by_hand(self, line: str) -> bool:
        """Whether even a person's line goes: it cites or says what went."""
        gone, _ = self.threads_of(line)
        return bool(gone) or self.evidence.is_gone(line)

    def outlives(self, unit: Unit, by_hand: frozenset[str]) -> bool:
        """Whether it stays where all around it goes: a note or a person said it, not what went."""
        if unit.kind == "heading" or self.goes_by_hand(unit.text):
            return False
        if all(line in by_hand for line in unit.lines):
            return unit.kind != "blank"
        return MARK in unit.text and self.evidence.is_supported(unit.text.replace(MARK, ""))

    def threads_of(self, text: str) -> tuple[frozenset[ThreadId], frozenset[ThreadId]]:
        """The threads a text names: those that went, and those that remain."""
        cited = cited_in(text)
        return (
            self.gone.named(cited) - self.kept.thread_ids,
            cited.threads(self.kept) & self.kept.thread_ids,
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """A text after the cut; None when nothing of the file is left."""

    text: str | None
    lines: int = 0


def cut_file(path: str, text: str, grounds: Grounds) -> Cut:
    """Cut one file that a consolidation may write."""
    left: str | None
    if not text.strip():
        return Cut(text)  # it has nothing to lose, and an empty file is judged as such
    if path == HANDBOOK:
        left = _handbook(text, grounds)
    elif path == SUMMARY:
        left = _summary(text, grounds)
    elif path.startswith(f"{SKILLS}/"):
        left = _skill(path, text, grounds)
    else:
        return Cut(text)
    if left is None:
        return Cut(None, _count(text))
    if left == text:
        return Cut(text)
    if not left.endswith("\n"):
        left += "\n"
    return Cut(_GAPS.sub("\n\n", left), max(1, _count(text) - _count(left)))


def _count(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())


# The handbook.


def _handbook(text: str, grounds: Grounds) -> str:
    by_hand = grounds.by_hand.get(HANDBOOK, frozenset())
    pieces: list[str] = []
    rescued: list[HandLine] = []
    for part in parts_of(units_of(text), 1):
        left = _block(part, grounds, by_hand)
        if left is not None:
            pieces.append(left)
        kept_lines = set((left or "").split("\n"))
        rescued += [
            HandLine(line, _place(place, grounds))
            for line, place in zip(part.text.split("\n"), places_of(part.text), strict=True)
            if line in by_hand - kept_lines
            and _is_statement(line)
            and not grounds.goes_by_hand(line)
        ]
    whole = with_hand_lines("\n".join(pieces), rescued)
    return whole if whole.strip() else NO_HANDBOOK


def _is_statement(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _block(part: Part, grounds: Grounds, by_hand: frozenset[str]) -> str | None:
    """A task group without what went; None when it all did."""
    gone, kept = grounds.threads_of(part.text)
    has_notes = any(mark in part.text for mark in _NOTE_SOURCES)
    if gone and not kept and not has_notes:
        return None
    dead = _dead_tasks(part, grounds) if gone else frozenset()
    units: list[Unit] = []
    for section in parts_of(part.units, 2):
        task = _TASK_HEADING.match(section.heading.text) if section.heading else None
        if task and task[1] in dead:
            units += [unit for unit in section.units if grounds.outlives(unit, frozenset())]
            continue
        mine = by_hand
        if section.heading is not None:
            units.append(_heading(section.heading, grounds))
            if section.heading.text.strip() == HAND_HEADING:
                mine = by_hand | {line for unit in section.units for line in unit.lines}
        for unit in section.units:
            left = _unit_of_block(
                unit, grounds, dead, mixed=bool(gone), named=bool(kept), by_hand=mine
            )
            if left is not None:
                units.append(left)
    heading = () if part.heading is None else (_heading(part.heading, grounds),)
    left_units = without_empty(units, level_min=2)
    if left_units == part.units and heading == (() if part.heading is None else (part.heading,)):
        return part.text
    has_content = any(_is_content(unit) for unit in left_units)
    return joined((*heading, *left_units)) if has_content else None


def _is_content(unit: Unit) -> bool:
    """More than the lines that say what a block is about."""
    if unit.kind in ("heading", "blank"):
        return False
    return not all(line.startswith(("scope:", "applies_to:")) for line in unit.lines)


def _dead_tasks(part: Part, grounds: Grounds) -> frozenset[str]:
    """The numbers of the tasks whose every source went."""
    dead: set[str] = set()
    for section in parts_of(part.units, 2):
        task = _TASK_HEADING.match(section.heading.text) if section.heading else None
        gone, kept = grounds.threads_of(section.text)
        if task and gone and not kept:
            dead.add(task[1])
    return frozenset(dead)


def _unit_of_block(
    unit: Unit,
    grounds: Grounds,
    dead: frozenset[str],
    *,
    mixed: bool,
    named: bool,
    by_hand: frozenset[str],
) -> Unit | None:
    """One unit of a task group; `mixed` when the group rested on something that went too."""
    if unit.kind == "blank":
        return unit
    if unit.kind == "heading":
        return _heading(unit, grounds)
    if unit.text.startswith(("scope:", "applies_to:")):
        return Unit(unit.kind, tuple(_about(line, grounds) for line in unit.lines))
    gone, kept = grounds.threads_of(unit.text)
    if gone and not kept:
        return None
    evidence = grounds.evidence
    untagged, tags = _TAGS.sub("", unit.text), _tags(unit.text)
    if gone or (tags and tags <= dead):
        return None
    if tags & dead:
        # It rests on what remains as well, so its words must be found there.
        text = _TAGS.sub(lambda match: _without(match[1], dead), unit.text)
        return Unit(unit.kind, tuple(text.split("\n"))) if evidence.is_supported(untagged) else None
    if all(line in by_hand for line in unit.lines):
        return None if evidence.is_gone(untagged) else unit
    if mixed and not tags and not kept and MARK not in unit.text:
        return unit if evidence.is_supported(untagged) else _words_left(unit, grounds)
    goes = evidence.is_gone if (named or tags or kept) else evidence.may_be_gone
    return _words_left(unit, grounds) if goes(untagged) else unit


def _tags(text: str) -> frozenset[str]:
    return frozenset(number for found in _TAGS.findall(text) for number in _NUMBER.findall(found))


def _without(tags: str, dead: frozenset[str]) -> str:
    left = [number for number in _NUMBER.findall(tags) if number not in dead]
    return f" [{', '.join(f'Task {number}' for number in left)}]" if left else ""


def _words_left(unit: Unit, grounds: Grounds) -> Unit | None:
    """A list of words loses only those that went; any other statement goes as a whole."""
    words = [word.strip() for word in unit.text.removeprefix("- ").split(",")]
    if len(unit.lines) > 1 or len(words) < 3 or any(len(word.split()) > 3 for word in words):
        return None
    left = [word for word in words if grounds.evidence.is_supported(word)]
    return Unit(unit.kind, (f"- {', '.join(left)}",)) if left else None


def _heading(unit: Unit, grounds: Grounds) -> Unit:
    """A heading that says what went keeps its form and loses its words."""
    if not grounds.evidence.may_be_gone(unit.text):
        return unit
    task = _TASK_HEADING.match(unit.text)
    plain = "# Task Group: work" if unit.level == 1 else f"{'#' * unit.level} Notes"
    return Unit("heading", (f"## Task {task[1]}: work" if task else plain,), unit.level)


def _place(place: str, grounds: Grounds) -> str:
    """Where a line holds whose block goes; a folder that went with it is not named any more."""
    applies = f"applies_to: cwd={place}"
    return place if _about(applies, grounds) == applies else UNKNOWN


def _about(line: str, grounds: Grounds) -> str:
    if not grounds.evidence.may_be_gone(line):
        return line
    if line.startswith("applies_to:"):
        return f"applies_to: cwd={UNKNOWN}; reuse_rule=only where the statement says so"
    return "scope: what is left of this group"


# The summary.


def _summary(text: str, grounds: Grounds) -> str:
    by_hand = grounds.by_hand.get(SUMMARY, frozenset())
    left: list[Unit] = []
    skipping, is_hand = 0, False
    places, number = places_of(text), 0
    for unit in units_of(text):
        place, number = places[number], number + len(unit.lines)
        if unit.kind == "heading":
            is_hand = unit.text.strip("# ") == HAND_HEADING.strip("# ")
            if skipping and unit.level > skipping:
                continue
            skipping = unit.level if _heading_goes(unit, grounds) else 0
            if not skipping:
                left.append(unit)
        elif skipping:
            if grounds.outlives(unit, by_hand):
                first = HandLine(unit.lines[0], "" if MARK in unit.text else _place(place, grounds))
                left.append(Unit(unit.kind, (in_place(first), *unit.lines[1:])))
        else:
            mine = by_hand | frozenset(unit.lines) if is_hand else by_hand
            if not _goes_from_summary(unit, grounds, mine):
                left.append(unit)
    return joined(without_empty(left, level_min=3))


def _heading_goes(unit: Unit, grounds: Grounds) -> bool:
    if unit.text.strip() in SUMMARY_HEADINGS:
        return False
    gone, kept = grounds.threads_of(unit.text)
    return (bool(gone) and not kept) or grounds.evidence.may_be_gone(unit.text)


def _goes_from_summary(unit: Unit, grounds: Grounds, by_hand: frozenset[str]) -> bool:
    if unit.kind == "blank" or unit.text.strip() == SUMMARY_FIRST_LINE:
        return False
    gone, kept = grounds.threads_of(unit.text)
    if gone:
        return True
    evidence = grounds.evidence
    if kept or MARK in unit.text or all(line in by_hand for line in unit.lines):
        return evidence.is_gone(unit.text)
    if not grounds.rebuild_follows:
        return evidence.is_gone(unit.text)
    return evidence.may_be_gone(unit.text) or evidence.is_unsupported(unit.text)


# Skills.


def _skill(path: str, text: str, grounds: Grounds) -> str | None:
    """A skill loses units; a script, or one that loses its head or most of its text, goes whole."""
    gone, kept = grounds.threads_of(text)
    if gone and not kept:
        return None
    goes = _tester(grounds, named=bool(kept))
    if not path.endswith(".md"):
        return None if any(goes(line) for line in text.split("\n")) else text
    front = _FRONT_MATTER.match(text)
    head = front[0] if front else ""
    if any(goes(line) for line in (*head.split("\n"), path)):
        return None
    units = units_of(text[len(head) :])
    left = [unit for unit in units if unit.kind == "blank" or not goes(unit.text)]
    before, after = _content(units), _content(left)
    if before and after < before * FILE_SHARE_MAX:
        return None
    return head + joined(left)


def _tester(grounds: Grounds, *, named: bool) -> Callable[[str], bool]:
    evidence = grounds.evidence

    def goes(text: str) -> bool:
        gone, _ = grounds.threads_of(text)
        if gone:
            return True
        lenient = named or not grounds.rebuild_follows
        return evidence.is_gone(text) if lenient else evidence.may_be_gone(text)

    return goes


def _content(units: Iterable[Unit]) -> int:
    return sum(len(unit.lines) for unit in units if unit.kind not in ("blank", "heading"))
