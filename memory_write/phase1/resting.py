"""Threads that rest and may be learned from, found without looking through all of them each time.

Invariant: what a look gives is what a look at every thread would give. As long as nothing was
written, only threads that came to rest since the look before can be new, and the index has those
side by side; after any change, every thread inside the window is looked at. Those that a wrong
clock dated far ahead are few, and are found by each look.
"""

from collections.abc import Set
from dataclasses import dataclass

from memory_write.limits import Phase1Limits
from state.database import Reading
from state.ids import ThreadId
from state.recovery import State
from state.stores.threads import ThreadRow

_DAY_MS, _HOUR_MS = 86_400_000, 3_600_000


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look was like."""

    changes: int
    exclude: Set[ThreadId]
    until_ms: int
    found: tuple[ThreadRow, ...]


class RestingThreads:
    """The looks of one memory version."""

    def __init__(self, state: State, limits: Phase1Limits, version: str) -> None:
        self._state = state
        self._limits = limits
        self._version = version
        self._before: _Look | None = None

    async def look(
        self, read: Reading, *, changes: int, now_ms: int, exclude: Set[ThreadId]
    ) -> list[ThreadRow]:
        """Those that rest now, the newest first, at most `scan_max`.

        `changes` is what the database counted before the snapshot of `read` was taken.
        Raises: DatabaseBusy, DatabaseUnusable.
        """
        limits, before = self._limits, self._before
        from_ms = now_ms - max(limits.age_days_max, 0) * _DAY_MS
        idle_ms = max(limits.idle_hours_min, 0) * _HOUR_MS
        until_ms, ahead_ms = now_ms - idle_ms, now_ms + idle_ms
        known: list[ThreadRow] = []
        begin_ms = from_ms
        if before is not None and (before.changes, before.exclude) == (changes, exclude):
            if before.until_ms <= until_ms:
                begin_ms = max(from_ms, before.until_ms + 1)
                known = [row for row in before.found if from_ms <= row.updated_at_ms <= until_ms]
        new = await self._state.threads.idle_candidates(
            read,
            from_ms=begin_ms,
            until_ms=until_ms,
            ahead_ms=ahead_ms,
            scan_max=limits.scan_max,
            exclude=exclude,
            due_for=self._version,
        )
        met = {row.thread_id for row in new}
        found = [*new, *(row for row in known if row.thread_id not in met)][: limits.scan_max]
        self._before = _Look(changes, frozenset(exclude), until_ms, tuple(found))
        return found
