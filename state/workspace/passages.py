"""Pieces of a file by their bytes, and what a file looks like from outside.

All functions block; call them in a thread. No link is followed.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from state.errors import PathRefused
from state.workspace.root import ConfinedRoot

MARK_BYTES = 12


@dataclass(frozen=True, slots=True)
class Passage:
    """Bytes of a file and the digest they had when they were last looked at."""

    begin: int
    end: int
    mark: bytes


def mark_of(data: bytes) -> bytes:
    """What passages are known again by."""
    return hashlib.blake2b(data, digest_size=MARK_BYTES).digest()


def stamp_of(status: os.stat_result) -> str:
    """What a file looks like from outside; another stamp means that it may have changed."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}:{status.st_ctime_ns}"


def size_of(stamp: str) -> int:
    """The bytes of the file that a stamp is of."""
    return int(stamp.partition(":")[0])


def read_whole(root: ConfinedRoot, path: str, *, bytes_max: int) -> tuple[str, bytes]:
    """A file's stamp and bytes, of one moment.

    Raises: PathRefused, OSError.
    """
    with root.opened(path) as file:
        stamp = stamp_of(os.fstat(file.fileno()))
        data = file.read(bytes_max + 1)
        if stamp_of(os.fstat(file.fileno())) != stamp:
            stamp = ""  # it is being written: whoever looks again sees it as changed
    if len(data) > bytes_max:
        raise PathRefused(f"path '{path}' is larger than {bytes_max} bytes")
    return stamp, data


def read_passages(
    root: ConfinedRoot, path: str, passages: Sequence[Passage], *, stamp: str
) -> list[bytes | None] | None:
    """The bytes of those passages that stand as they did; None when the file changed since.

    Raises: PathRefused, OSError.
    """
    found: list[bytes | None] = []
    with root.opened(path) as file:
        descriptor = file.fileno()
        if stamp_of(os.fstat(descriptor)) != stamp:
            return None
        for one in passages:
            data = os.pread(descriptor, one.end - one.begin, one.begin)
            found.append(data if mark_of(data) == one.mark else None)
    return found
