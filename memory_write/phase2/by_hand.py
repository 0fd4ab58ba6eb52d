"""What a person wrote into memory, or took out of it, is not undone by a consolidator; pure.

Invariant: a line that a person added stands in what is published next, in its place or under a
heading of its own that holds where it was written, until a person takes it out; a line that a
person removed does not come back with the run that saw it go.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_write.hand_lines import (
    HAND_HEADING,
    HandLine,
    bullet,
    in_place,
    places_of,
    with_hand_lines,
)
from memory_write.phase2.cut import Grounds
from memory_write.phase2.outline import parts_of, units_of
from memory_write.recipes import Recipe
from state.policy.redaction import redact
from state.workspace.layout import HANDBOOK, SUMMARY
from state.workspace.snapshot import FileContent, Snapshot

LINES_MAX = 200
SUMMARY_HAND_HEADING = f"#{HAND_HEADING}"
AFTER_PREFERENCES = "## General Tips"
_WORD = re.compile(r"\w+")
_TAGS = re.compile(r"\s*\[Task [^\]]*\]")
# Lines that carry the form and no statement: they are a consolidator's to keep in order.
_FORM = re.compile(
    r"^\s*(?:#|v1$|scope:|applies_to:|---|`{3,}|- (?:rollout_summaries|extensions)/)"
)
_DIGEST = "- removed by hand, digest "


@dataclass(frozen=True, slots=True)
class HandEdits:
    """By file, the statements that a person added and those that a person took out."""

    added: Mapping[str, tuple[HandLine, ...]]
    removed: Mapping[str, frozenset[str]]


def hand_edits(live: Snapshot, baseline: Snapshot, recipe: Recipe) -> HandEdits:
    """The edits since the last edition, and what earlier ones kept under the heading."""
    added: dict[str, tuple[HandLine, ...]] = {}
    removed: dict[str, frozenset[str]] = {}
    for path in (HANDBOOK, SUMMARY):
        text, before = live.text(path), baseline.text(path)
        if path not in recipe.artefacts or text is None or not text.strip():
            continue  # a lost file is no wish to forget each of its lines
        lines = [line for line in _kept(text) if _says_something(line.text)]
        if before is not None:
            old, new = _keys(before), _keys(text)
            lines += [
                line
                for line in _placed(text)
                if _says_something(line.text) and _key(line.text) not in old and line not in lines
            ]
            removed[path] = frozenset(
                _key(line)
                for line in before.split("\n")
                if _says_something(line) and _key(line) not in new
            )
        # A secret is masked also where a person wrote it.
        added[path] = tuple(line._replace(text=redact(line.text)) for line in lines[:LINES_MAX])
    return HandEdits(added, removed)


def with_hand_edits(
    written: Snapshot, edits: HandEdits, grounds: Grounds | None, recipe: Recipe
) -> Snapshot:
    """The result with what a person added, and without what a person removed."""
    files = dict(written.files)
    for path, gone in edits.removed.items():
        text = written.text(path)
        if text is None or not gone:
            continue
        left = [line for line in text.split("\n") if _key(line) not in gone or not _key(line)]
        _put(files, path, text, "\n".join(left))
    everywhere = " ".join(_joined(_text(files, path)) for path in recipe.artefacts)
    for path, lines in edits.added.items():
        text = _text(files, path)
        lost = [
            line
            for line in lines
            if f" {_key(line.text)} " not in f" {everywhere} "
            and not (grounds is not None and grounds.goes_by_hand(line.text))
        ]
        if lost and text.strip():
            put = with_hand_lines if path == HANDBOOK else _into_summary
            _put(files, path, text, put(text, lost))
    return Snapshot(files=files, odd=written.odd)


def _into_summary(text: str, lines: Sequence[HandLine]) -> str:
    """Under the heading that keeps them, at the end of the preferences."""
    bullets = [bullet(in_place(line)) for line in lines]
    standing = text.split("\n")
    for number, line in enumerate(standing):
        if line.strip() == SUMMARY_HAND_HEADING:
            return "\n".join([*standing[: number + 1], "", *bullets, *standing[number + 1 :]])
    for number, line in enumerate(standing):
        if line.strip() == AFTER_PREFERENCES:
            kept = [SUMMARY_HAND_HEADING, "", *bullets, ""]
            return "\n".join([*standing[:number], *kept, *standing[number:]])
    return "\n".join([text.rstrip(), "", *bullets, ""])


def _kept(text: str) -> list[HandLine]:
    """The lines under the heading of earlier edits."""
    found: list[HandLine] = []
    placed = _placed(text)
    for part in parts_of(units_of(text), 3):
        lines, placed = placed[: (size := part.text.count("\n") + 1)], placed[size:]
        if part.heading is not None and part.heading.text.strip("# ") == HAND_HEADING.strip("# "):
            found += lines[1:]
    return found


def _placed(text: str) -> list[HandLine]:
    return [HandLine(*one) for one in zip(text.split("\n"), places_of(text), strict=True)]


def _says_something(line: str) -> bool:
    return bool(_key(line)) and not _FORM.match(line) and not line.startswith(_DIGEST)


def _key(line: str) -> str:
    """A line by its words, however it is decorated."""
    return _joined(_TAGS.sub("", line))


def _joined(text: str) -> str:
    return " ".join(_WORD.findall(_TAGS.sub("", text).casefold()))


def _keys(text: str) -> frozenset[str]:
    return frozenset(_key(line) for line in text.split("\n"))


def _text(files: Mapping[str, FileContent], path: str) -> str:
    file = files.get(path)
    return "" if file is None else file.data.decode(errors="replace")


def _put(files: dict[str, FileContent], path: str, before: str, after: str) -> None:
    if before != after:
        files[path] = FileContent(data=after.encode(), executable=files[path].executable)
