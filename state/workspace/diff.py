"""Differences between two states of a folder: labels and bounded unified text; pure.

Invariant: the text never exceeds its limit by more than the mark that says it was cut, and no
single file can make the comparison slower than its size.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# Above this many lines a file is shown as removed and added whole: difflib is quadratic at worst.
COMPARED_LINES_MAX = 20_000
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A file as it was or is."""

    data: bytes
    executable: bool = False

    @property
    def mode(self) -> str:
        """The mode as git writes it."""
        return "100755" if self.executable else "100644"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that was added, modified or deleted."""

    kind: Literal["A", "M", "D"]
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceDiff:
    """All changes by path, and their unified text."""

    changes: tuple[Change, ...]
    text: str
    truncated: bool = False

    def paths(self, *kinds: str) -> tuple[str, ...]:
        """The paths with one of these labels."""
        return tuple(change.path for change in self.changes if change.kind in kinds)


def compare(
    before: Mapping[str, FileVersion], after: Mapping[str, FileVersion], *, bytes_max: int
) -> WorkspaceDiff:
    """What changed between the two; equal files may be left out of both."""
    changes: list[Change] = []
    pieces: list[str] = []
    left = bytes_max
    truncated = False
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        changes.append(Change("A" if old is None else "D" if new is None else "M", path))
        if truncated:
            continue
        for line in _unified(path, old, new):
            encoded = len(line.encode())
            if encoded > left:
                pieces.append(_cut(line, left))
                truncated = True
                break
            pieces.append(line)
            left -= encoded
    return WorkspaceDiff(changes=tuple(changes), text="".join(pieces), truncated=truncated)


def _unified(path: str, old: FileVersion | None, new: FileVersion | None) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    if old is None and new is not None:
        yield f"new file mode {new.mode}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {old.mode}\n"
    elif old is not None and new is not None and old.executable != new.executable:
        yield f"old mode {old.mode}\nnew mode {new.mode}\n"
    before, after = _lines(old), _lines(new)
    if before == after:
        return
    yield f"--- {'/dev/null' if old is None else f'a/{path}'}\n"
    yield f"+++ {'/dev/null' if new is None else f'b/{path}'}\n"
    yield from _hunks(before, after)


def _lines(file: FileVersion | None) -> list[str]:
    if file is None:
        return []
    # Only a line feed ends a line here; other separators are text like any other.
    text = file.data.decode(errors="replace")
    lines = text.split("\n")
    last = lines.pop()
    ended = [f"{line}\n" for line in lines]
    return [*ended, f"{last}\n\\ No newline at end of file\n"] if last else ended


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if not before or not after or len(before) + len(after) > COMPARED_LINES_MAX:
        yield f"@@ -{_range(len(before))} +{_range(len(after))} @@\n"
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    hunks = difflib.unified_diff(before, after, n=CONTEXT_LINES)
    # The first two lines are the names, which stand there already.
    for place, line in enumerate(hunks):
        if place > 1:
            yield line


def _range(count: int) -> str:
    return f"1,{count}" if count else "0,0"


def _cut(line: str, bytes_left: int) -> str:
    return line.encode()[:bytes_left].decode(errors="ignore")
