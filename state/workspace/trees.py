"""Whole folders: remove, clean of links, bring to the disk, exchange.

Invariant: no link is followed, neither when walking nor when removing.
"""

import ctypes
import errno
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from state.errors import WorkspaceUnsafe
from state.home import FOLDER_MODE, make_private_folder, patiently, sync_folder
from state.workspace.layout import GIT

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_RENAME_SWAP_MACOS = 2


def remove_tree(path: Path) -> None:
    """Remove a file, link or whole folder, also one that forbids its owner to write.

    Raises: OSError.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(status.st_mode):
        path.unlink(missing_ok=True)
        return
    path.chmod(FOLDER_MODE)
    for place, folders, _ in os.walk(path):
        for name in folders:
            folder = os.path.join(place, name)
            if not os.path.islink(folder):
                os.chmod(folder, FOLDER_MODE)
    shutil.rmtree(path)


def ensure_real_folder(root: Path) -> tuple[str, ...]:
    """Make the folder if need be and remove every link inside it; returns their paths.

    Raises: WorkspaceUnsafe when the root itself is a link or no folder, OSError.
    """
    if root.is_symlink():
        raise WorkspaceUnsafe(root, "it is a link")
    if root.exists() and not root.is_dir():
        raise WorkspaceUnsafe(root, "it is not a folder")
    make_private_folder(root)
    removed: list[str] = []
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            entry = os.path.join(place, name)
            if os.path.islink(entry):
                os.unlink(entry)
                removed.append(os.path.relpath(entry, root))
        folders[:] = [name for name in folders if os.path.lexists(os.path.join(place, name))]
    return tuple(sorted(removed))


def folder_fault(root: Path) -> str | None:
    """Why a memory folder cannot be used, in plain words; None when it can or is not there yet."""
    if root.is_symlink():
        return f"{root} is a link; memory is never read or written through one"
    if root.exists() and not root.is_dir():
        return f"{root} is not a folder"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSize:
    """How much a folder holds."""

    files: int
    bytes: int


def folder_size(root: Path) -> FolderSize:
    """Its regular files, nested ones too; neither its private git nor links. Blocking."""
    files = size = 0
    if root.is_symlink():
        return FolderSize(files=0, bytes=0)
    for place, folders, names in os.walk(root):
        if place == str(root):
            folders[:] = [name for name in folders if name != GIT]
        for name in names:
            try:
                status = os.lstat(os.path.join(place, name))
            except FileNotFoundError:
                continue  # it went while we looked
            if stat.S_ISREG(status.st_mode):
                files, size = files + 1, size + status.st_size
    return FolderSize(files=files, bytes=size)


def special_files(root: Path) -> list[str]:
    """What below a folder is neither file nor folder, or may not be read; nothing is opened."""
    found: list[str] = []
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            plain = stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and os.access(path, os.R_OK))
            if not plain:
                found.append(os.path.relpath(path, root))
    return sorted(found)


def sync_tree(root: Path) -> None:
    """Bring all files and folders below it to the disk.

    Raises: OSError.
    """
    for place, _, files in os.walk(root):
        for name in files:
            descriptor = os.open(os.path.join(place, name), os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(place))


def exchange(one: Path, other: Path) -> None:
    """Swap two folders of one file system in a single step where the system can do that.

    Elsewhere three renames do it; `mend_exchange` finishes or undoes them after a crash.

    Raises: OSError.
    """
    patiently(lambda: _exchange(one, other))
    sync_folder(one.parent)
    sync_folder(other.parent)


def _exchange(one: Path, other: Path) -> None:
    if _exchanged(os.fsencode(one), os.fsencode(other)):
        return
    # Each step is left out when an earlier try has done it.
    aside = aside_of(other)
    if not aside.exists():
        one.rename(aside)
    if not one.exists():
        other.rename(one)
    aside.rename(other)


def aside_of(path: Path) -> Path:
    """Where the first folder of an exchange waits when it takes three renames."""
    return path.with_name(f"{path.name}.aside")


def mend_exchange(one: Path, other: Path) -> None:
    """Bring back the folder that a crash between the renames left aside.

    Raises: OSError.
    """
    aside = aside_of(other)
    if not aside.exists():
        return
    if not one.exists():
        aside.rename(one)
    else:
        aside.rename(other)
    sync_folder(one.parent)
    sync_folder(other.parent)


def _exchanged(one: bytes, other: bytes) -> bool:
    """Whether the system swapped them; False where it does not know how."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        arguments: tuple[object, ...] = (one, other, ctypes.c_uint(_RENAME_SWAP_MACOS))
    else:
        call = getattr(library, "renameat2", None)
        here = ctypes.c_int(_AT_FDCWD)
        arguments = (here, one, here, other, ctypes.c_uint(_RENAME_EXCHANGE))
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), os.fsdecode(one))
