"""A thread took in what nobody typed: it is barred from memory, and what it gave is taken out.

Invariant: when this returns, the thread is barred on the disk, and no read surface shows what it
gave; from the files it is taken out behind that.
"""

from dataclasses import dataclass
from typing import Protocol

from memory_write.ports import Announcement, Announcer
from state.ids import ThreadId
from state.recovery import State
from state.stores.withdrawal import OutsideSource, pollute_thread


class Withdrawing(Protocol):
    """Whoever takes out of published memory what may not stand there; the lanes."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that are written, the one that is read first."""
        ...

    def withdraw_soon(self) -> None:
        """Begin with it; returns at once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Barred:
    """The thread is barred from being learned from."""

    newly: bool
    """Whether it was not barred before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStored:
    """There is no row of that thread yet; whoever stores it first sets its mode there."""


class OutsideContext:
    """Bars threads that took in outside context."""

    def __init__(self, state: State, lanes: Withdrawing, announce: Announcer) -> None:
        self._state = state
        self._lanes = lanes
        self._announce = announce

    async def taken_in(self, thread_id: ThreadId, source: OutsideSource) -> Barred | NotStored:
        """Bar a loaded or stored thread; calling it again does nothing more.

        `change_memory_mode` to enabled lifts it and brings back what the thread gave.
        Raises: DatabaseBusy, DatabaseFull, DatabaseUnusable, JournalUnusable; nothing was changed.
        """
        state = self._state
        async with state.database.glancing() as read:
            row = await state.threads.get(read, thread_id)
        if row is None:
            return NotStored()
        if row.memory_mode == "polluted":
            return Barred(newly=False)
        async with state.database.writing() as tx:
            newly = await pollute_thread(
                tx,
                threads=state.threads,
                jobs=state.jobs,
                outputs=state.outputs,
                thread_id=thread_id,
                now_ms=state.clock.now_ms(),
                source=source,
            )
        self._lanes.withdraw_soon()
        if newly:
            data = {"threadId": thread_id, "kind": source.kind}
            version = self._lanes.versions[0]
            self._announce(Announcement(what="thread/polluted", version=version, data=data))
        return Barred(newly=newly)
