"""Differences between two states of a folder: labels and bounded unified text; pure.

Invariant: the text never exceeds its limit by more than the mark that says it was cut, and no
single file can make the comparison slower than its size. It holds no secret, whatever the files
hold; a change of a secret alone is a label without text.
"""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from state.policy.redaction import redact

# A longer stretch of changed lines counts as replaced: difflib is quadratic at worst.
STRETCH_LINES_MAX = 2_000
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
    text = redact(file.data.decode(errors="replace"))
    lines = text.split("\n")
    last = lines.pop()
    ended = [f"{line}\n" for line in lines]
    return [*ended, f"{last}\n\\ No newline at end of file\n"] if last else ended


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for group in _Anchored(before, after).get_grouped_opcodes(CONTEXT_LINES):
        _, before_start, _, after_start, _ = group[0]
        _, _, before_end, _, after_end = group[-1]
        old, new = _range(before_start, before_end), _range(after_start, after_end)
        yield f"@@ -{old} +{new} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[i1:i2])
                continue
            yield from (f"-{line}" for line in before[i1:i2])
            yield from (f"+{line}" for line in after[j1:j2])


class _Anchored(difflib.SequenceMatcher[str]):
    """Compares only between lines that stand once on either side, in the same order on both.

    The original compares everything with everything, which takes seconds for a few thousand
    lines; between anchors the stretches are short, and a long one counts as replaced.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._before = before
        self._after = after
        super().__init__(None, before, after)

    def get_matching_blocks(self) -> list[difflib.Match]:
        """Blocks of equal lines, in order, the last one empty."""
        blocks: list[difflib.Match] = []
        start_a = start_b = 0
        for place_a, place_b in [
            *_anchors(self._before, self._after),
            (len(self._before), len(self._after)),
        ]:
            stretch_a = self._before[start_a:place_a]
            stretch_b = self._after[start_b:place_b]
            if len(stretch_a) + len(stretch_b) <= STRETCH_LINES_MAX:
                for one in difflib.SequenceMatcher(
                    None, stretch_a, stretch_b
                ).get_matching_blocks():
                    if one.size:
                        blocks.append(difflib.Match(start_a + one.a, start_b + one.b, one.size))
            blocks.append(difflib.Match(place_a, place_b, int(place_a < len(self._before))))
            start_a, start_b = place_a + 1, place_b + 1
        return _joined(blocks)


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Places of lines that stand once on either side: the longest run that rises on both."""
    once_before = {line for line, count in Counter(before).items() if count == 1}
    counts_after = Counter(after)
    places = {line: place for place, line in enumerate(after) if counts_after[line] == 1}
    pairs = [
        (place, places[line])
        for place, line in enumerate(before)
        if line in once_before and line in places
    ]
    ends: list[int] = []
    tops: list[int] = []
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        height = bisect_left(ends, place)
        previous.append(tops[height - 1] if height else -1)
        if height == len(ends):
            ends.append(place)
            tops.append(number)
        else:
            ends[height], tops[height] = place, number
    chain: list[tuple[int, int]] = []
    at = tops[-1] if tops else -1
    while at >= 0:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def _joined(blocks: Sequence[difflib.Match]) -> list[difflib.Match]:
    """Neighbouring blocks as one, as the base class promises; the last is empty."""
    joined: list[difflib.Match] = []
    for one in blocks:
        if joined and one.size:
            last = joined[-1]
            if last.a + last.size == one.a and last.b + last.size == one.b:
                joined[-1] = difflib.Match(last.a, last.b, last.size + one.size)
                continue
        joined.append(one)
    return joined


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    # An empty range is named by the line before it.
    return f"{start + 1 if length else start},{length}"


def _cut(line: str, bytes_left: int) -> str:
    return line.encode()[:bytes_left].decode(errors="ignore")
