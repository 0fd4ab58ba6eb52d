"""What others left in a memory folder for the next consolidation: notes, imported resources.

Told by names and bytes and not by times, so that a folder that was published anew with the same
material looks the same. The walk is bounded: it runs before every pass, and what it finds merely
lets a consolidation look properly.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from state.workspace.layout import EXTENSIONS

ENTRIES_MAX = 10_000
HEAD_BYTES_MAX = 65_536
_INSTRUCTIONS = "instructions.md"


@dataclass(frozen=True, slots=True)
class Material:
    """The material of a folder at one time; equal when it holds the same."""

    digest: str
    files: int
    newest_ms: int = field(default=0, compare=False)
    """When a file was last changed, by its own word."""


def look_for_material(root: Path) -> Material:
    """The material below a memory root, without the instructions that we write ourselves.

    Links are not followed. Blocks on files; call it in a thread.
    """
    found: list[tuple[str, int, bytes]] = []
    newest_ms = 0
    for path, stat in _files(root):
        try:
            head = _head(path)
        except (FileNotFoundError, PermissionError):
            continue
        newest_ms = max(newest_ms, stat.st_mtime_ns // 1_000_000)
        found.append((os.path.relpath(path, root), stat.st_size, head))
    digest = hashlib.sha256(repr(sorted(found)).encode("utf-8", "backslashreplace"))
    return Material(digest=digest.hexdigest(), files=len(found), newest_ms=newest_ms)


def count_changed_since(root: Path, at_ms: int) -> int:
    """How many files of material were changed after that, by their own word. Blocks on files."""
    return sum(stat.st_mtime_ns // 1_000_000 > at_ms for _, stat in _files(root))


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    pending = [root / EXTENSIONS]
    entries_left = ENTRIES_MAX
    while pending and entries_left > 0:
        folder = pending.pop()
        try:
            if folder.is_symlink():
                continue
            with os.scandir(folder) as entries:
                for entry in entries:
                    entries_left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    elif entry.is_file(follow_symlinks=False) and entry.name != _INSTRUCTIONS:
                        yield Path(entry.path), entry.stat(follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # it went while we looked; the next look sees how things stand


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(HEAD_BYTES_MAX)).digest()
