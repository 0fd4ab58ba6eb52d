"""The id types of what lasts, and how they are made.

Thread, turn and item ids are UUIDs of version 7, as clients of the field expect: their first
48 bits are the Unix time in milliseconds, so they sort by the time of their making.
"""

import os
import uuid
from typing import NewType

ThreadId = NewType("ThreadId", str)
TurnId = NewType("TurnId", str)
ItemId = NewType("ItemId", str)


def uuid7(now_ms: int) -> str:
    """A fresh UUID of version 7 (RFC 9562) for that Unix time in milliseconds."""
    random = int.from_bytes(os.urandom(10), "big")
    value = (now_ms & (2**48 - 1)) << 80
    value |= 0x7 << 76
    value |= (random >> 68) << 64
    value |= 0b10 << 62
    value |= random & (2**62 - 1)
    return str(uuid.UUID(int=value))


def uuid7_time_ms(text: str) -> int | None:
    """The Unix time in milliseconds inside a version-7 UUID; None for anything else."""
    try:
        value = uuid.UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None


def derived_uuid(thread_id: ThreadId, line_number: int, kind: str) -> str:
    """The stable id of a turn or item that its file gave none: uuid5 of thread, kind and line."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"{kind}:{line_number}"))
