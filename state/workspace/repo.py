"""The private git baseline of a memory folder; the only owner of dulwich.

Invariant: the baseline is one commit without parents in a repository that we wrote ourselves. No
configuration, hook, filter or ignore rule of the user or the system takes part, since only the
object store is opened and never a repository. All methods block; call them in a thread.
"""

import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from state.errors import WorkspaceUnsafe
from state.home import FILE_MODE, FOLDER_MODE
from state.workspace.diff import Change, FileVersion, WorkspaceDiff, compare
from state.workspace.layout import GIT
from state.workspace.snapshot import FileContent, Snapshot
from state.workspace.trees import remove_tree

if TYPE_CHECKING:
    from dulwich.index import ConflictedIndexEntry, IndexEntry
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import ObjectID

BRANCH = b"refs/heads/main"
_HEAD = b"ref: " + BRANCH + b"\n"
_COMMIT_LINE = re.compile(rb"[0-9a-f]{40}\n")
AUTHOR = b"memoryd <memoryd@localhost>"
# Local settings stand above those of the user, so that a person's own `git status` here is true.
_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tautocrlf = false
\tsafecrlf = false
\teol = lf
\tfsmonitor = false
\tuntrackedCache = false
"""
TREES_KEPT_MAX = 16
_FILE = 0o100644
_NO_STATUS = os.stat_result((0o100644, *[0] * 9))
_EXECUTABLE = 0o100755


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: int
    blob_id: bytes


def _object_id(hex_id: bytes) -> "ObjectID":
    from dulwich.objects import ObjectID

    return ObjectID(hex_id)


class Baseline:
    """What a folder held when it was last published."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def usable(self) -> bool:
        """Whether there is a commit whose tree can be read."""
        return self._tree_or_none() is not None

    def ensure(self, at_s: int) -> bool:
        """Make an empty baseline where there is no usable one; true if it was made.

        Everything in the folder then counts as new, so nothing that was written there is missed.

        Raises: OSError.
        """
        self._remove_scraps()
        if self.usable():
            return False
        self.fresh_commit(Snapshot(files={}), "No memory yet", at_s)
        return True

    def head_commit(self) -> str | None:
        """The id of the published commit, None when there is no readable one."""
        if self._tree_or_none() is None:
            return None
        head = self._head()
        return None if head is None else head.decode()

    def stamp(self) -> str:
        """What the published commit looks like from outside: another one, another stamp."""
        git = self.root / GIT
        try:
            head = (git / "HEAD").read_text("ascii")
        except (OSError, ValueError):
            return ""
        looks = [head]
        for name in ("HEAD", head.removeprefix("ref: ").strip(), "packed-refs"):
            try:
                status = os.lstat(git / name)
            except (OSError, ValueError):
                continue
            looks.append(f"{status.st_ino}:{status.st_mtime_ns}:{status.st_ctime_ns}")
        return " ".join(looks)

    def blob_ids(self, folder: str) -> Mapping[str, str]:
        """The published files in a folder, each with git's id of its bytes; none is no error.

        Without a folder, all of them.
        """
        entries = self._tree_or_none() or {}
        return {
            path: entry.blob_id.decode()
            for path, entry in entries.items()
            if not folder or path.startswith(f"{folder}/")
        }

    def snapshot(self) -> Snapshot:
        """What was published, read from the commit; empty when there is no readable one.

        Raises: WorkspaceUnsafe when somebody takes it away meanwhile.
        """
        entries = self._tree_or_none()
        if not entries:
            return Snapshot(files={})
        try:
            with self._store() as store:
                files = {
                    path: FileContent(
                        data=store[_object_id(entry.blob_id)].as_raw_string(),
                        executable=entry.mode == _EXECUTABLE,
                    )
                    for path, entry in sorted(entries.items())
                }
        except KeyError:
            raise WorkspaceUnsafe(self.root, "its baseline went while it was read") from None
        return Snapshot(files=files)

    def diff(self, snapshot: Snapshot, *, bytes_max: int) -> WorkspaceDiff:
        """What differs between the baseline and these files, as labels and as text.

        Raises: WorkspaceUnsafe when there is no usable baseline.
        """
        entries = self._tree_or_none()
        if entries is None:
            raise WorkspaceUnsafe(self.root, "it has no readable baseline")
        with self._store() as store:
            before: dict[str, FileVersion] = {}
            for path, entry in entries.items():
                file = snapshot.files.get(path)
                if file is None or not _same(file, entry):
                    data = store[_object_id(entry.blob_id)].as_raw_string()
                    before[path] = FileVersion(data=data, executable=entry.mode == _EXECUTABLE)
        after = {
            path: FileVersion(data=file.data, executable=file.executable)
            for path, file in snapshot.files.items()
            if path in before or path not in entries
        }
        return compare(before, after, bytes_max=bytes_max)

    def changes(self, snapshot: Snapshot) -> tuple[Change, ...]:
        """The labels alone.

        Raises: WorkspaceUnsafe when there is no usable baseline.
        """
        return self.diff(snapshot, bytes_max=0).changes

    def fresh_commit(self, snapshot: Snapshot, message: str, at_s: int) -> str:
        """Replace the repository by one that has this single commit and no other object.

        Where the folder differs from the snapshot it counts as changed since. The new one is
        built beside the old one and renamed over it. Returns the commit's id.

        Raises: OSError.
        """
        scrap = self.root / f"{GIT}.new-{secrets.token_hex(4)}"
        try:
            commit_id = _build(scrap, self.root, snapshot, message, at_s)
            _narrow(scrap)
            self._put_in_place(scrap)
        finally:
            self._remove_scraps()
        return commit_id

    def _put_in_place(self, scrap: Path) -> None:
        git = self.root / GIT
        if os.path.lexists(git):
            git.rename(self.root / f"{GIT}.old-{secrets.token_hex(4)}")
        scrap.rename(git)

    def _remove_scraps(self) -> None:
        for leftover in self.root.glob(f"{GIT}.*-*"):
            remove_tree(leftover)

    def _head(self) -> bytes | None:
        git = self.root / GIT
        try:
            if not stat.S_ISDIR(os.lstat(git).st_mode):
                return None
        except OSError:
            return None
        if (plain := _plain_head(str(git))) is not None:
            return plain
        from dulwich.refs import DiskRefsContainer

        try:
            found = DiskRefsContainer(git).follow(b"HEAD")[1]  # type: ignore[arg-type]
        except (OSError, ValueError, KeyError):
            return None
        return found

    @contextmanager
    def _store(self) -> "Iterator[DiskObjectStore]":
        from dulwich.object_store import DiskObjectStore

        store = DiskObjectStore(self.root / GIT / "objects")
        try:
            yield store
        finally:
            store.close()

    def _tree_or_none(self) -> Mapping[str, _Entry] | None:
        head = self._head()
        if head is None:
            return None
        objects = str(self.root / GIT / "objects")
        try:
            return _tree(objects, head, _marks(objects))
        except OSError:
            return None


