"""A person's lines in handbook and summary: where each holds, and the block that keeps them; pure.

Invariant: what a person writes inside a project's block holds for that project, in whichever block
it is kept. Nothing here makes a line hold wider than the place where it was written.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

HAND_BLOCK = "# Task Group: edits by hand"
HAND_HEADING = "## Kept as edited by hand"
UNKNOWN = "unknown"
"""What a block writes of itself that holds for a folder which nobody knows any more."""
_ANYWHERE = ("any", "none")
_HEADING = re.compile(r"(#{1,6})\s+(.*\S)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_APPLIES = re.compile(r"applies_to: cwd=([^;\n]+)")
# The topics of a summary stand under their folder, restored statements under that of elsewhere.
_FOLDER = re.compile(
    r"(?:Restored statements for )?((?:/|~|git:|\$FOLDER/|[A-Za-z]:[\\/]).*|unknown)"
)


class HandLine(NamedTuple):
    """A line that a person wrote."""

    text: str
    place: str = ""
    """The folder of work that it holds for, as its block names it; empty: anywhere."""


def places_of(text: str) -> tuple[str, ...]:
    """For each line of an artefact the folder of work whose block it stands in."""
    places: list[str] = []
    group = folder = ""
    start = level = 0
    fenced = False
    for line in text.split("\n"):
        heading = None if fenced else _HEADING.match(line)
        if heading:
            depth = len(heading[1])
            if depth == 1:
                group, start = "", len(places)
            if depth <= level or depth == 1:
                folder, level = "", 0
            named = _FOLDER.fullmatch(heading[2])
            if named and depth > 2:
                folder, level = named[1], depth
        elif not fenced and (applies := _APPLIES.match(line)):
            group = "" if applies[1].strip() in _ANYWHERE else applies[1].strip()
            places[start:] = [group] * (len(places) - start)
        elif _FENCE.match(line):
            fenced = not fenced
        places.append(folder or group)
    return tuple(places)


def hand_block(place: str, bullets: Sequence[str]) -> str:
    """A block of a handbook that keeps these lines for a place."""
    names = {"": "", UNKNOWN: " for an unknown folder"}
    rule = "hold here as written" if place else "hold as written"
    lines = [
        f"{HAND_BLOCK}{names.get(place, f' for {place}')}",
        "",
        "scope: what a person wrote into this memory or took out of it",
        f"applies_to: cwd={place or 'any'}; reuse_rule={rule}",
        "",
        HAND_HEADING,
        "",
        *bullets,
    ]
    return "\n".join(lines) + "\n"


def with_hand_lines(handbook: str, lines: Iterable[HandLine]) -> str:
    """The handbook with these lines in the blocks that keep what holds there."""
    by_place: dict[str, list[str]] = {}
    for line in lines:
        by_place.setdefault(line.place, []).append(bullet(line.text))
    for place, bullets in by_place.items():
        standing = handbook.split("\n")
        at = [
            number
            for number, (line, where) in enumerate(zip(standing, places_of(handbook), strict=True))
            if where == place and line.strip() == HAND_HEADING
        ]
        if at:
            handbook = "\n".join([*standing[: at[0] + 1], "", *bullets, *standing[at[0] + 1 :]])
        else:
            before = f"{handbook.rstrip()}\n\n" if handbook.strip() else ""
            handbook = before + hand_block(place, bullets)
    return handbook


def bullet(line: str) -> str:
    """The line as an item of a list."""
    return line if line.lstrip().startswith("- ") else f"- {line.strip()}"


def in_place(line: HandLine) -> str:
    """The line as a summary tells it, which has no blocks: its project stands behind it."""
    if not line.place:
        return line.text
    name = "an unknown folder" if line.place == UNKNOWN else group_name(line.place)
    told = f"(in {name})"
    return line.text if line.text.rstrip().endswith(told) else f"{line.text.rstrip()} {told}"


def group_name(cwd: str) -> str:
    """The last part of a working folder, as people call their projects."""
    return cwd.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or UNKNOWN
