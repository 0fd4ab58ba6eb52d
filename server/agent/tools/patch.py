"""Reads patches in the form that models of this family write, and applies them to text. Pure.

    *** Begin Patch
    *** Update File: a.py
    @@ def f():
     kept
    -gone
    +new
    *** End Patch

Invariant: lines that a hunk keeps stay as they are in the file, byte for byte, however loosely they
were matched; new lines get the file's own line ends.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, END_OF_FILE = "*** Move to: ", "*** End of File"
FILES_MAX = 100
SHOWN_LINES_MAX = 12
BOM = "\ufeff"
_HERE_DOCUMENT = re.compile(r"\s*(cat\s+)?<<")


class PatchRefused(Exception):
    """The patch cannot be read or does not fit; the message is for the model."""


@dataclass(slots=True)
class Hunk:
    """One place of a file: the lines it stands under, and its lines with their marks."""

    contexts: list[str] = field(default_factory=list)
    """Each is looked for behind the one before it."""
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Mark (space, `-`, `+`) and text of each line."""
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [text for mark, text in self.lines if mark != "+"]


@dataclass(frozen=True, slots=True)
class AddFile:
    """A new file, or a whole new text of one."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file that goes."""

    path: str


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """A file that changes, and may move."""

    path: str
    move_to: str | None
    hunks: tuple[Hunk, ...]


FileOperation = AddFile | DeleteFile | UpdateFile


def read_patch(text: str) -> tuple[FileOperation, ...]:
    """The operations of a patch.

    Raises: PatchRefused.
    """
    lines = _inner_lines(text)
    found: list[FileOperation] = []
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if not line:
            at += 1
            continue
        if len(found) >= FILES_MAX:
            raise PatchRefused(f"invalid patch: more than {FILES_MAX} files")
        operation, at = _operation(lines, at)
        found.append(operation)
    if not found:
        raise PatchRefused("invalid patch: it names no file")
    return tuple(found)


def _inner_lines(text: str) -> list[str]:
    """The lines between the first and the last mark; a shell's here-document is taken off."""
    lines = text.strip().split("\n")
    if _HERE_DOCUMENT.match(lines[0]) and len(lines) >= 4:
        lines = lines[1:-1]
    if lines[0].strip() != BEGIN:
        raise PatchRefused(f"invalid patch: the first line must be '{BEGIN}'")
    if lines[-1].strip() != END:
        raise PatchRefused(f"invalid patch: the last line must be '{END}'")
    return [line.removesuffix("\r") for line in lines[1:-1]]


def _operation(lines: Sequence[str], at: int) -> tuple[FileOperation, int]:
    head = lines[at].strip()
    if head.startswith(ADD.strip()) and (path := _path(head, ADD)):
        end = at + 1
        while end < len(lines) and lines[end].startswith("+"):
            end += 1
        body = [line[1:] for line in lines[at + 1 : end]]
        return AddFile(path, "".join(f"{line}\n" for line in body)), end
    if head.startswith(DELETE.strip()) and (path := _path(head, DELETE)):
        return DeleteFile(path), at + 1
    if head.startswith(UPDATE.strip()) and (path := _path(head, UPDATE)):
        return _update(path, lines, at + 1)
    raise PatchRefused(
        f"invalid patch, line {at + 2}: '{head[:120]}' is no file; a file begins with "
        f"'{ADD}{{path}}', '{DELETE}{{path}}' or '{UPDATE}{{path}}'"
    )


def _path(head: str, mark: str) -> str:
    return head.removeprefix(mark.strip()).strip()


def _update(path: str, lines: Sequence[str], at: int) -> tuple[UpdateFile, int]:
    move_to = None
    if at < len(lines) and lines[at].strip().startswith(MOVE.strip()):
        move_to = _path(lines[at].strip(), MOVE)
        at += 1
    hunks: list[Hunk] = []
    hunk: Hunk | None = None
    while at < len(lines) and not _begins_file(lines[at]):
        line = lines[at]
        if line.rstrip() == "@@" or line.startswith("@@ "):
            if hunk is None or hunk.lines:
                hunk = Hunk()
                hunks.append(hunk)
            if line[3:].strip():
                hunk.contexts.append(line[3:])
        elif line.strip() == END_OF_FILE:
            if hunk is not None:
                hunk.at_end = True
                hunk = None
        elif line[:1] in (" ", "-", "+", ""):
            if hunk is None:
                if not line:
                    at += 1
                    continue
                hunk = Hunk()
                hunks.append(hunk)
            hunk.lines.append((line[:1] or " ", line[1:]))
        else:
            raise PatchRefused(
                f"invalid patch, line {at + 2}: '{line[:120]}' in the update of {path}; each line "
                "of a hunk begins with a space, '-' or '+'"
            )
        at += 1
    for number, one in enumerate(hunks, 1):
        if not one.lines:
            raise PatchRefused(f"invalid patch: hunk {number} of {path} has no lines")
    if not hunks and move_to is None:
        raise PatchRefused(f"invalid patch: the update of {path} has no hunk")
    return UpdateFile(path, move_to, tuple(hunks)), at


