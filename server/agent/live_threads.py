"""The loaded threads of this server: start, resume, find, unload.

Invariant: a thread is loaded at most once, also when two clients resume it at the same moment; a
thread that is loaded is written by its own task alone.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from server.agent.conversation import NOT_LOADED, Conversation
from server.agent.errors import (
    ThreadBusy,
    ThreadClosing,
    ThreadNotLoaded,
    TurnInProgress,
)
from server.agent.events import StatusChanged, ThreadClosed, ThreadEvent, Warned
from server.agent.forking import bases_of, make_fork, stored_history
from server.agent.inputs import (
    Bar,
    ForkOptions,
    Nudge,
    SettingsChange,
    StartOptions,
    ThreadSettings,
    nothing_is_barred,
)
from server.agent.limits import AgentSettings, ModelLimits
from server.agent.live_thread import LiveThread
from server.agent.loading import SettingsMaker, over_recorded, replay
from server.agent.memory import MemoryReader
from server.agent.providers import Providers
from server.agent.recorder import Recorder, to_the_end
from server.agent.surroundings import Surroundings
from server.agent.thread_settings import wants_memory
from server.agent.tool_parts import ToolParts
from state.clock import Clock
from state.errors import RolloutMissing
from state.ids import ThreadId, uuid7
from state.recovery import State
from state.rollouts.prefix import make_whole
from state.rollouts.store import rollout_path
from state.stores.threads import ThreadRow


class LiveThreads:
    """Every loaded thread; used on the event loop only."""

    def __init__(
        self,
        state: State,
        providers: Providers,
        settings: AgentSettings,
        *,
        events: Callable[[ThreadEvent], None],
        nudge: Nudge,
        memory: MemoryReader,
        clock: Clock,
        model_limits: ModelLimits = ModelLimits(),
        bar: Bar = nothing_is_barred,
        tools: ToolParts | None = None,
    ) -> None:
        self._state = state
        self._making = SettingsMaker(providers, settings)
        self._events = events
        self._providers = providers
        self._around = Surroundings(
            providers=providers,
            memory=memory,
            settings=settings,
            model_limits=model_limits,
            clock=clock,
            nudge=nudge,
            bar=bar,
            tools=tools or ToolParts(),
        )
        self._clock = clock
        self._threads: dict[ThreadId, LiveThread] = {}
        self._loading: dict[ThreadId, asyncio.Future[None]] = {}
        self._closing: set[ThreadId] = set()
        self._closed = False
        self._lineage = asyncio.Lock()
        """Held while forks are made or made whole, so that none loses what it stands on."""

    async def start(self, options: StartOptions) -> LiveThread:
        """A new thread; nothing of it is stored before its first turn.

        Raises: UnknownProvider.
        """
        now_ms = self._clock.now_ms()
        thread_id = ThreadId(uuid7(now_ms))
        memory_use = options.memory_use and wants_memory(options.change)
        settings = self._making.of_new(options.cwd, options.change, memory_use=options.memory_use)
        path = rollout_path(self._state.home, thread_id, now_ms)
        draft = ThreadRow(
            thread_id=thread_id,
            rollout_path=str(path.relative_to(self._state.home.root)),
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            cwd=settings.cwd,
            preview="",
            name=None,
            source=json.dumps(options.source),
            thread_source=options.thread_source,
            model_provider=settings.provider,
            model=settings.model,
            cli_version=self._making.defaults.cli_version,
            originator=options.originator,
            history_mode="paginated",
            memory_mode=options.memory_mode,
            archived=False,
            git_branch=None,
            git_sha=None,
            git_origin_url=None,
            forked_from_id=None,
            imported_from=None,
            imported_digest=None,
            imported_at_ms=None,
            use_memories=memory_use,
        )
        conversation = Conversation(
            thread_id, settings, ephemeral=options.ephemeral, tell=self._events
        )
        return self._loaded(conversation, draft, stored=False)

    async def resume(self, thread_id: ThreadId, change: SettingsChange | None = None) -> LiveThread:
        """The thread, loaded from what is stored unless it is loaded already.

        Overrides count only when it was not loaded.

        Raises: RolloutMissing, RolloutUnreadable, ThreadClosing, OSError, DatabaseBusy.
        """
        while True:
            if thread_id in self._closing:
                raise ThreadClosing(thread_id)
            if (live := self._threads.get(thread_id)) is not None:
                return live
            loading = self._loading.get(thread_id)
            if loading is None:
                break
            # Another client loads it; how that ends is seen by looking again.
            await asyncio.wait((loading,))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loading[thread_id] = done
        try:
            return await self._load(thread_id, change or SettingsChange())
        finally:
            del self._loading[thread_id]
            done.set_result(None)

    async def fork(self, source: ThreadRow, options: ForkOptions) -> LiveThread:
        """A new thread that goes on from a place in a stored one.

        Raises: TurnInProgress, TurnMissing, RolloutMissing, RolloutUnreadable, UnknownProvider,
        OSError, DatabaseUnusable.
        """
        async with self._lineage:
            live = self._threads.get(source.thread_id)
            through = options.cut.through
            if live is not None and through is not None and live.unfinished(through):
                raise TurnInProgress(through)
            settings = await self._fork_settings(source, live, options.change)
            forked = await make_fork(
                self._state,
                source,
                settings,
                options,
                cli_version=self._making.defaults.cli_version,
            )
            conversation = Conversation(
                forked.row.thread_id, settings, ephemeral=options.ephemeral, tell=self._events
            )
            await asyncio.to_thread(replay, conversation, forked.history, forked.row)
            return self._loaded(conversation, forked.row, stored=not options.ephemeral)

    async def _fork_settings(
        self, source: ThreadRow, live: LiveThread | None, change: SettingsChange
    ) -> ThreadSettings:
        if live is not None:
            conversation = Conversation(
                source.thread_id, live.settings, ephemeral=True, tell=lambda _: None
            )
            conversation.change(change)
            provider = self._providers.get(conversation.settings.provider)
            if change.provider not in (None, live.settings.provider) and change.model is None:
                return replace(conversation.settings, model=provider.default_model)
            return conversation.settings
        try:
            history = await stored_history(self._state, source)
        except FileNotFoundError as error:
            raise RolloutMissing(source.thread_id) from error
        return self._making.of_stored(source, over_recorded(change, history, source))[0]

    @asynccontextmanager
    async def parted(self, thread_id: ThreadId) -> AsyncIterator[None]:
        """Make whole every fork that stands on this thread's file; no other is made meanwhile.

        Raises: OSError, RolloutUnreadable, DatabaseUnusable; then the thread must stay.
        """
        async with self._lineage:
            async with self._state.database.reading() as read:
                forks = await self._state.lineage.forks_on(read, thread_id)
            for fork in forks:
                await self._make_whole(fork)
            yield

    async def _make_whole(self, fork: ThreadRow) -> None:
        bases = await bases_of(self._state, fork.thread_id)
        path = self._state.home.root / fork.rollout_path
        work = partial(make_whole, path, find_base=bases.get)
        while (loading := self._loading.get(fork.thread_id)) is not None:
            await asyncio.wait((loading,))
        live = self._threads.get(fork.thread_id)
        if live is not None:
            await live.rewrite(work)
        else:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._loading[fork.thread_id] = done
            try:
                await to_the_end(work)
            finally:
                del self._loading[fork.thread_id]
                done.set_result(None)
        async with self._state.database.writing() as tx:
            await self._state.lineage.set_base(tx, fork.thread_id, None)

    @asynccontextmanager
    async def apart(self, thread_id: ThreadId) -> AsyncIterator[None]:
        """Let go of the thread, and let nobody load it inside the block.

        Raises: ThreadClosing.
        """
        while (loading := self._loading.get(thread_id)) is not None:
            await asyncio.wait((loading,))
        if thread_id in self._closing:
            raise ThreadClosing(thread_id)
        await self.unload(thread_id, quietly=True)
        self._closing.add(thread_id)
        try:
            yield
        finally:
            self._closing.discard(thread_id)

    async def reload(self, thread_id: ThreadId, work: Callable[[], object]) -> LiveThread:
        """Let this change the file of an idle thread, and go on with what it holds then.

        Raises: ThreadNotLoaded, ThreadClosing, ThreadBusy, OSError, RolloutUnreadable.
        """
        live = self.require(thread_id)
        if live.busy:
            raise ThreadBusy(thread_id)
        self._closing.add(thread_id)
        try:
            await live.close(drain_s=0)
            try:
                await to_the_end(work)
            finally:
                row = live.draft
                history = await stored_history(self._state, row)
                conversation = Conversation(
                    thread_id, live.settings, ephemeral=False, tell=self._events
                )
                await asyncio.to_thread(replay, conversation, history, row)
                fresh = self._loaded(conversation, row, stored=True)
        finally:
            self._closing.discard(thread_id)
        return fresh

    def use(self, defaults: AgentSettings) -> None:
        """What new threads begin with from now on; bounds stay those of the start."""
        self._making.defaults = defaults

    def get(self, thread_id: str) -> LiveThread | None:
        """The thread if it is loaded."""
        return self._threads.get(ThreadId(thread_id))

    def require(self, thread_id: str) -> LiveThread:
        """The loaded thread.

        Raises: ThreadNotLoaded, ThreadClosing.
        """
        if thread_id in self._closing:
            raise ThreadClosing(thread_id)
        live = self.get(thread_id)
        if live is None:
            raise ThreadNotLoaded(thread_id)
        return live

    def loaded(self) -> list[LiveThread]:
        """Every loaded thread, oldest first."""
        return list(self._threads.values())

    def forget_recalled(self, version: str | None = None) -> None:
        """Something was withdrawn: loaded threads are told of memory anew from their next turn."""
        for live in self._threads.values():
            if version in (None, live.settings.memory_version):
                live.memory.forget()

    def busy(self) -> frozenset[ThreadId]:
        """The threads in which a turn runs or waits."""
        return frozenset(one.id for one in self._threads.values() if one.busy)

    async def unload(
        self, thread_id: ThreadId, *, drain_s: float = 0.0, quietly: bool = False
    ) -> bool:
        """Stop its turn and let go of it; false when it was not loaded.

        `quietly` leaves out that it was closed, where something else is told of it.
        """
        live = self._threads.get(thread_id)
        if live is None or thread_id in self._closing:
            return False
        self._closing.add(thread_id)
        try:
            await live.close(drain_s=drain_s)
        finally:
            self._closing.discard(thread_id)
            self._threads.pop(thread_id, None)
        self._events(StatusChanged(thread_id=thread_id, status=NOT_LOADED))
        if not quietly:
            self._events(ThreadClosed(thread_id=thread_id))
        return True

    async def close(self, drain_s: float) -> None:
        """Take nothing new; running turns may end within that time, then they are stopped."""
        self._closed = True
        threads = list(self._threads.values())
        self._closing.update(one.id for one in threads)
        await asyncio.gather(*(one.close(drain_s=drain_s) for one in threads))
        self._threads.clear()

    async def _load(self, thread_id: ThreadId, change: SettingsChange) -> LiveThread:
        async with self._state.database.reading() as read:
            row = await self._state.threads.get(read, thread_id)
        if row is None:
            raise RolloutMissing(thread_id)
        try:
            history = await stored_history(self._state, row)
        except FileNotFoundError as error:
            raise RolloutMissing(thread_id) from error
        settings, told = self._making.of_stored(row, over_recorded(change, history, row))
        conversation = Conversation(thread_id, settings, ephemeral=False, tell=self._events)
        await asyncio.to_thread(replay, conversation, history, row)
        live = self._loaded(conversation, row, stored=True)
        if told is not None:
            self._events(Warned(thread_id=thread_id, message=told))
        return live

    def _loaded(self, conversation: Conversation, draft: ThreadRow, *, stored: bool) -> LiveThread:
        if self._closed:
            raise ThreadClosing(conversation.thread_id)
        recorder = Recorder(self._state, draft, stored=stored, ephemeral=conversation.ephemeral)
        live = LiveThread(conversation, recorder, self._around, self._state)
        self._threads[live.id] = live
        self._providers.warm_soon(conversation.settings.provider)
        return live
