"""Reads a plain file that somebody else named: no link, pipe or device, no more than a bound."""

import os
import stat


class NotPlain(Exception):
    """It is no plain file, or it is too large; the message says which."""


def read_plain(path: str, *, bytes_max: int) -> tuple[bytes, int]:
    """Content and permissions of the file; blocking, but never for ever.

    Raises: NotPlain, OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotPlain("it is no plain file")
        if status.st_size > bytes_max:
            raise NotPlain(f"it is larger than {bytes_max >> 20} MiB")
        parts: list[bytes] = []
        left = bytes_max
        while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts), stat.S_IMODE(status.st_mode)
    finally:
        os.close(descriptor)
