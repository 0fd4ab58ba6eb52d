"""The staged copy of a memory folder: made, compared with the live one, swapped in, cleared away.

Invariant: the live folder changes by one exchange; what a person wrote there during a run is
either carried over (new notes) or a reason not to swap (anything else).
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from state.errors import WorkspaceUnsafe
from state.home import Home, make_private_folder
from state.workspace.layout import NOTES
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import FileContent, Snapshot, take_snapshot, write_snapshot
from state.workspace.trees import (
    aside_of,
    exchange,
    mend_exchange,
    remove_tree,
    sync_tree,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """A live folder and the copy that one run works on."""

    live: Path
    staged: Path
    files_max: int
    bytes_max: int

    @classmethod
    def of(
        cls, home: Home, *, version: str, fence: int, files_max: int, bytes_max: int
    ) -> "Staging":
        """The staging of one claim."""
        return cls(
            live=home.memories(version),
            staged=home.staging / f"{version}-{fence}",
            files_max=files_max,
            bytes_max=bytes_max,
        )

    def make(self) -> Snapshot:
        """Copy the live folder, without its git; returns what was copied.

        Raises: WorkspaceUnsafe, OSError.
        """
        make_private_folder(self.staged.parent)
        self.discard()
        snapshot = self.live_snapshot()
        write_snapshot(snapshot, self.staged)
        return snapshot

    def live_snapshot(self) -> Snapshot:
        """What the live folder holds now.

        Raises: WorkspaceUnsafe, OSError.
        """
        return take_snapshot(self.live, files_max=self.files_max, bytes_max=self.bytes_max)

    def staged_snapshot(self) -> Snapshot:
        """What the copy holds now, all of it.

        Raises: WorkspaceUnsafe, OSError.
        """
        return take_snapshot(
            self.staged, files_max=self.files_max, bytes_max=self.bytes_max, inbox=None
        )

    def former_snapshot(self) -> Snapshot:
        """What the former live folder holds, which stands in the copy's place after the swap.

        Raises: WorkspaceUnsafe, OSError.
        """
        return take_snapshot(self.staged, files_max=self.files_max, bytes_max=self.bytes_max)

    def sync(self) -> None:
        """Bring the copy to the disk, so that a swap never shows what is not there.

        Raises: OSError.
        """
        sync_tree(self.staged)

    def swap(self) -> None:
        """Exchange live and copy in one step; the same call takes it back.

        Raises: WorkspaceUnsafe when the live folder is a link, OSError.
        """
        if self.live.is_symlink():
            raise WorkspaceUnsafe(self.live, "it is a link")
        exchange(self.live, self.staged)

    def mend(self) -> None:
        """Finish or undo an exchange that a crash cut in two.

        Raises: OSError.
        """
        mend_exchange(self.live, self.staged)

    def carry_over(self, origin: Path, target: Path, paths: Iterable[str]) -> None:
        """Copy files that stand in one folder and not in the other.

        Raises: OSError.
        """
        source, destination = ConfinedRoot(origin), ConfinedRoot(target)
        for path in paths:
            if not os.path.lexists(target / path):
                destination.write_new(path, source.read_bytes(path))

    def put(self, changes: Mapping[str, FileContent | None]) -> None:
        """Bring these files of the live folder to what they are to be; None removes one.

        Raises: PathRefused, OSError.
        """
        root = ConfinedRoot(self.live)
        for path, content in changes.items():
            if content is not None:
                root.write(path, content.data)
            elif os.path.lexists(self.live / path):
                root.delete(path)

    def keep_odd(self, former: Snapshot) -> None:
        """Move what was not taken in, and is no link, from the former live folder to the new one.

        Raises: HomeUnusable, OSError.
        """
        for path in former.odd:
            origin, target = self.staged / path, self.live / path
            if origin.is_symlink() or os.path.lexists(target) or not os.path.lexists(origin):
                continue
            make_private_folder(target.parent)
            origin.rename(target)

    def discard(self) -> None:
        """Remove the copy.

        Raises: OSError.
        """
        remove_tree(self.staged)


def new_notes(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """The notes that came since."""
    return tuple(path for path in after.below(NOTES) if path not in before.files)


def edited_since(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """The paths that changed, came or went since, new notes excepted."""
    fresh = frozenset(new_notes(before, after))
    return tuple(
        path
        for path in sorted({*before.files, *after.files})
        if path not in fresh and before.files.get(path) != after.files.get(path)
    )


def clear_staging(
    home: Home, *, version: str | None = None, keep: Iterable[str] = ()
) -> tuple[str, ...]:
    """Remove the copies that earlier runs, of one version or of all, left behind; their names.

    A copy to keep is named as in its edition; what an exchange put aside for it is kept too.

    Raises: WorkspaceUnsafe, OSError.
    """
    if home.staging.is_symlink():
        raise WorkspaceUnsafe(home.staging, "it is a link")
    if not home.staging.is_dir():
        return ()
    kept = {name for one in keep for name in (one, aside_of(home.staging / one).name)}
    leftovers = [
        path
        for path in home.staging.iterdir()
        if path.name not in kept and (version is None or path.name.startswith(f"{version}-"))
    ]
    for path in leftovers:
        remove_tree(path)
    return tuple(sorted(path.name for path in leftovers))
