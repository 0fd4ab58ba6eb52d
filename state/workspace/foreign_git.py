"""Reads commits and trees of repositories that are not ours, such as a user's project.

Invariant: nothing is written, run or fetched; of the repository's settings, hooks and files none
takes part; the number of objects read is bounded, and what cannot be read is None. All methods
block; call them in a thread.
"""

import os
import re
import stat
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dulwich.objects import ShaFile
    from dulwich.refs import DiskRefsContainer

_Told = TypeVar("_Told")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class TreeItem:
    """One name in a folder of a commit."""

    object_id: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class CommitLinks:
    """What a commit leads to."""

    tree_id: str
    parents: tuple[str, ...]


class ForeignObjects:
    """Branches, commits and trees of one repository; close it, or use it as a context."""

    def __init__(self, own: Path, common: Path, *, reads_max: int) -> None:
        """`own` has the HEAD of this worktree, `common` objects and branches."""
        from dulwich.object_store import DiskObjectStore

        self._own = own
        self._common = common
        self._store = DiskObjectStore(common / "objects")
        self._reads_max = reads_max
        self.reads = 0

    def __enter__(self) -> "ForeignObjects":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of its files."""
        self._store.close()

    @property
    def exhausted(self) -> bool:
        """Whether no further object is read."""
        return self.reads >= self._reads_max

    def head(self) -> str | None:
        """The commit that is checked out."""
        return _hex(self._refs(_checked_out))

    def branches(self) -> Mapping[str, str]:
        """The last commit of each branch: those of this repository first, by name."""
        found: dict[str, str] = {}
        for base, prefix in ((b"refs/heads", ""), (b"refs/remotes/origin", "origin/")):
            listed = self._refs(partial(_below, base)) or {}
            for name, commit_id in sorted(listed.items()):
                if name != b"HEAD" and (tip := _hex(commit_id)) is not None:
                    found[prefix + name.decode("utf-8", "replace")] = tip
        return found

    def commit(self, commit_id: str) -> CommitLinks | None:
        """A commit's tree and parents."""
        from dulwich.objects import Commit

        found = self._object(commit_id)
        if not isinstance(found, Commit):
            return None
        parents = tuple(parent.decode() for parent in found.parents)
        return CommitLinks(found.tree.decode(), parents)

    def tree(self, tree_id: str) -> Mapping[str, TreeItem] | None:
        """The names in a folder of a commit."""
        from dulwich.objects import Tree

        found = self._object(tree_id)
        if not isinstance(found, Tree):
            return None
        return {
            os.fsdecode(name): TreeItem(object_id.decode(), stat.S_ISDIR(mode))
            for name, mode, object_id in found.iteritems()
        }

    def _object(self, object_id: str) -> "ShaFile | None":
        from dulwich.errors import ApplyDeltaError, ChecksumMismatch, FileFormatException
        from dulwich.objects import ObjectID

        if self.exhausted:
            return None
        self.reads += 1
        try:
            found = self._store[ObjectID(object_id.encode())]
            found.check()
        except (
            OSError,
            LookupError,
            ValueError,
            AssertionError,
            zlib.error,
            ApplyDeltaError,
            ChecksumMismatch,
            FileFormatException,
        ):
            return None
        return found

    def _refs(self, ask: "Callable[[DiskRefsContainer], _Told]") -> "_Told | None":
        from dulwich.errors import PackedRefsException, RefFormatError
        from dulwich.refs import DiskRefsContainer

        try:
            return ask(DiskRefsContainer(self._common, worktree_path=self._own))
        except (OSError, ValueError, LookupError, PackedRefsException, RefFormatError):
            return None


def _hex(object_id: bytes | None) -> str | None:
    """An id of git's as text; None for what somebody else wrote where one should stand."""
    text = "" if object_id is None else object_id.decode("ascii", "replace")
    return text if _OBJECT_ID.fullmatch(text) else None


def _checked_out(refs: "DiskRefsContainer") -> bytes | None:
    from dulwich.refs import Ref

    return refs.follow(Ref(b"HEAD"))[1]


def _below(base: bytes, refs: "DiskRefsContainer") -> Mapping[bytes, bytes]:
    from dulwich.refs import Ref

    return {bytes(name): bytes(found) for name, found in refs.as_dict(Ref(base)).items()}
