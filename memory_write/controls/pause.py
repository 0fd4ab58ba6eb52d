"""The off switch for a running server: what works ends now, nothing begins until it is lifted.

The switch is written first and read by each pass inside its turn, so no pass slips through between
the two. Forgetting goes on: it asks no model.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from memory_write.ports import Announcement, Announcer
from state.recovery import State
from state.stores.switch import set_paused


class Passes(Protocol):
    """Whoever runs the passes of learning; the lanes."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that are written, the one that is read first."""
        ...

    def alone(self) -> AbstractAsyncContextManager[None]:
        """End the passes that run or wait, and let none begin inside the block."""
        ...

    def wake(self) -> None:
        """Have a pass look soon."""
        ...


class MemoryPause:
    """Pauses learning on a person's order, and lets it go on."""

    def __init__(self, state: State, passes: Passes, announce: Announcer) -> None:
        self._state = state
        self._passes = passes
        self._announce = announce

    async def set(self, *, paused: bool) -> None:
        """Pause or go on; a pause returns when nothing works any more.

        Raises: DatabaseBusy, DatabaseFull, DatabaseUnusable.
        """
        async with self._state.database.writing() as tx:
            changed = await set_paused(tx, paused)
        if paused:
            async with self._passes.alone():
                pass
        else:
            self._passes.wake()
        if changed:
            what = "paused" if paused else "resumed"
            self._announce(Announcement(what=what, version=self._passes.versions[0]))
