"""Looks for paths and symbols in one workspace: its folder first, then the objects of its git.

Invariant: a path is reached from the root part by part and no link is followed; every look counts
against a bound, and what a bound kept us from seeing is told as not known.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from state.projects import Repository
from state.workspace.descriptors import OPEN_FOLDER, OPEN_READ
from state.workspace.foreign_git import ForeignObjects, TreeItem

_AWAY = frozenset(
    {"node_modules", "target", "build", "dist", "vendor", "venv", "__pycache__", "site-packages"}
)
PathStanding = Literal[
    "present", "other_branch", "renamed", "removed", "missing", "unversioned", "unchecked"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerLimits:
    """Bounds of one look, so that it takes a few hundredths of a second in any workspace."""

    walk_entries_max: int = 1_500
    walk_depth_max: int = 12
    object_reads_max: int = 600
    commits_max: int = 60
    branches_max: int = 16
    tree_entries_max: int = 20_000
    file_bytes_max: int = 131_072
    files_max: int = 500
    text_bytes_max: int = 1_048_576
    """Bytes of files that are read for symbols."""
    compared_bytes_max: int = 25_165_824
    """Bytes read times symbols looked for in them."""


SYMBOL_LIMITS = PointerLimits()
FILES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class PathFound:
    """How one path stands."""

    standing: PathStanding
    detail: str = ""


class CheckoutSearch:
    """One look at one workspace."""

    def __init__(self, root: Path, repository: Repository | None, limits: PointerLimits) -> None:
        self._root = root
        self._limits = limits
        self._looks = 0
        self._walked: tuple[str, ...] | None = None
        self._walk_ended = True
        self._trees: dict[str, Mapping[str, TreeItem]] = {}
        self._objects: ForeignObjects | None = None
        self._descriptor = os.open(root, OPEN_FOLDER)
        if repository is not None:
            self._objects = ForeignObjects(
                repository.own, repository.common, reads_max=limits.object_reads_max
            )

    def __enter__(self) -> "CheckoutSearch":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        if self._objects is not None:
            self._objects.close()

    @property
    def looks(self) -> int:
        """Files, folders and git objects looked at so far."""
        return self._looks + (self._objects.reads if self._objects is not None else 0)

    def paths(self, wanted: Sequence[str]) -> Mapping[str, PathFound]:
        """How each relative path stands."""
        found: dict[str, PathFound] = {}
        for path in wanted:
            there = self._stands(path)
            if there is None:
                found[path] = PathFound("unchecked")
            elif there:
                found[path] = PathFound("present")
        gone = [path for path in wanted if path not in found]
        if gone:
            found |= self._moved(gone) if self._objects is None else self._in_git(gone)
        return found

    def symbols(
        self, wanted: frozenset[str], *, first: Sequence[str] = ()
    ) -> Mapping[str, bool | None]:
        """Whether a file has each word; None where not every file could be looked into."""
        missing = {name: name.encode() for name in wanted}
        found: dict[str, bool | None] = {}
        paths = tuple(dict.fromkeys((*first, *self._files()))) if missing else ()
        limits = self._limits
        complete = len(paths) <= limits.files_max
        paths = paths[: limits.files_max]
        read = compared = 0
        for start in range(0, len(paths), FILES_AT_ONCE):
            if not missing:
                break
            if read >= limits.text_bytes_max or compared >= limits.compared_bytes_max:
                complete = False
                break
            # One long text is looked through much faster than many short ones.
            several = [self._data(path) or b"" for path in paths[start : start + FILES_AT_ONCE]]
            complete = complete and all(len(one) <= limits.file_bytes_max for one in several)
            text = b"\0".join(several)
            read += len(text)
            compared += len(text) * len(missing)
            for name in [name for name, word in missing.items() if word in text]:
                del missing[name]
                found[name] = True
        complete = complete and self._walk_ended
        return found | dict.fromkeys(missing, False if complete else None)

    def _stands(self, path: str) -> bool | None:
        """Whether it is in the folder; None where a link is in the way, which is not followed."""
        parts = path.split("/")
        descriptor = os.dup(self._descriptor)
        try:
            for number, part in enumerate(parts):
                self._looks += 1
                try:
                    mode = os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode
                except (FileNotFoundError, NotADirectoryError):
                    return False
                except (OSError, ValueError):
                    return None
                if number == len(parts) - 1:
                    return True  # a link itself is there, whatever it points to
                if stat.S_ISLNK(mode):
                    return None
                if not stat.S_ISDIR(mode):
                    return False
                try:
                    below = os.open(part, OPEN_FOLDER, dir_fd=descriptor)
                except OSError:
                    return None
                os.close(descriptor)
                descriptor = below
        finally:
            os.close(descriptor)
        return True

    def _files(self) -> tuple[str, ...]:
        if self._walked is None:
            self._walked = tuple(self._walk())
        return self._walked

    def _walk(self) -> Iterator[str]:
        """Regular files, the shallow ones first; hidden, foreign and generated folders left out."""
        waiting = [""]
        seen = 0
        while waiting:
            later: list[str] = []
            for folder in waiting:
                files: list[str] = []
                for name, is_folder in self._children(folder):
                    seen += 1
                    path = f"{folder}/{name}" if folder else name
                    if not is_folder:
                        files.append(path)
                    elif path.count("/") + 1 < self._limits.walk_depth_max:
                        later.append(path)
                    else:
                        self._walk_ended = False
                yield from files
                if seen >= self._limits.walk_entries_max:
                    self._walk_ended = False
                    return
            waiting = later

    def _children(self, folder: str) -> Sequence[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        descriptor = self._opened(folder)
        if descriptor is None:
            return found
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self._looks += 1
                    if entry.name.startswith(".") or entry.name in _AWAY:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        found.append((entry.name, True))
                    elif entry.is_file(follow_symlinks=False):
                        found.append((entry.name, False))
                    if len(found) >= self._limits.walk_entries_max:
                        break
        except OSError:
            self._walk_ended = False
        finally:
            os.close(descriptor)
        return sorted(found)

    def _opened(self, folder: str) -> int | None:
        descriptor = os.dup(self._descriptor)
        for part in folder.split("/") if folder else ():
            try:
                below = os.open(part, OPEN_FOLDER, dir_fd=descriptor)
            except OSError:
                os.close(descriptor)
                self._walk_ended = False
                return None
            os.close(descriptor)
            descriptor = below
        return descriptor

    def _data(self, path: str) -> bytes | None:
        """The beginning of a file; one byte more than the bound where it is longer."""
        folder, _, name = path.rpartition("/")
        descriptor = self._opened(folder)
        if descriptor is None:
            return None
        try:
            file = os.open(name, OPEN_READ, dir_fd=descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        self._looks += 1
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return None
            return os.read(file, self._limits.file_bytes_max + 1)
        except OSError:
            return None
        finally:
            os.close(file)

    def _in_git(self, gone: Sequence[str]) -> dict[str, PathFound]:
        """Paths that the folder has not: renamed, removed, on another branch, or never there."""
        objects = self._objects
        assert objects is not None
        head = objects.head()
        if head is None or objects.commit(head) is None:
            return self._moved(gone)  # nothing was committed yet, or it cannot be read
        before = self._history(head, gone)
        places = self._blob_places(head) if before else {}
        other = self._on_branches(head, gone)
        found: dict[str, PathFound] = {}
        for path in gone:
            branch = other.get(path, "")
            if path in before:
                new = places.get(before[path])
                new = None if new == path else new  # it is gone from the folder alone
                found[path] = PathFound("renamed", new) if new else PathFound("removed", branch)
            elif branch:
                found[path] = PathFound("other_branch", branch)
        unknown = [path for path in gone if path not in found or found[path].standing == "removed"]
        for path, new in self._same_name(unknown).items():
            found[path] = PathFound("renamed", new)
        last: PathStanding = "unchecked" if objects.exhausted else "missing"
        return found | {path: PathFound(last) for path in gone if path not in found}

    def _moved(self, gone: Sequence[str]) -> dict[str, PathFound]:
        """Paths that a folder has not whose git says nothing."""
        new = self._same_name(gone)
        return {
            path: PathFound("renamed", new[path]) if path in new else PathFound("unversioned")
            for path in gone
        }

    def _same_name(self, gone: Sequence[str]) -> Mapping[str, str]:
        """The one other file of the same name, where there is exactly one."""
        names = {path.rstrip("/").rpartition("/")[2] for path in gone}
        places: dict[str, list[str]] = {}
        for path in self._files() if gone else ():
            name = path.rpartition("/")[2]
            if name in names:
                places.setdefault(name, []).append(path)
        if not self._walk_ended:
            return {}
        alone = {name: found[0] for name, found in places.items() if len(found) == 1}
        named = {path: alone.get(path.rpartition("/")[2]) for path in gone}
        return {path: found for path, found in named.items() if found is not None}

    def _history(self, head: str | None, gone: Sequence[str]) -> Mapping[str, str]:
        """What the checked-out line of commits held last at these paths, by git's ids."""
        found: dict[str, str] = {}
        commit_id = head
        objects = self._objects
        assert objects is not None
        for _ in range(self._limits.commits_max):
            commit = objects.commit(commit_id) if commit_id else None
            if commit is None:
                break
            for path in gone:
                if path not in found and (item := self._at(commit.tree_id, path)) is not None:
                    found[path] = item.object_id
            commit_id = commit.parents[0] if commit.parents else None
        return found

    def _on_branches(self, head: str | None, gone: Sequence[str]) -> Mapping[str, str]:
        """The first other branch that has each path."""
        objects = self._objects
        assert objects is not None
        found: dict[str, str] = {}
        tips: dict[str, str] = {}
        for name, commit_id in objects.branches().items():
            if commit_id != head and commit_id not in tips.values():
                tips[name] = commit_id
        for name, commit_id in list(tips.items())[: self._limits.branches_max]:
            commit = objects.commit(commit_id)
            for path in gone if commit is not None else ():
                if path not in found and commit and self._at(commit.tree_id, path) is not None:
                    found[path] = name
        return found

    def _blob_places(self, head: str | None) -> Mapping[str, str]:
        """The path of each file that is checked out, by git's id of its bytes."""
        objects = self._objects
        assert objects is not None
        commit = objects.commit(head) if head else None
        places: dict[str, str] = {}
        waiting = [("", commit.tree_id)] if commit is not None else []
        while waiting and len(places) < self._limits.tree_entries_max:
            folder, tree_id = waiting.pop()
            for name, item in (self._tree(tree_id) or {}).items():
                path = f"{folder}/{name}" if folder else name
                places.setdefault(item.object_id, path)
                if item.is_folder:
                    waiting.append((path, item.object_id))
        return places

    def _at(self, tree_id: str, path: str) -> TreeItem | None:
        item: TreeItem | None = None
        for part in path.rstrip("/").split("/"):
            tree = self._tree(tree_id)
            item = tree.get(part) if tree is not None else None
            if item is None:
                return None
            tree_id = item.object_id
        return item

    def _tree(self, tree_id: str) -> Mapping[str, TreeItem] | None:
        if tree_id not in self._trees:
            objects = self._objects
            assert objects is not None
            found = objects.tree(tree_id)
            if found is None:
                return None
            self._trees[tree_id] = found
        return self._trees[tree_id]