def _plain_head(git: str) -> bytes | None:
    """The commit where the references stand as we wrote them; None: somebody changed that."""
    try:
        if _line(f"{git}/HEAD") != _HEAD:
            return None
        commit = _line(f"{git}/{BRANCH.decode()}")
    except OSError:
        return None
    return commit[:-1] if _COMMIT_LINE.fullmatch(commit) else None


def _line(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 128)
    finally:
        os.close(descriptor)


def _marks(objects: str) -> tuple[tuple[str, int, int, int], ...]:
    """What tells whether any object changed since: place, file number, size and time of each.

    Raises: OSError.
    """
    found: list[tuple[str, int, int, int]] = []
    for name in os.listdir(objects):
        with os.scandir(f"{objects}/{name}") as files:
            for file in files:
                status = file.stat(follow_symlinks=False)
                mark = (status.st_ino, status.st_size, status.st_mtime_ns)
                found.append((f"{name}/{file.name}", *mark))
    return tuple(sorted(found))


@lru_cache(maxsize=TREES_KEPT_MAX)
def _tree(objects: str, head: bytes, marks: object) -> Mapping[str, _Entry] | None:
    """The files of a commit, None when it cannot be read; a pass asks for the same one often."""
    from dulwich.errors import FileFormatException, NotCommitError, NotTreeError
    from dulwich.object_store import DiskObjectStore, iter_tree_contents
    from dulwich.objects import Commit

    entries: dict[str, _Entry] = {}
    try:
        with closing(DiskObjectStore(objects)) as store:
            commit = store[_object_id(head)]
            if not isinstance(commit, Commit):
                return None
            for found in iter_tree_contents(store, commit.tree):
                if found.path is None or found.mode is None or found.sha is None:
                    return None
                entries[os.fsdecode(found.path)] = _Entry(found.mode, found.sha)
                if _object_id(found.sha) not in store:
                    return None
    except (
        OSError,
        KeyError,
        ValueError,
        AssertionError,
        FileFormatException,
        NotCommitError,
        NotTreeError,
    ):
        return None
    return MappingProxyType(entries)


