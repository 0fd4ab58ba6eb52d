"""What the kernel of Linux tells of changes in folders: `inotify(7)`, through the C library.

A module of its own in place of a package, since those look for the C library by starting other
programs. Every change is in the queue before the call that made it returns.
"""

import ctypes
import errno
import os
import struct
from dataclasses import dataclass

READ_BYTES = 65_536
_EVENT = struct.Struct("iIII")

IS_FOLDER = 0x4000_0000
_ENDS = 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000
"""The folder itself went, its file system did, events were lost, or the watch ended."""
_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
"""Contents, metadata, closed after writing, moved from and to, made, deleted; of itself too."""
_FOLDERS_ONLY = 0x100_0000
_NO_LINKS = 0x200_0000


@dataclass(frozen=True, slots=True)
class Event:
    """One change of something in a folder that is watched."""

    watch: int
    name: str
    of_folder: bool
    ends: bool
    """Whether this watch does not tell everything any more."""


class Inotify:
    """Watches on folders and what they tell."""

    def __init__(self) -> None:
        """Raises: OSError, where there is no such thing or the user has no more of them."""
        try:
            library = ctypes.CDLL(None, use_errno=True)
            self._add_watch = library.inotify_add_watch
            begin = library.inotify_init1
        except (AttributeError, OSError) as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        self._descriptor = _checked(begin(os.O_CLOEXEC | os.O_NONBLOCK))

    def watch(self, folder: str) -> int:
        """Hear of changes right below a folder, which is no link; the number of the watch.

        Raises: OSError.
        """
        mask = _CHANGES | _FOLDERS_ONLY | _NO_LINKS
        return _checked(self._add_watch(self._descriptor, os.fsencode(folder), mask))

    def events(self) -> list[Event]:
        """What happened since the last call; at once, also when nothing did.

        Raises: OSError.
        """
        found: list[Event] = []
        while True:
            try:
                data = os.read(self._descriptor, READ_BYTES)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
                found.append(Event(watch, name, bool(mask & IS_FOLDER), bool(mask & _ENDS)))

    def close(self) -> None:
        """Watch nothing any more."""
        os.close(self._descriptor)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
