"""The stamps of a folder's files, kept up to date by what the kernel tells of it.

Asking costs one read where nothing happened, however many files there are. Invariant: what was
changed before `current` is called stands in its answer, or it gives none and the folder must be
walked. That holds for changes through the kernel of this machine and the names in this folder: on
shared file systems, with hard links, and elsewhere than on Linux every question is a walk. A write
through a mapping of memory tells nobody; only the next walk sees it.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from state.errors import PathRefused
from state.file_system import file_system_of
from state.workspace.descriptors import OPEN_FOLDER
from state.workspace.inotify import Inotify
from state.workspace.passages import stamp_of
from state.workspace.root import DEPTH_MAX, WALK_FILES_MAX

LOCAL_KINDS = frozenset(
    "bcachefs btrfs ext2 ext3 ext4 f2fs jfs overlay ramfs reiserfs tmpfs xfs zfs".split()
)
"""File systems whose every change goes through this kernel."""
FOLDERS_MAX = 512
TOUCHED_MAX = 64
"""Of more files that changed the whole folder is walked."""

Stamps = dict[str, str]


@dataclass(slots=True)
class Walked:
    """What a walk found, and what goes on watching it."""

    stamps: Stamps
    identity: tuple[int, int] | None
    folders: dict[int, str]
    """By watch."""
    notify: Inotify | None
    """None where changes would not be told."""


class WatchedFolder:
    """One folder; `walk` runs in a thread, the rest where the event loop runs."""

    def __init__(self, root: Path, keep: Callable[[str], bool]) -> None:
        self._root = root
        self._keep = keep
        self._walked: Walked | None = None
        self._is_local: bool | None = None

    def current(self) -> Stamps | None:
        """The stamps as they are now; the same object as long as nothing changed.

        None where the folder must be walked.
        """
        walked = self._walked
        if walked is None or walked.notify is None:
            return None
        touched = self._touched(walked)
        if touched is None or _identity(self._root) != walked.identity:
            self.close()
            return None
        if touched:
            walked.stamps = self._restamped(walked.stamps, touched)
        return walked.stamps

    def walk(self) -> Walked:
        """Look at every file; blocks.

        Raises: PathRefused, OSError.
        """
        notify = self._opened()
        walked = Walked(stamps={}, identity=None, folders={}, notify=notify)
        try:
            self._fill(walked)
        except BaseException:
            _close(walked)
            raise
        return walked

    def adopt(self, walked: Walked) -> Stamps:
        """Go on from what a walk found."""
        former = self._walked
        if former is not None and former.stamps == walked.stamps:
            walked.stamps = former.stamps
        self.close()
        self._walked = walked
        return walked.stamps

    def close(self) -> None:
        """Watch no more."""
        if self._walked is not None:
            _close(self._walked)
            self._walked = None

    def _touched(self, walked: Walked) -> set[str] | None:
        """The files that changed; None where that does not tell all."""
        assert walked.notify is not None
        touched: set[str] = set()
        for event in walked.notify.events():
            folder = walked.folders.get(event.watch)
            if folder is None or event.ends:
                return None
            if event.name.startswith(".") or not event.name:
                continue
            if event.of_folder:
                return None
            path = f"{folder}{event.name}"
            if self._keep(path):
                touched.add(path)
        return touched if len(touched) <= TOUCHED_MAX else None

    def _restamped(self, stamps: Stamps, touched: set[str]) -> Stamps:
        changed = dict(stamps)
        for path in touched:
            try:
                status = os.lstat(f"{self._root}/{path}")
            except (FileNotFoundError, NotADirectoryError):
                changed.pop(path, None)
                continue
            if stat.S_ISREG(status.st_mode):
                changed[path] = stamp_of(status)
            else:
                changed.pop(path, None)
        return changed

    def _opened(self) -> Inotify | None:
        if self._is_local is None:
            kind = file_system_of(self._root).kind
            self._is_local = sys.platform == "linux" and kind in LOCAL_KINDS
        if not self._is_local:
            return None
        try:
            return Inotify()
        except OSError:
            return None  # the user has no more of them: walks tell the same

    def _fill(self, walked: Walked) -> None:
        walked.identity = _identity(self._root)
        if walked.identity is None:
            _close(walked)
            return
        waiting = [("", 0)]
        while waiting and len(walked.stamps) < WALK_FILES_MAX:
            folder, depth = waiting.pop()
            # Watched before it is looked at, so that nothing happens in between unseen.
            _watch(walked, self._root, folder)
            try:
                with _children(f"{self._root}/{folder}") as entries:
                    waiting += self._look(walked, folder, depth, entries)
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed while we walk
        if len(walked.stamps) >= WALK_FILES_MAX:
            _close(walked)

    def _look(
        self, walked: Walked, folder: str, depth: int, entries: Iterator["os.DirEntry[str]"]
    ) -> Iterator[tuple[str, int]]:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_MAX:
                    yield f"{path}/", depth + 1
            elif entry.is_file(follow_symlinks=False) and self._keep(path):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if status.st_nlink > 1:
                    _close(walked)  # by its other name it changes unseen
                walked.stamps[path] = stamp_of(status)


def _identity(root: Path) -> tuple[int, int] | None:
    """Which folder stands there; None where there is none.

    Raises: PathRefused, OSError.
    """
    try:
        status = os.lstat(root)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise PathRefused("path '' must not be a symlink")
    return status.st_dev, status.st_ino


@contextmanager
def _children(folder: str) -> Iterator[Iterator["os.DirEntry[str]"]]:
    descriptor = os.open(folder, OPEN_FOLDER)
    try:
        with os.scandir(descriptor) as entries:
            yield entries
    finally:
        os.close(descriptor)


def _watch(walked: Walked, root: Path, folder: str) -> None:
    if walked.notify is None:
        return
    try:
        if len(walked.folders) >= FOLDERS_MAX:
            raise OSError
        walked.folders[walked.notify.watch(f"{root}/{folder}")] = folder
    except OSError:
        _close(walked)


def _close(walked: Walked) -> None:
    if walked.notify is not None:
        walked.notify.close()
        walked.notify = None
