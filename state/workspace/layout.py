"""The names of files inside a memory folder, and the bytes of those that code writes.

Invariant: the texts made here depend on their arguments alone, so that an unchanged input gives
an unchanged file and no difference to consolidate.
"""

import uuid
from datetime import UTC, datetime

from state.ids import ThreadId, uuid7_time_ms

HANDBOOK = "MEMORY.md"
SUMMARY = "memory_summary.md"
RAW_MEMORIES = "raw_memories.md"
RECAPS = "rollout_summaries"
SKILLS = "skills"
EXTENSIONS = "extensions"
NOTES = "extensions/ad_hoc/notes"
NOTE_INSTRUCTIONS = "extensions/ad_hoc/instructions.md"
RESTORED = "extensions/restored_memory/resources"
"""Memory of another home, or of this one earlier, as the user's own export gave it back."""
DIFF_FILE = "phase2_workspace_diff.md"
GIT = ".git"

SUMMARY_FIRST_LINE = "v1"
SUMMARY_HEADINGS = (
    "## User Profile",
    "## User preferences",
    "## General Tips",
    "## What's in Memory",
)
SLUG_CHARS_MAX = 60

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HASH_LENGTH = 4
# 100-nanosecond steps from 1582-10-15, where the clock of UUID versions 1 and 6 starts, to 1970.
_GREGORIAN_TO_UNIX = 0x01B2_1DD2_1381_4000


def summary_stem(thread_id: ThreadId, source_updated_at_ms: int, slug: str | None) -> str:
    """The name, without `.md`, of a thread's recap: time, four characters of its id, slug."""
    at_ms = _time_of_id_ms(thread_id)
    stamp = _utc(source_updated_at_ms if at_ms is None else at_ms).strftime("%Y-%m-%dT%H-%M-%S")
    stem = f"{stamp}-{_short_hash(thread_id)}"
    cleaned = slug_of(slug or "")
    return f"{stem}-{cleaned}" if cleaned else stem


def slug_of(text: str) -> str:
    """At most 60 characters that are safe in a file name; empty when nothing is left."""
    kept = [
        char.lower() if char.isascii() and char.isalnum() else "_" for char in text[:SLUG_CHARS_MAX]
    ]
    return "".join(kept).rstrip("_")


def rfc3339(at_ms: int) -> str:
    """A time in whole seconds with the offset `+00:00`."""
    return _utc(at_ms).isoformat(timespec="seconds")


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms // 1000, UTC)


def _time_of_id_ms(thread_id: str) -> int | None:
    at_ms = uuid7_time_ms(thread_id)
    if at_ms is not None:
        return at_ms
    try:
        value = uuid.UUID(thread_id)
    except ValueError:
        return None
    if value.version == 1:
        ticks = value.time
    elif value.version == 6:
        ticks = (value.int >> 80) << 12 | ((value.int >> 64) & 0xFFF)
    else:
        return None
    return (ticks - _GREGORIAN_TO_UNIX) // 10_000


def _short_hash(thread_id: str) -> str:
    try:
        seed = uuid.UUID(thread_id).int & 0xFFFF_FFFF
    except ValueError:
        seed = 0
        for byte in thread_id.encode():
            seed = (seed * 31 + byte) & 0xFFFF_FFFF
    seed %= len(_DIGITS) ** _HASH_LENGTH
    digits: list[str] = []
    for _ in range(_HASH_LENGTH):
        seed, digit = divmod(seed, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
