"""The archive and the end of threads: each with all that the thread spawned."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from protocol import methods
from protocol.base import EmptyResult
from protocol.errors import refused
from protocol.messages.lifecycle import ThreadResult
from protocol.messages.threads import ThreadIdNotice, ThreadIdParams
from protocol.methods import NotificationType
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup, telling_disk_faults
from server.handlers.services import Services
from server.handlers.views import stored_thread
from server.wire.dispatch import Call
from state.archiving import move_rollout
from state.errors import RolloutMissing
from state.ids import ThreadId
from state.stores.threads import ThreadRow
from state.stores.withdrawal import delete_thread_memory


class ArchiveHandlers:
    """Answers what takes threads out of sight, brings them back, or ends them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def archive(self, call: Call, params: ThreadIdParams) -> EmptyResult:
        """Shut the thread down and move its file, with those of what it spawned."""
        thread_id = thread_id_of(params.thread_id)
        found = await self._lookup.find_recorded(thread_id)
        unable = found is None or found.ephemeral or not found.materialised
        if found is None or unable or found.row.archived:
            raise RolloutMissing(thread_id)
        rows = [found.row, *await self._spawned(thread_id, archived=False)]
        moved: list[ThreadId] = []
        for row in rows:
            await self._move(row, archived=True)
            moved.append(row.thread_id)
        self._announce(call, methods.THREAD_ARCHIVED, moved)
        return EmptyResult()

    async def unarchive(self, call: Call, params: ThreadIdParams) -> ThreadResult:
        """Move the file back, with those of what the thread spawned."""
        thread_id = thread_id_of(params.thread_id)
        found = await self._lookup.find(thread_id)
        if found is None or not found.row.archived:
            raise refused(f"no archived rollout found for thread id {thread_id}")
        rows = [found.row, *await self._spawned(thread_id, archived=True)]
        moved = [await self._move(row, archived=False) for row in rows]
        self._announce(call, methods.THREAD_UNARCHIVED, [row.thread_id for row in moved])
        return ThreadResult(thread=stored_thread(self._services.state.home, moved[0]))

    async def delete(self, call: Call, params: ThreadIdParams) -> EmptyResult:
        """Delete a thread, what it spawned, their files and what was learned from them."""
        services = self._services
        thread_id = thread_id_of(params.thread_id)
        found = await self._lookup.find(thread_id)
        if found is None:
            raise RolloutMissing(thread_id)
        if found.ephemeral:
            raise refused(f"thread is not persisted and cannot be deleted: {thread_id}")
        rows = [found.row, *await self._spawned(thread_id, archived=None)]
        gone: list[ThreadId] = []
        # What was spawned goes first: after a crash the thread is still there to delete again.
        for row in reversed(rows):
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(services.live.apart(row.thread_id))
                # Its listeners heard how the turn ended; from here on, that it is deleted.
                services.hub.release(row.thread_id)
                with telling_disk_faults(f"thread {row.thread_id} could not be deleted"):
                    await stack.enter_async_context(services.live.parted(row.thread_id))
                    await self._erase(row)
            gone.append(row.thread_id)
        # Before the answer: whoever deletes a thread may count on its facts being gone.
        await services.lanes.withdraw()
        await services.index.settle()
        self._announce(call, methods.THREAD_DELETED, gone[::-1])
        return EmptyResult()

    async def _spawned(self, thread_id: ThreadId, *, archived: bool | None) -> list[ThreadRow]:
        state = self._services.state
        async with state.database.reading() as read:
            rows = await state.lineage.descendants(read, thread_id)
        return [row for row in rows if archived is None or row.archived == archived]

    async def _move(self, row: ThreadRow, *, archived: bool) -> ThreadRow:
        services = self._services
        state = services.state
        async with services.live.apart(row.thread_id):
            # After its turn was stopped: whoever waits for the end of that turn hears of it.
            services.hub.release(row.thread_id)
            with telling_disk_faults(f"thread {row.thread_id} could not be moved"):
                try:
                    return await move_rollout(state.home, state.database, row, archived=archived)
                except FileExistsError as error:
                    raise refused(
                        f"thread {row.thread_id} stays where it is: another file lies at "
                        f"{error.filename}; move that file away and try again"
                    ) from error

    def _announce(
        self, call: Call, notification: NotificationType, threads: Sequence[ThreadId]
    ) -> None:
        def tell() -> None:
            for one in threads:
                notice = ThreadIdNotice(thread_id=one)
                self._services.hub.publish(notification, notice, thread_id=one)

        call.after_reply(tell)

    async def _erase(self, row: ThreadRow) -> None:
        """The file first: a crash in between leaves a row that can be deleted again."""
        state = self._services.state
        await asyncio.to_thread(_remove, state.home.root / row.rollout_path)
        async with state.database.writing() as tx:
            await delete_thread_memory(
                tx,
                jobs=state.jobs,
                outputs=state.outputs,
                thread_id=row.thread_id,
                now_ms=self._services.clock.now_ms(),
            )
            await state.threads.delete(tx, row.thread_id)


def _remove(path: Path) -> None:
    for file in (path, path.with_name(f"{path.name}.zst")):
        file.unlink(missing_ok=True)
