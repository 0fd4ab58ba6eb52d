"""What memory may do with one loaded thread: learn from it, be seen by it, be barred by it.

Invariant: a switch that was set is stored before the call returns, or with the thread's first turn;
an ephemeral thread is in no database, so it can neither be learned from nor counted.
"""

import logging
from dataclasses import replace

from server.agent.conversation import Conversation
from server.agent.inputs import Bar
from server.agent.memory_told import MemoryReport
from server.agent.recorder import Recorder
from server.agent.thread_settings import with_use
from state.errors import StateError
from state.recovery import State
from state.stores.private_rows import as_shown, set_use
from state.stores.threads import MemoryMode
from state.stores.withdrawal import OutsideKind, OutsideSource, change_memory_mode

log = logging.getLogger(__name__)


class ThreadMemory:
    """The switches of one loaded thread; used on the event loop only."""

    def __init__(
        self, conversation: Conversation, recorder: Recorder, state: State, bar: Bar
    ) -> None:
        self._conversation = conversation
        self._recorder = recorder
        self._state = state
        self._bar = bar

    @property
    def report(self) -> MemoryReport | None:
        """What the thread was told last; None before its first turn since it was loaded."""
        told = self._conversation.memory
        return None if told is None else told.report

    @property
    def instruction_sources(self) -> tuple[str, ...]:
        """The instruction files that its context holds."""
        return self._conversation.instruction_sources

    async def set_mode(self, mode: MemoryMode) -> None:
        """Say whether it is learned from.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self._recorder.stored:
            async with self._state.database.writing() as tx:
                await change_memory_mode(
                    tx,
                    threads=self._state.threads,
                    jobs=self._state.jobs,
                    outputs=self._state.outputs,
                    thread_id=self._conversation.thread_id,
                    mode=mode,
                    now_ms=self._state.clock.now_ms(),
                )
        self._recorder.draft = as_shown(replace(self._recorder.draft, memory_mode=mode))

    async def set_use(self, use: bool) -> None:
        """Say whether it sees memory; what it was told of it leaves the next request.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self._recorder.stored:
            async with self._state.database.writing() as tx:
                await set_use(tx, self._state.threads, self._conversation.thread_id, use)
        self._recorder.draft = as_shown(replace(self._recorder.draft, use_memories=use))
        self._conversation.settings = with_use(self._conversation.settings, use)
        self._conversation.forget_recalled()

    def forget(self) -> None:
        """Something was withdrawn from memory; the next turn is told of what stands then."""
        self._conversation.forget_recalled()

    async def pollute(self, kind: OutsideKind, name: str) -> bool:
        """Outside context is about to come in: bar the thread from being learned from.

        Does nothing where the settings do not ask for it. False when it could not be done: who
        calls a tool then should not call it; what a model brought in is there already.
        """
        draft = self._recorder.draft
        if not self._conversation.settings.pollutable or draft.memory_mode == "polluted":
            return True
        self._recorder.draft = as_shown(replace(draft, memory_mode="polluted"))
        if not self._recorder.stored:
            return True
        thread_id = self._conversation.thread_id
        try:
            await self._bar(thread_id, OutsideSource(kind, name))
        except StateError as error:
            now = replace(
                self._recorder.draft,
                memory_mode=draft.memory_mode,
                preview=draft.preview,
                name=draft.name,
            )
            self._recorder.draft = now
            log.error("thread %s takes in outside context and is not barred: %s", thread_id, error)
            return False
        return True
