"""Memory of threads: what one would be told, whether it is learned from, and emptying it all."""

import asyncio
import stat
from pathlib import Path

from memory_read.instructions import raw_summary
from memory_write.phase2.verify import summary_findings
from memory_write.recipes import V2
from protocol import methods
from protocol.base import EmptyResult
from protocol.errors import out_of_range, refused
from protocol.messages.memory import (
    MemoryModeSetParams,
    MemoryReadResult,
    MemoryStatusParams,
    MemoryStatusResult,
    ResetParams,
)
from protocol.messages.threads import ThreadIdParams, ThreadNameUpdated
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup
from server.handlers.services import Services
from server.wire.dispatch import Call
from state.errors import RolloutMissing
from state.home import Home
from state.stores.private_rows import set_use
from state.stores.withdrawal import change_memory_mode
from state.workspace.layout import SUMMARY

THREADS_MIN_DEFAULT = 20
_THREADS_RANGE = range(1, 4097)
_V2_SUMMARY_BYTES_MAX = V2.summary_bytes_max or 0


class MemoryHandlers:
    """Answers the memory methods of the original."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def read(self, call: Call, params: ThreadIdParams) -> MemoryReadResult:
        """The summary file as it is now; null where the thread does not see memory."""
        services = self._services
        live = services.live.require(thread_id_of(params.thread_id))
        if not live.settings.use_memories:
            return MemoryReadResult(summary=None)
        home, version = services.state.home, live.settings.memory_version
        await services.gate.ready(version)
        summary = await asyncio.to_thread(raw_summary, home, version, services.gate)
        return MemoryReadResult(summary=summary)

    async def set_mode(self, call: Call, params: MemoryModeSetParams) -> EmptyResult:
        """Allow or forbid that a thread is learned from, whatever its mode was."""
        state = self._services.state
        thread_id = thread_id_of(params.thread_id)
        found = await self._lookup.find(thread_id)
        if found is None or found.row.archived:
            raise RolloutMissing(thread_id)
        if found.ephemeral:
            raise refused(f"ephemeral thread does not support metadata updates: {thread_id}")
        if found.live is not None:
            await found.live.memory.set_mode(params.mode)
            if params.memory_use is not None:
                await found.live.memory.set_use(params.memory_use)
        else:
            async with state.database.writing() as tx:
                if params.memory_use is not None:
                    await set_use(tx, state.threads, thread_id, params.memory_use)
                await change_memory_mode(
                    tx,
                    threads=state.threads,
                    jobs=state.jobs,
                    outputs=state.outputs,
                    thread_id=thread_id,
                    mode=params.mode,
                    now_ms=state.clock.now_ms(),
                )
        if found.row.name is not None:
            now = await self._lookup.find(thread_id)
            if now is not None and now.row.name is None:  # it is private now
                gone = ThreadNameUpdated(thread_id=thread_id, thread_name=None)
                hub = self._services.hub
                call.after_reply(
                    lambda: hub.publish(methods.THREAD_NAME_UPDATED, gone, thread_id=thread_id)
                )
        lanes = self._services.lanes
        # What has to go is withheld from every reader by now; the files follow behind the reply.
        if lanes.pending_withdrawals:
            lanes.withdraw_soon()
        else:
            lanes.wake()
        self._services.index.nudge()
        return EmptyResult()

    async def status(self, call: Call, params: MemoryStatusParams) -> MemoryStatusResult:
        """Whether version 2 learned from enough threads and has a summary that can be used."""
        wanted = params.min_consolidated_threads
        wanted = THREADS_MIN_DEFAULT if wanted is None else wanted
        if wanted not in _THREADS_RANGE:
            raise out_of_range("minConsolidatedThreads must be between 1 and 4096")
        state = self._services.state
        async with state.database.reading() as read:
            count = await state.outputs.max_consolidated(read, "v2")
        ready = await asyncio.to_thread(_v2_ready, state.home, enough=count >= wanted)
        return MemoryStatusResult(v2_consolidated_threads=count, v2_ready=ready)

    async def reset(self, call: Call, params: ResetParams) -> EmptyResult:
        """Empty memory of every version; threads and their modes stay."""
        await self._services.reset.run(relearn=params.relearn is True)
        self._services.live.forget_recalled()
        if self._services.lanes.pending_withdrawals:
            self._services.lanes.withdraw_soon()
        await self._services.index.settle()
        return EmptyResult()


def _v2_ready(home: Home, *, enough: bool) -> bool:
    """Without a folder of version 1 there is nothing to wait for, as in the original."""
    if not home.memories("v1").exists():
        return True
    return enough and _valid_v2_summary(home.memories("v2") / SUMMARY)


def _valid_v2_summary(path: Path) -> bool:
    try:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > _V2_SUMMARY_BYTES_MAX:
            return False
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return next(summary_findings(text, V2), None) is None
