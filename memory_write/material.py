"""What others left in a memory folder for the next consolidation: notes, imported resources.

Told by names and bytes and not by times, so that a folder that was published anew with the same
material looks the same. The walk is bounded: it runs before every pass, and what it finds merely
lets a consolidation look properly.
"""

import hashlib
import os
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
                        stat = entry.stat(follow_symlinks=False)
                        newest_ms = max(newest_ms, stat.st_mtime_ns // 1_000_000)
                        name = os.path.relpath(entry.path, root)
                        found.append((name, stat.st_size, _head(Path(entry.path))))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # it went while we looked; the next look sees how things stand
    digest = hashlib.sha256(repr(sorted(found)).encode("utf-8", "backslashreplace"))
    return Material(digest=digest.hexdigest(), files=len(found), newest_ms=newest_ms)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(HEAD_BYTES_MAX)).digest()
