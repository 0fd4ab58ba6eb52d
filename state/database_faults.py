"""What an error of SQLite says of the file: busy, broken, full, or not to be used."""

import errno
import sqlite3
from pathlib import Path

from state.errors import DatabaseBroken, DatabaseBusy, DatabaseFull, DatabaseUnusable


class Damaged(sqlite3.DatabaseError):
    """What a check found wrong."""


def is_of_the_file(error: BaseException) -> bool:
    """Whether it says something of the database; the rest are mistakes in a statement."""
    mistakes = sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError
    return isinstance(error, sqlite3.Error) and not isinstance(error, mistakes)


def translated(error: BaseException, path: Path) -> DatabaseBusy | DatabaseUnusable:
    """As an error that names the file."""
    text = str(error)
    # The low byte of an extended code is its class; busy is never taken for broken.
    match (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return DatabaseBusy(path)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return DatabaseBroken(path, text)
        case sqlite3.SQLITE_FULL:
            return DatabaseFull(path)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DatabaseFull(path)
    if isinstance(error, Damaged):
        return DatabaseBroken(path, text)
    if isinstance(error, OSError):
        text = error.strerror or text
    return DatabaseUnusable(path, text)
