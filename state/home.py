"""The paths of one home, made with modes 0700 and 0600 whatever the umask."""

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from state.errors import HomeUnusable

FOLDER_MODE = 0o700
FILE_MODE = 0o600
SHARING_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Waits after a refusal to rename, such as another program's hold on the file."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where everything of one installation lives."""

    root: Path

    @property
    def config(self) -> Path:
        """The settings a person edits."""
        return self.root / "config.toml"

    @property
    def database(self) -> Path:
        """The one database file."""
        return self.root / "state.sqlite"

    @property
    def journal(self) -> Path:
        """What stands in no transcript and must outlive the database."""
        return self.root / "journal.jsonl"

    @property
    def sessions(self) -> Path:
        """Rollouts, by year, month and day."""
        return self.root / "sessions"

    @property
    def archived_sessions(self) -> Path:
        """Rollouts of archived threads, flat."""
        return self.root / "archived_sessions"

    @property
    def keys(self) -> Path:
        """Secrets of this installation; never readable from a sandbox."""
        return self.root / "keys"

    @property
    def access_key(self) -> Path:
        """The secret that a WebSocket client must carry."""
        return self.keys / "access"

    @property
    def run(self) -> Path:
        """Lock and sockets of the owner process."""
        return self.root / "run"

    @property
    def owner_lock(self) -> Path:
        """Held by the one process that owns this home."""
        return self.run / "owner.lock"

    @property
    def relay_socket(self) -> Path:
        """Newline-delimited JSON-RPC into the owner."""
        return self.run / "relay.sock"

    @property
    def staging(self) -> Path:
        """Copies that consolidation works on; on the same file system as the memory."""
        return self.root / "staging"

    def memories(self, version: str) -> Path:
        """The published memory folder of a version."""
        return self.root / ("memories" if version == "v1" else f"memories_{version}")

    def prepare(self) -> None:
        """Make the home and its folders, and narrow the modes of those that exist.

        Raises: HomeUnusable.
        """
        for folder in (
            self.root,
            self.sessions,
            self.archived_sessions,
            self.keys,
            self.run,
            self.staging,
        ):
            make_private_folder(folder)
        if not self.access_key.exists():
            write_private(self.access_key, secrets.token_urlsafe(32).encode() + b"\n")


def make_private_folder(path: Path) -> None:
    """Make the folder, its missing parents too, for its owner only.

    Raises: HomeUnusable.
    """
    missing = [path, *path.parents]
    try:
        for folder in reversed([one for one in missing if not one.exists()]):
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            folder.chmod(FOLDER_MODE)
        if path.is_symlink() or not path.is_dir():
            raise HomeUnusable(path, "it is not a folder of its own")
        if path.stat().st_mode & 0o077:
            path.chmod(FOLDER_MODE)
    except OSError as error:
        raise HomeUnusable(path, error.strerror or str(error)) from error


def write_private(path: Path, data: bytes) -> None:
    """Replace a file atomically with one that only its owner can read; it is on disk after.

    Raises: OSError.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        patiently(lambda: _replaced(partial, path))
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def patiently(step: Callable[[], None]) -> None:
    """Do a rename or removal; a scanner or indexer that holds the file a moment is waited for.

    Raises: OSError.
    """
    for pause_s in SHARING_PAUSES_S:
        try:
            return step()
        except PermissionError:
            time.sleep(pause_s)
    step()


def open_private(path: Path, flags: int) -> BinaryIO:
    """Open a file of ours, made with mode 0600 whatever the umask; links are not followed."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    os.fchmod(descriptor, FILE_MODE)
    return os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "wb")


def made_private(path: Path) -> str:
    """Make a file where there is none, for its owner only; its address.

    Raises: OSError.
    """
    if not os.path.lexists(path):
        path.touch(mode=FILE_MODE)
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    path.chmod(FILE_MODE)
    return path.absolute().as_uri()


def _replaced(partial: Path, path: Path) -> None:
    partial.replace(path)


def sync_folder(folder: Path) -> None:
    """Make a rename or creation in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
