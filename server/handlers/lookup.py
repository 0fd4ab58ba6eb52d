"""Finds a thread for a handler: loaded, stored, or neither.

A loaded thread is asked itself, since it knows more than its file.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from protocol.errors import WireError, failed, refused
from protocol.messages.threads import Thread
from protocol.messages.turns import Turn
from server.agent.live_thread import LiveThread
from server.agent.live_threads import LiveThreads
from server.handlers.views import draft_thread, stored_thread
from state.home import Home
from state.ids import ThreadId
from state.recovery import State
from state.stores.threads import ThreadRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A thread that is loaded, stored, or both."""

    thread_id: ThreadId
    row: ThreadRow
    """As stored, or as it will be stored at the first turn."""
    live: LiveThread | None

    @property
    def ephemeral(self) -> bool:
        """Whether nothing of it is kept."""
        return self.live is not None and self.live.ephemeral

    @property
    def materialised(self) -> bool:
        """Whether it has a rollout."""
        return self.live is None or self.live.row is not None

    def view(self, home: Home, *, turns: Sequence[Turn] = ()) -> Thread:
        """The thread as clients see it."""
        if self.live is not None:
            return live_view(home, self.live, turns=turns)
        return stored_thread(home, self.row, turns=turns)


class Lookup:
    """Finds threads."""

    def __init__(self, state: State, live: LiveThreads) -> None:
        self._state = state
        self._live = live

    async def find(self, thread_id: ThreadId) -> Found | None:
        """The thread, or None when there is none of that id.

        Raises: DatabaseUnusable.
        """
        live = self._live.get(thread_id)
        if live is not None:
            return Found(thread_id=thread_id, row=live.draft, live=live)
        async with self._state.database.reading() as read:
            row = await self._state.threads.get(read, thread_id)
        return None if row is None else Found(thread_id=thread_id, row=row, live=None)

    async def find_recorded(self, thread_id: ThreadId) -> Found | None:
        """The same for what needs the thread's file: one that a first turn is making is waited for.

        Raises: DatabaseUnusable.
        """
        live = self._live.get(thread_id)
        if live is not None:
            await live.recorded()
        return await self.find(thread_id)


@contextmanager
def telling_disk_faults(what: str) -> Iterator[None]:
    """Say of a fault of the disk what could not be done; the work inside undoes itself.

    Raises: WireError.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise failed(
            f"{what}: {reason}; nothing was changed", {"kind": "diskFault", "retryable": True}
        ) from error


def archived(thread_id: ThreadId) -> WireError:
    """The thread is in the archive, where it cannot go on."""
    return refused(
        f"session {thread_id} is archived. Run `codex unarchive {thread_id}` to unarchive it first."
    )


def live_view(home: Home, live: LiveThread, *, turns: Sequence[Turn] = ()) -> Thread:
    """A loaded thread as clients see it."""
    return draft_thread(
        home,
        live.draft,
        status=live.status,
        settings=live.settings,
        ephemeral=live.ephemeral,
        turns=turns,
    )
