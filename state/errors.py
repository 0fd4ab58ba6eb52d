"""The errors of this room.

StateError
├── HomeUnusable          the home cannot be made, read or written
├── HomeBusy              another process owns the home
├── DatabaseUnusable      the database file cannot be opened or is not ours
│   ├── DatabaseTooNew    it was written by a later memoryd
│   ├── DatabaseBroken    its bytes are not those of a sound database
│   └── DatabaseFull      the disk has no room for the change
├── JournalUnusable       the journal beside the database cannot be read or written
├── DatabaseBusy          the write lock did not come free in time
├── MigrationChanged      an applied migration no longer has the text it had
├── RolloutMissing        a thread has no recorded file
├── RolloutUnreadable     the file has no usable first line
├── TurnMissing           a thread has no such turn
├── WorkspaceUnsafe       a link or special file stands where memory should be
├── ExportRefused         a folder cannot take or be an exported memory; nothing was taken in
├── PathRefused           a path given to a memory tool; its sentence goes to the model
└── LeaseLost             the job was taken over; nothing was written
"""

from collections.abc import Sequence
from pathlib import Path


class StateError(Exception):
    """Any error of this room; its text names the file or thread and holds no memory text."""


class HomeUnusable(StateError):
    """The home cannot be made, read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"home {path} cannot be used: {reason}")


class HomeBusy(StateError):
    """Another process owns the home."""

    def __init__(self, path: Path, owner_pid: int | None, addresses: Sequence[str] = ()) -> None:
        self.path = path
        self.owner_pid = owner_pid
        self.addresses = tuple(addresses)
        """Where it listens, as it said itself."""
        super().__init__(f"home {path} is owned by process {owner_pid or 'unknown'}")


class DatabaseUnusable(StateError):
    """The database file cannot be opened, or is not one of ours."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"database {path} cannot be used: {reason}")


class DatabaseTooNew(DatabaseUnusable):
    """The database was written by a later memoryd; nothing in it was changed."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            path,
            f"its schema has version {found}, this memoryd knows {known}; nothing was changed, "
            "start it with the newer memoryd",
        )


class DatabaseBroken(DatabaseUnusable):
    """The bytes are not those of a sound database; no transcript is in it, nor published memory."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            path, f"it is damaged ({reason}); transcripts and published memory are safe"
        )
        self.reason = reason


class DatabaseFull(DatabaseUnusable):
    """The disk has no room; nothing was changed, and the caller may try again."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, "the disk is full; nothing was changed, it goes on when there is room"
        )


class JournalUnusable(StateError):
    """The journal beside the database cannot be read or written; nothing was changed."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"journal {path} cannot be used: {reason}; nothing was changed")


class DatabaseBusy(StateError):
    """The write lock did not come free in time; the caller may try again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"database {path} is locked by another process")


class MigrationChanged(StateError):
    """A migration that was applied no longer has the text it had."""

    def __init__(self, path: Path, name: str, backup: Path | None = None) -> None:
        self.path = path
        self.name = name
        self.backup = backup
        kept = f"; a copy of the database was kept as {backup}" if backup else ""
        super().__init__(
            f"migration {name} differs from the one applied to {path}; nothing was changed{kept}; "
            "start it with the memoryd that wrote it"
        )


class RolloutMissing(StateError):
    """The thread has no recorded file."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"no rollout found for thread id {thread_id}")


class RolloutUnreadable(StateError):
    """The file has no usable first line."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"rollout {path} cannot be read: {reason}")


class TurnMissing(StateError):
    """A thread has no turn of that id."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        super().__init__(f"turn not found: {turn_id[:200]}")


class WorkspaceUnsafe(StateError):
    """A link or special file stands where memory should be; it was not followed."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"memory folder {path} is not safe to use: {reason}")


class ExportRefused(StateError):
    """A folder cannot take an exported memory, or is none; nothing was written or taken in."""

    def __init__(self, folder: Path, file: str, reason: str) -> None:
        self.folder = folder
        self.file = file
        self.reason = reason
        place = f"{folder}/{file}" if file else str(folder)
        super().__init__(f"{place}: {reason}; nothing was changed")


class PathRefused(StateError):
    """A path that a memory tool was given; the sentence is meant for the model."""


class LeaseLost(StateError):
    """The job was taken over by another worker; nothing was written."""

    def __init__(self, kind: str, key: str, fence: int) -> None:
        self.kind = kind
        self.key = key
        self.fence = fence
        super().__init__(f"job {kind}/{key} no longer belongs to fence {fence}")
