"""What a turn changed in files, as one unified diff in git's form. Pure.

Of each file what counts is how it was before its first change and how it is now; a file that is
again as it was is not told.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from server.agent.tools.stage import FileChanged
from server.agent.tools.unified import hunks

ABSENT = "0" * 40
DIFF_BYTES_MAX = 1_048_576
"""Files larger than that are told by their names alone."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    """Where it is now, or where it was."""
    origin: str
    """Where it was before the turn."""
    before: bytes | None
    after: bytes | None
    mode: int


class TurnDiff:
    """The changes of one turn."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def add(self, changes: Sequence[FileChanged]) -> None:
        """Take further changes in, in their order."""
        for change in changes:
            if change.moved_from is not None:
                self._move(change, change.moved_from)
            else:
                self._change(change)

    def _change(self, change: FileChanged) -> None:
        known = self._files.get(change.path)
        if known is None:
            path = change.path
            known = _File(path, path, change.before, change.after, change.mode)
        self._files[change.path] = replace(known, after=change.after, mode=change.mode)

    def _move(self, change: FileChanged, origin: str) -> None:
        known = self._files.pop(origin, None)
        if known is None:
            known = _File(origin, origin, change.before, change.before, change.mode)
        covered = self._files.get(change.path)
        if covered is not None or known.before is None:
            # A file made in this turn, or one that took another's place, is a new text there.
            if known.before is not None:
                self._files[origin] = replace(known, after=None)
            before = covered.before if covered is not None else None
            self._files[change.path] = _File(
                change.path, change.path, before, change.after, change.mode
            )
            return
        self._files[change.path] = replace(
            known, path=change.path, after=change.after, mode=change.mode
        )

    def text(self, cwd: str) -> str:
        """The whole of it, paths from that folder; empty when nothing is different."""
        return "".join(_told(self._files[path], cwd) for path in sorted(self._files))


def _told(file: _File, cwd: str) -> str:
    moved = file.origin != file.path and file.before is not None and file.after is not None
    if file.before == file.after and not moved:
        return ""
    old, new = _name(file.origin if moved else file.path, cwd), _name(file.path, cwd)
    lines = [f"diff --git a/{old} b/{new}\n"]
    if file.before is None:
        lines.append(f"new file mode {file.mode:o}\n")
    elif file.after is None:
        lines.append(f"deleted file mode {file.mode:o}\n")
    if moved:
        lines += [f"rename from {old}\n", f"rename to {new}\n"]
    if file.before == file.after:
        return "".join(lines)
    lines.append(f"index {_blob(file.before)}..{_blob(file.after)}\n")
    before, after = _text(file.before), _text(file.after)
    left = "/dev/null" if file.before is None else f"a/{old}"
    right = "/dev/null" if file.after is None else f"b/{new}"
    if before is None or after is None:
        lines.append(f"Binary files {left} and {right} differ\n")
    elif body := hunks(before, after):
        lines += [f"--- {left}\n", f"+++ {right}\n", body]
    return "".join(lines)


def _name(path: str, cwd: str) -> str:
    relative = os.path.relpath(path, cwd)
    return path.lstrip("/") if relative.startswith("..") else relative


def _text(data: bytes | None) -> str | None:
    """The text of a file; None for what is none or is too long to be told."""
    if data is None:
        return ""
    if len(data) > DIFF_BYTES_MAX or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _blob(data: bytes | None) -> str:
    """The id that git gives to this content."""
    if data is None:
        return ABSENT
    head = b"blob %d\0" % len(data)
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest()