def _begins_file(line: str) -> bool:
    return line.startswith((ADD, DELETE, UPDATE))


def apply_hunks(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """The text after the hunks; `path` names it in what is said.

    Raises: PatchRefused.
    """
    mark = BOM if text.startswith(BOM) else ""
    lines = _File(text.removeprefix(BOM))
    for number, hunk in enumerate(hunks, 1):
        try:
            lines.apply(hunk)
        except _NotFound as error:
            raise PatchRefused(
                f"hunk {number} of {len(hunks)} does not fit {path}: {error}; nothing was changed"
            ) from None
    return mark + lines.text()


class _NotFound(Exception):
    """The lines of a hunk are not there."""


class _File:
    """The lines of a file while hunks are applied, front to back."""

    def __init__(self, text: str) -> None:
        self._ends_open = bool(text) and not text.endswith("\n")
        self._lines = text.split("\n")
        if not self._lines[-1]:
            self._lines.pop()
        crlf = sum(line.endswith("\r") for line in self._lines)
        self._end = "\r" if crlf * 2 > len(self._lines) else ""
        self._loose: dict[Callable[[str], str], list[str]] = {}
        self._from = 0
        self._made: list[str] = []
        """What stands before the place where the next hunk is looked for, already changed."""

    def text(self) -> str:
        """The whole text; a last line without an end stays without one."""
        lines = [*self._made, *self._lines[self._from :]]
        whole = "\n".join(lines)
        return whole if self._ends_open or not lines else f"{whole}\n"

    def apply(self, hunk: Hunk) -> None:
        start = self._from
        for context in hunk.contexts:
            found = self._seek([context], start, at_end=False)
            if found is None:
                raise _NotFound(f"no line reads '{context[:200]}' after line {start}")
            start = found + 1
        marks, old = hunk.lines, hunk.old
        if not old:
            behind = hunk.contexts and not hunk.at_end
            self._take(start if behind else len(self._lines), marks)
            return
        at = self._seek(old, start, at_end=hunk.at_end)
        if at is None and old[-1] == "":
            # Models often end a hunk with a line that is only the end of the file.
            marks, old = _without_last_blank(marks), old[:-1]
            at = self._seek(old, start, at_end=hunk.at_end) if old else start
        if at is None:
            raise _NotFound(_not_there(hunk.old, start))
        self._take(at, marks)

    def _take(self, at: int, marks: Sequence[tuple[str, str]]) -> None:
        """Put a hunk at its place and go behind it."""
        self._made.extend(self._lines[self._from : at])
        for mark, text in marks:
            if mark == "+":
                self._made.append(text + self._end)
                continue
            if mark == " ":
                self._made.append(self._lines[at])
            at += 1
        self._from = at

    def _seek(self, wanted: Sequence[str], start: int, *, at_end: bool) -> int | None:
        """Where these lines stand, exactly or else ever more loosely."""
        last = len(self._lines) - len(wanted)
        if last < start:
            return None
        first = last if at_end else start
        for loosened in (str, str.rstrip, str.strip, _plain):
            lines = self._loosened(loosened)
            pattern = [loosened(one) for one in wanted]
            at = _index(lines, pattern[0], first, last + 1)
            while at is not None:
                if lines[at : at + len(pattern)] == pattern:
                    return at
                at = _index(lines, pattern[0], at + 1, last + 1)
        return None

    def _loosened(self, loosened: Callable[[str], str]) -> list[str]:
        if loosened is str:
            return self._lines
        if loosened not in self._loose:
            self._loose[loosened] = [loosened(line) for line in self._lines]
        return self._loose[loosened]


def _index(lines: list[str], line: str, start: int, stop: int) -> int | None:
    try:
        return lines.index(line, start, stop)
    except ValueError:
        return None


def _without_last_blank(marks: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    for at in range(len(marks) - 1, -1, -1):
        if marks[at][0] != "+":
            return [*marks[:at], *marks[at + 1 :]]
    return list(marks)


def _not_there(old: Sequence[str], start: int) -> str:
    shown = "\n".join(old[:SHOWN_LINES_MAX])
    more = f"\n… and {len(old) - SHOWN_LINES_MAX} more" if len(old) > SHOWN_LINES_MAX else ""
    return f"these lines were not found after line {start}:\n{shown}{more}\n"


_PLAIN = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys(
        "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    ),
}
_PLAIN_TABLE = str.maketrans(_PLAIN)


def _plain(line: str) -> str:
    """A line with the punctuation that an editor may have made typographic made plain."""
    return line.strip().translate(_PLAIN_TABLE)
