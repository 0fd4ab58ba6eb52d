"""What is done relative to an open folder, so that no path is walked twice.

Invariant: nothing here follows a link.
"""

import os
from collections.abc import Sequence

from state.home import FILE_MODE, FOLDER_MODE

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A FIFO opened without O_NONBLOCK would hang until somebody writes to it.
OPEN_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def children(descriptor: int) -> Sequence[tuple[str, str]]:
    """Visible folders and regular files in it, by name in byte order."""
    found: list[tuple[str, str]] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                found.append((entry.name, "directory"))
            elif entry.is_file(follow_symlinks=False):
                found.append((entry.name, "file"))
    return sorted(found, key=lambda child: os.fsencode(child[0]))


def make_folder_at(descriptor: int, name: str) -> None:
    """Make a folder of mode 0700 unless there is one."""
    try:
        os.mkdir(name, FOLDER_MODE, dir_fd=descriptor)
    except FileExistsError:
        return
    os.chmod(name, FOLDER_MODE, dir_fd=descriptor)


def write_at(folder: int, name: str, data: bytes, flags: int) -> None:
    """Write a file of mode 0600 that is on disk afterwards."""
    flags |= os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, FILE_MODE, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, FILE_MODE)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def unlink_at(folder: int, name: str) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
