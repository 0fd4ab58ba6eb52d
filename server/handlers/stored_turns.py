"""The turns of threads that are looked at without being loaded, read from their files.

A long one is read once for all who ask meanwhile, and kept for a moment, since its pages are asked
for one after the other. Two long ones at most are read at a time: reading takes a thread of the
pool, and the others are needed by everybody else.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server.agent.forking import bases_of
from state.errors import RolloutMissing
from state.recovery import State
from state.rollouts.history import FindRollout, read_turns
from state.rollouts.items import RecordedTurn
from state.stores.threads import ThreadRow

LONG_BYTES = 1 << 20
"""From this size of a file on."""
READ_AT_ONCE_MAX = 2
KEPT_MAX = 2
KEPT_S = 10.0
"""How long one is kept after it was last asked for."""
FREED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Stamp:
    """One state of one file."""

    path: Path
    size: int
    modified_ns: int


@dataclass(slots=True, eq=False)
class _Kept:
    reading: "asyncio.Task[list[RecordedTurn]]"
    waiting: int = 0
    timer: asyncio.TimerHandle | None = None


class StoredTurns:
    """Reads them; holds at most a few long ones."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._kept: dict[_Stamp, _Kept] = {}
        self._readings = asyncio.Semaphore(READ_AT_ONCE_MAX)

    async def of(self, row: ThreadRow) -> Sequence[RecordedTurn]:
        """The turns of a stored thread, in order. Use them before you wait for anything else.

        Raises: RolloutMissing, RolloutUnreadable, OSError, DatabaseUnusable.
        """
        bases = await bases_of(self._state, row.thread_id) if row.history_base_id else {}
        path = self._state.home.root / row.rollout_path
        try:
            found = await asyncio.to_thread(_short_or_stamp, path, bases.get)
            if not isinstance(found, _Stamp):
                return found
            return await self._long(found, bases.get)
        except FileNotFoundError as error:
            raise RolloutMissing(row.thread_id) from error

    async def _long(self, stamp: _Stamp, find_base: FindRollout) -> list[RecordedTurn]:
        kept = self._kept.get(stamp)
        if kept is None:
            reading = asyncio.create_task(self._read(stamp.path, find_base), name="long thread")
            kept = _Kept(reading)
            if len(self._kept) < KEPT_MAX:
                self._kept[stamp] = kept
        kept.waiting += 1
        try:
            # It goes on when one who asked has left: others may wait for the same.
            return await asyncio.shield(kept.reading)
        finally:
            kept.waiting -= 1
            if self._kept.get(stamp) is kept:
                self._drop_later(stamp, kept)

    async def _read(self, path: Path, find_base: FindRollout) -> list[RecordedTurn]:
        async with self._readings:
            return await asyncio.to_thread(read_turns, path, find_base=find_base)

    def _drop_later(self, stamp: _Stamp, kept: _Kept) -> None:
        if kept.timer is not None:
            kept.timer.cancel()
        failed = kept.reading.done() and (
            kept.reading.cancelled() or kept.reading.exception() is not None
        )
        loop = asyncio.get_running_loop()
        kept.timer = loop.call_later(0 if failed else KEPT_S, self._drop, stamp, kept)

    def _drop(self, stamp: _Stamp, kept: _Kept) -> None:
        if kept.waiting or not kept.reading.done():
            self._drop_later(stamp, kept)
            return
        del self._kept[stamp]
        if not kept.reading.cancelled() and kept.reading.exception() is None:
            _free(kept.reading.result())


def _free(turns: list[RecordedTurn]) -> None:
    """Let them go little by little: all at once, everybody would wait for it."""
    del turns[-FREED_AT_ONCE:]
    if turns:
        asyncio.get_running_loop().call_soon(_free, turns)


def _short_or_stamp(path: Path, find_base: FindRollout) -> list[RecordedTurn] | _Stamp:
    status = path.stat()
    if status.st_size < LONG_BYTES:
        return read_turns(path, find_base=find_base)
    return _Stamp(path, status.st_size, status.st_mtime_ns)
