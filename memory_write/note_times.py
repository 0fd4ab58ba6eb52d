"""Whether somebody left notes or other material in a memory folder since it was last consolidated.

It looks at times of files only, never into them, and its walk is bounded: it runs before every
pass, and what it finds merely lets a consolidation look properly.
"""

import os
from pathlib import Path

from state.workspace.layout import EXTENSIONS

ENTRIES_MAX = 10_000
_INSTRUCTIONS = "instructions.md"


def notes_since(root: Path, since_ms: int | None) -> bool:
    """Whether the extensions below a memory root changed after that time.

    None stands for a folder that was never consolidated: then only material counts, not the empty
    folders and instructions that we make ourselves. Blocks on files; call it in a thread.
    """
    seen = 0
    pending = [root / EXTENSIONS]
    while pending:
        folder = pending.pop()
        try:
            if folder.is_symlink():
                continue
            if since_ms is not None and _changed_ms(folder.stat()) > since_ms:
                return True
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > ENTRIES_MAX:
                        return True  # too many to look at: the consolidation decides
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    elif entry.name != _INSTRUCTIONS and (
                        since_ms is None
                        or _changed_ms(entry.stat(follow_symlinks=False)) > since_ms
                    ):
                        return True
        except (FileNotFoundError, NotADirectoryError):
            continue  # it went while we looked; the next look sees how things stand
    return False


def _changed_ms(found: os.stat_result) -> int:
    return found.st_mtime_ns // 1_000_000
