"""What of the machine, and not of the work, kept a job from its end; pure.

Such a job lost nothing and is tried again soon: it uses no attempt, however long the outage is.
"""

import errno

from state.errors import DatabaseBusy, DatabaseFull, HomeUnusable, JournalUnusable

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_CLOSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# The disk or its connection fails, or the machine has no room for one open file more.
_FAILING = frozenset(
    {
        errno.EIO,
        errno.EBUSY,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENODEV,
        errno.ENXIO,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)


def outage_reason(error: BaseException) -> str | None:
    """The reason as it stands with the job; None where the work itself is at fault."""
    match error:
        case DatabaseFull() | JournalUnusable():
            return "disk_full"
        case DatabaseBusy():
            return "database_busy"
        case OSError() if error.errno in _FULL:
            return "disk_full"
        case OSError() if error.errno in _CLOSED:
            return "not_writable"
        case OSError() if error.errno in _FAILING:
            return "disk_error"
        case HomeUnusable() if isinstance(error.__cause__, OSError):
            return outage_reason(error.__cause__)
        case _:
            return None
