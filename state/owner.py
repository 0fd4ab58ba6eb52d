"""The lock of the one process that owns a home.

The lock is the kernel's, on an open file, so it falls with its holder however that one ends. The
file itself stays where it is: removing it would let two processes lock two files of one name.
"""

import fcntl
import os

from state.errors import HomeUnusable
from state.home import FILE_MODE, Home, make_private_folder

_BYTES_MAX = 4_096


class OwnerLock:
    """Held by the owner from before it opens anything until all it opened is closed."""

    def __init__(self, home: Home) -> None:
        self._path = home.owner_lock
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def try_acquire(self) -> bool:
        """Take the lock if it is free; never waits.

        Raises: HomeUnusable.
        """
        if self._descriptor is not None:
            return True
        make_private_folder(self._path.parent)
        try:
            descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE
            )
        except OSError as error:
            raise HomeUnusable(self._path, error.strerror or str(error)) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(descriptor, FILE_MODE)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            reason = f"its file system gives no lock ({error.strerror})"
            raise HomeUnusable(self._path, reason) from error
        self._descriptor = descriptor
        return True

    def owner_pid(self) -> int | None:
        """The process that last took the lock; None if there is none or it is not known."""
        try:
            return int(self._lines()[0])
        except (OSError, ValueError, IndexError):
            return None

    def announce(self, address: str) -> None:
        """Say where clients find the owner; for the process that holds the lock, by any object.

        Raises: OSError.
        """
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "ab") as file:
            file.write(f"{address}\n".encode())

    def addresses(self) -> tuple[str, ...]:
        """Where the holder said that it listens."""
        try:
            return tuple(self._lines()[1:])
        except OSError:
            return ()

    def _lines(self) -> list[str]:
        """The process and its addresses, one a line.

        Raises: OSError.
        """
        with self._path.open("rb") as file:
            return file.read(_BYTES_MAX).decode("utf-8", "replace").splitlines()

    def release(self) -> None:
        """Let the next one in; harmless when nothing is held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            os.close(descriptor)
