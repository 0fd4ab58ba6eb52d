"""Lets go of threads that nobody listens to and in which nothing happens."""

import asyncio
import logging

from server.agent.errors import AgentError
from server.agent.live_threads import LiveThreads
from server.wire.hub import Hub
from state.clock import Clock
from state.errors import StateError
from state.ids import ThreadId

log = logging.getLogger(__name__)

LOOK_S = 60
"""How often is looked; a thread may stay that much longer."""


class IdleThreads:
    """Unloads threads after a time without listeners and without a turn."""

    def __init__(self, live: LiveThreads, hub: Hub, clock: Clock, *, idle_s: int) -> None:
        self._live = live
        self._hub = hub
        self._clock = clock
        self._idle_s = idle_s
        self._quiet_since_ms: dict[ThreadId, int] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look; without an idle time nothing is ever unloaded."""
        if self._idle_s > 0:
            self._task = asyncio.create_task(self._run(), name="idle threads")

    async def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def look(self) -> None:
        """Note who is quiet, and let go of those that were quiet long enough."""
        now_ms = self._clock.now_ms()
        loaded = self._live.loaded()
        quiet = {live.id for live in loaded if not live.busy and not self._hub.subscribers(live.id)}
        self._quiet_since_ms = {
            thread_id: since for thread_id, since in self._quiet_since_ms.items()
            if thread_id in quiet
        }  # fmt: skip
        for live in loaded:
            # Letting go of the one before took time, in which a client may have come.
            if live.id not in quiet or live.busy or self._hub.subscribers(live.id):
                self._quiet_since_ms.pop(live.id, None)
                continue
            # A turn that came and went between two looks counts as well.
            since = max(self._quiet_since_ms.get(live.id, now_ms), live.draft.updated_at_ms)
            self._quiet_since_ms[live.id] = since
            if now_ms - since >= self._idle_s * 1000:
                del self._quiet_since_ms[live.id]
                await self._let_go(live.id)

    async def _let_go(self, thread_id: ThreadId) -> None:
        try:
            await self._live.unload(thread_id)
        except (AgentError, StateError, OSError) as error:
            # The thread is gone from memory either way; its file is mended when it is next opened.
            log.warning("thread %s was not closed cleanly: %s", thread_id, error)

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(min(LOOK_S, self._idle_s))
            await self.look()
