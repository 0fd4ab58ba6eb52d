"""Edits made to one text, put into another one that takes its place; pure.

Invariant: a line that somebody added stands in the result, in its place or at the end; a line that
somebody took out is taken out where it stands; nothing else changes.
"""

import difflib
from collections.abc import Iterable, Mapping

from state.workspace.snapshot import FileContent, Snapshot


def carried_edits(
    before: Snapshot, edited: Snapshot, onto: Snapshot, paths: Iterable[str]
) -> Mapping[str, FileContent | None]:
    """For each path what is to stand in `onto` after it; None where the file is to go."""
    changes: dict[str, FileContent | None] = {}
    for path in paths:
        was, now, there = (one.files.get(path) for one in (before, edited, onto))
        if now is None:
            # Whoever removed a file had that text in mind; another text stays.
            if there is not None and was == there:
                changes[path] = None
        elif was is None or there is None or was == there:
            changes[path] = now
        else:
            text = carried_text(*(one.data.decode(errors="replace") for one in (was, now, there)))
            changes[path] = FileContent(data=text.encode(), executable=there.executable)
    return changes


def carried_text(before: str, edited: str, onto: str) -> str:
    """The third text with what was done to the first one to get the second."""
    old, new, result = before.split("\n"), edited.split("\n"), onto.split("\n")
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            continue
        for line in old[first:last]:
            if line.strip() and line in result:
                result.remove(line)
        added = [line for line in new[start:end] if not line.strip() or line not in result]
        if any(line.strip() for line in added):
            place = _place(result, new[:start])
            result[place:place] = added
    return "\n".join(result)


def _place(result: list[str], above: list[str]) -> int:
    """Behind the nearest line above that stands there too; else at the end."""
    for line in reversed(above):
        if line.strip() and line in result:
            return result.index(line) + 1
    return len(result) - 1 if result and not result[-1] else len(result)
