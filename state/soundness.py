"""Looks at a database file from outside, without changing a byte: is it sound, and whose is it?

Everything here blocks and opens its own read-only connection, or none at all.
"""

import fcntl
import os
import sqlite3
import struct
from dataclasses import dataclass
from pathlib import Path

BUSY_TIMEOUT_MS = 5_000
FAILED_MAX = 100
_WAL_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)
# Where SQLite puts its locks: every open connection holds some byte of these.
_LOCKS_START = 0x4000_0000
_LOCKS_BYTES = 512
_EXTRA = ("", "-wal", "-shm", "-journal")


def integrity_fault(path: Path) -> str | None:
    """What SQLite's own check finds wrong with a database file; None when it is sound.

    Reads only, also while another process writes.
    """
    try:
        connection = _read_only(path, alone=False)
        try:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        return str(error)
    return None if found == "ok" else str(found)


def sqlite_version() -> str:
    """The version of the SQLite library in use."""
    return sqlite3.sqlite_version


def schema_version(path: Path) -> int | None:
    """The newest migration that a database had; None where there is none or it cannot be told."""
    try:
        if path.stat().st_size == 0:
            return None
        connection = _read_only(path, alone=_has_no_log(path))
        try:
            (newest,) = connection.execute("select max(number) from migrations").fetchone()
        finally:
            connection.close()
    except (sqlite3.Error, OSError):
        return None
    return newest if isinstance(newest, int) else None


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job whose last run failed and that is still to be done."""

    version: str
    kind: str
    key: str
    reason: str
    retry_at_ms: int | None


def failed_jobs(path: Path) -> list[FailedJob]:
    """Consolidations that failed and extractions that are tried again, consolidations first.

    At most `FAILED_MAX`; none where there is no database or it cannot be read.
    """
    if not path.exists():
        return []
    try:
        connection = _read_only(path, alone=_has_no_log(path))
        try:
            rows = connection.execute(
                "select version, kind, key, coalesce(reason, status), retry_at_ms from jobs "
                "where status = 'failed' and (kind = 'consolidation' or attempts_left > 0) "
                "order by kind, version, key limit ?",
                (FAILED_MAX,),
            ).fetchall()
        finally:
            connection.close()
    except (sqlite3.Error, OSError):
        return []
    return [FailedJob(*row) for row in rows]


def in_use_elsewhere(path: Path) -> bool:
    """Whether another process has this database open; ours must not, or it loses its own locks."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCKS_BYTES, _LOCKS_START)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@dataclass(frozen=True, slots=True)
class LogState:
    """The write-ahead log beside a database, as its bytes tell."""

    fault: str | None
    """Why nothing of it can be used."""
    commits: tuple[int, ...] = ()
    """The frames, counted from one, that end a transaction of its latest round."""

    def lost(self, frames: int) -> bool:
        """Whether SQLite, which used that many frames, passed over a transaction that had ended."""
        return self.fault is not None or any(number > frames for number in self.commits)


def log_state(path: Path) -> LogState:
    """What stands in the write-ahead log of a database that nobody has open.

    Raises: OSError.
    """
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or log.stat().st_size == 0:
        return LogState(None)
    with log.open("rb") as file:
        header = file.read(_WAL_HEADER_BYTES)
        if len(header) < _WAL_HEADER_BYTES:
            return LogState("its write-ahead log was cut short")
        magic, _, page_bytes, _, salts, *_ = struct.unpack(">IIIIQII", header)
        if magic not in _WAL_MAGIC or not _header_is_sound(header, magic):
            return LogState("its write-ahead log is damaged")
        commits: list[int] = []
        number = 0
        while len(frame := file.read(_FRAME_HEADER_BYTES)) == _FRAME_HEADER_BYTES:
            _, size_after, its_salts, _ = struct.unpack(">IIQQ", frame)
            if its_salts != salts:
                # What follows is left from an earlier round.
                break
            number += 1
            if size_after:
                commits.append(number)
            file.seek(page_bytes, os.SEEK_CUR)
    return LogState(None, tuple(commits))


def set_aside(path: Path, stamp: str) -> Path:
    """Rename a database and what belongs to it, so that it can be looked at; its new place.

    Raises: OSError.
    """
    place = path.with_name(f"{path.name}.broken-{stamp}")
    # The log goes first: a database never meets the log of another.
    for extra in reversed(_EXTRA):
        origin = path.with_name(path.name + extra)
        if os.path.lexists(origin):
            origin.rename(place.with_name(place.name + extra))
    return place


def set_aside_ones(path: Path) -> list[Path]:
    """The databases that were set aside here, the oldest first."""
    found = path.parent.glob(f"{path.name}.broken-*")
    return sorted(one for one in found if not one.name.endswith(_EXTRA[1:]))


def _header_is_sound(header: bytes, magic: int) -> bool:
    """Its own checksum, in the byte order that the magic number says."""
    words = struct.unpack(">6I" if magic & 1 else "<6I", header[:24])
    one = two = 0
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFF_FFFF
        two = (two + second + one) & 0xFFFF_FFFF
    return (one, two) == struct.unpack(">II", header[24:32])


def _has_no_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return not log.exists() or log.stat().st_size == 0


def _read_only(path: Path, *, alone: bool) -> sqlite3.Connection:
    # Where nothing can change under it, SQLite need not make files to read.
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    connection = sqlite3.connect(uri, uri=True)
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    return connection
