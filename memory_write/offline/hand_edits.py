"""What a person changed in the handbook and the summary by hand, read from the workspace diff.

Added lines are kept under a heading of their own, in a block that holds where they were written;
removed lines stay away, remembered by a digest only, since the text of what somebody took out has
no business in the file. Both are carried from one edition to the next by that heading.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from memory_write.hand_lines import HAND_HEADING, HandLine, group_name, places_of

REMOVED_PREFIX = "- removed by hand, digest "
LINES_MAX = 200
_FILE = re.compile(r"^diff --git a/(.+) b/(.+)$")
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)")
_TASK_REFERENCE = re.compile(r"\s*\[Task [\d, Task]+\]\s*$")
_SOURCE = re.compile(r"\s*\(in ([^()]{1,80})\)\s*$")
_EMPTIED = re.compile(r"^@@ -\S+ \+0,0 @@")
_STRUCTURE = re.compile(
    r"^(?:#|v1$|scope:|applies_to:|---|`{3,}|- rollout_summaries/|\s*- desc:|\s*- learnings:)"
)
Folders = Mapping[str, str]
"""From what a project is called to its folder of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandEdits:
    """Lines that a person wrote, and digests of those they took out."""

    kept: tuple[HandLine, ...] = ()
    removed: tuple[str, ...] = ()

    def allows(self, text: str) -> bool:
        """Whether nobody took this statement out."""
        return digest(text) not in self.removed


def digest(text: str) -> str:
    """A short mark of a statement, the same however its line was decorated."""
    return hashlib.sha256(statement_of(text).lower().encode()).hexdigest()[:12]


def statement_of(line: str) -> str:
    """The statement of a line without bullet, task reference and place."""
    return _SOURCE.sub("", _bare(line)).strip()


def called(cwds: Iterable[str]) -> Folders:
    """The folders by what they are called; a name of several says nothing."""
    found: dict[str, set[str]] = {}
    for cwd in cwds:
        found.setdefault(group_name(cwd), set()).add(cwd)
    return {name: folders.pop() for name, folders in found.items() if len(folders) == 1}


def carried(text: str, folders: Folders, *, heading: str = HAND_HEADING) -> HandEdits:
    """What earlier editions kept under the heading."""
    kept: list[HandLine] = []
    removed: list[str] = []
    inside = False
    for line, place in zip(text.split("\n"), places_of(text), strict=True):
        if line.startswith("#"):
            inside = line.strip() == heading
        elif inside and line.startswith(REMOVED_PREFIX):
            removed.append(line.removeprefix(REMOVED_PREFIX).strip())
        elif inside and line.startswith("- "):
            kept.append(_placed(line[2:].strip(), place, folders))
    return HandEdits(kept=tuple(kept), removed=tuple(removed))


def from_diff(
    diff_file: str, texts: Mapping[str, str], folders: Folders, said: Collection[str] = ()
) -> HandEdits:
    """The edits since the last edition of files that now have these texts, by their paths.

    A line that only moved is a person's unless it is `said`: digests of what the inputs say.
    """
    added: dict[HandLine, None] = {}
    removed: dict[str, None] = {}
    edited: _Edited | None = None
    fresh = wiped = False
    number = 0
    for line in diff_file.split("\n"):
        if file := _FILE.match(line):
            text = texts.get(file.group(2))
            edited, fresh, wiped = None if text is None else _Edited(text), False, False
        elif line.startswith("new file mode"):
            fresh = True
        elif line.startswith("deleted file mode") or _EMPTIED.match(line):
            wiped = True  # a lost file is no wish to forget each of its lines; it is made anew
        elif hunk := _HUNK.match(line):
            number = int(hunk[1]) - 1
        elif edited is None or line.startswith(("+++", "---")):
            continue
        elif line.startswith("+"):
            if _own(line[1:], fresh=fresh) and statement_of(line[1:]):
                place = edited.place_of(line[1:], number)
                added[_placed(_bare(line[1:]), place, folders)] = None
            number += 1
        elif line.startswith("-"):
            if not wiped and _own(line[1:], fresh=False):
                removed[digest(line[1:])] = None
        elif line.startswith(" "):
            number += 1
    marks = {line: digest(line.text) for line in added}
    kept = [line for line, mark in marks.items() if mark not in removed or mark not in said]
    gone = [mark for mark in removed if mark not in marks.values()]
    return HandEdits(kept=tuple(kept[:LINES_MAX]), removed=tuple(gone[:LINES_MAX]))


def joined(earlier: HandEdits, now: HandEdits) -> HandEdits:
    """Both, the newer word winning."""
    added = {digest(line.text) for line in now.kept}
    kept = [line for line in earlier.kept if digest(line.text) not in now.removed]
    kept += [line for line in now.kept if line not in kept]
    removed = dict.fromkeys((*earlier.removed, *now.removed))
    return HandEdits(
        kept=tuple(kept[:LINES_MAX]),
        removed=tuple(mark for mark in removed if mark not in added)[-LINES_MAX:],
    )


class _Edited:
    """A file as it is now, and where each of its lines holds."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._places = places_of(text)

    def place_of(self, line: str, number: int) -> str:
        """Of a line that the diff counts at that number; masked secrets may have moved it."""
        if number >= len(self._lines) or self._lines[number] != line:
            number = self._lines.index(line) if line in self._lines else number
        return self._places[min(number, len(self._places) - 1)]


def _placed(said: str, place: str, folders: Folders) -> HandLine:
    """A line with its place, which may stand behind it by name."""
    told = _SOURCE.search(said)
    meant = folders.get(told[1], "") if told else ""
    if told and (told[1] == group_name(place) if place else meant):
        return HandLine(said[: told.start()].strip(), place or meant)
    return HandLine(said, place)


def _bare(line: str) -> str:
    """A line without bullet and task reference."""
    return _TASK_REFERENCE.sub("", line.strip().removeprefix("- ").strip()).strip()


def _own(line: str, *, fresh: bool) -> bool:
    """Whether a line says something; of a file that is new to the diff only what we never write."""
    if not line.strip() or _STRUCTURE.match(line):
        return False
    return not (fresh and (_TASK_REFERENCE.search(line) or _SOURCE.search(line)))