def _build(git: Path, root: Path, snapshot: Snapshot, message: str, at_s: int) -> str:
    """Write a whole repository into a new folder, with an index for the files in `root`.

    The files are written here and not by the library, which leaves one open when a write fails.
    """
    from dulwich.index import commit_tree, index_entry_from_stat
    from dulwich.object_store import DiskObjectStore, MemoryObjectStore
    from dulwich.objects import Blob, Commit

    for folder in (git, git / "refs", git / "refs" / "heads", git / "objects"):
        folder.mkdir(mode=FOLDER_MODE)
    (git / "HEAD").write_bytes(_HEAD)
    (git / "config").write_bytes(_CONFIG)
    DiskObjectStore.init(git / "objects").close()
    store = MemoryObjectStore()
    entries: dict[bytes, IndexEntry | ConflictedIndexEntry] = {}
    leaves: list[tuple[bytes, bytes, int]] = []
    for path, file in snapshot.files.items():
        blob = Blob.from_string(file.data)
        store.add_object(blob)
        mode = _EXECUTABLE if file.executable else _FILE
        leaves.append((path.encode(), blob.id, mode))
        status = _status_of(root / path, file)
        entries[path.encode()] = index_entry_from_stat(status, blob.id, mode=mode)
    commit = Commit()
    commit.tree = commit_tree(store, leaves)  # type: ignore[arg-type]
    commit.author = commit.committer = AUTHOR
    commit.author_time = commit.commit_time = at_s
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = b"UTF-8"
    commit.message = message.encode() + b"\n"
    store.add_object(commit)
    for object_id in store:
        name = object_id.decode()
        place = git / "objects" / name[:2]
        place.mkdir(mode=FOLDER_MODE, exist_ok=True)
        (place / name[2:]).write_bytes(store[object_id].as_legacy_object())
    (git / "index").write_bytes(_index_of(entries))
    (git / BRANCH.decode()).write_bytes(commit.id + b"\n")
    return commit.id.decode()


def _index_of(entries: "Mapping[bytes, IndexEntry | ConflictedIndexEntry]") -> bytes:
    from dulwich.index import write_index_dict

    written = io.BytesIO()
    write_index_dict(written, entries, version=2)
    data = written.getvalue()
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _status_of(path: Path, file: FileContent) -> os.stat_result:
    """The status for the index; an empty one where the folder holds something else or nothing."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return _NO_STATUS
    return status if status.st_size == len(file.data) else _NO_STATUS


def _narrow(folder: Path) -> None:
    """Modes 0700 and 0600 below a folder that nobody else can enter yet."""
    folder.chmod(FOLDER_MODE)
    for place, folders, files in os.walk(folder):
        for name in folders:
            os.chmod(os.path.join(place, name), FOLDER_MODE)
        for name in files:
            os.chmod(os.path.join(place, name), FILE_MODE)


def _same(file: FileContent, entry: _Entry) -> bool:
    mode = _EXECUTABLE if file.executable else _FILE
    return mode == entry.mode and file.blob_id.encode() == entry.blob_id
