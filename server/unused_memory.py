"""Memory that is there and that no thread is told of: where it lies, and what says so.

Blocks on files. Told once by whoever starts a server, and by `status` and `doctor` when asked.
"""

from server.settings import BUILT_VERSIONS
from state.errors import PathRefused
from state.home import Home
from state.workspace.root import ConfinedRoot

FILES_COUNTED_MAX = 10_000


def unused_memory(home: Home, off_by: str | None) -> str | None:
    """One sentence; None where memory is used, or nothing is kept.

    `off_by` is what keeps threads from being told of memory, in words.
    """
    if off_by is None:
        return None
    kept = [
        f"{home.memories(version)} ({files} file{'' if files == 1 else 's'})"
        for version in BUILT_VERSIONS
        if (files := _files(home, version))
    ]
    if not kept:
        return None
    return (
        f"memory is kept in {' and '.join(kept)}, and no thread is told of it: it is switched off "
        f"by {off_by}; switch it on there, or `memoryd reset` deletes it"
    )


def _files(home: Home, version: str) -> int:
    count = 0
    try:
        for _ in ConfinedRoot(home.memories(version)).walk():
            count += 1
            if count >= FILES_COUNTED_MAX:
                break
    except (PathRefused, OSError):
        return 0  # what cannot be looked into is a fault of its own, and told as one
    return count
