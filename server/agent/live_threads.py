"""The loaded threads of this server: start, resume, find, unload.

Invariant: a thread is loaded at most once, also when two clients resume it at the same moment; a
thread that is loaded is written by its own task alone.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from server.agent.conversation import NOT_LOADED, Conversation
from server.agent.errors import ThreadClosing, ThreadNotLoaded, UnknownProvider
from server.agent.events import StatusChanged, ThreadClosed, ThreadEvent, Warned
from server.agent.inputs import Nudge, SettingsChange, StartOptions, ThreadSettings
from server.agent.limits import AgentSettings, ModelLimits
from server.agent.live_thread import LiveThread
from server.agent.loop import Surroundings
from server.agent.memory import MemoryReader
from server.agent.models.base import TokenUse
from server.agent.providers import Providers
from server.agent.recorder import Recorder
from state.clock import Clock
from state.errors import RolloutMissing
from state.ids import ThreadId, uuid7
from state.recovery import State
from state.rollouts.history import History, read_history
from state.rollouts.store import rollout_path
from state.stores.threads import ThreadRow

T = TypeVar("T")


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
    ) -> None:
        self._state = state
        self._settings = settings
        self._events = events
        self._providers = providers
        self._around = Surroundings(
            providers=providers,
            memory=memory,
            settings=settings,
            model_limits=model_limits,
            clock=clock,
            nudge=nudge,
        )
        self._clock = clock
        self._threads: dict[ThreadId, LiveThread] = {}
        self._loading: dict[ThreadId, asyncio.Future[None]] = {}
        self._closing: set[ThreadId] = set()
        self._closed = False

    async def start(self, options: StartOptions) -> LiveThread:
        """A new thread; nothing of it is stored before its first turn.

        Raises: UnknownProvider.
        """
        now_ms = self._clock.now_ms()
        thread_id = ThreadId(uuid7(now_ms))
        settings = self._thread_settings(options.cwd, options.change)
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
            cli_version=self._settings.cli_version,
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
            use_memories=settings.use_memories,
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

    def busy(self) -> frozenset[ThreadId]:
        """The threads in which a turn runs or waits."""
        return frozenset(one.id for one in self._threads.values() if one.busy)

    async def unload(self, thread_id: ThreadId, *, drain_s: float = 0.0) -> bool:
        """Stop its turn and let go of it; false when it was not loaded."""
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
        path = self._state.home.root / row.rollout_path
        try:
            history = await asyncio.to_thread(read_history, path)
        except FileNotFoundError as error:
            raise RolloutMissing(thread_id) from error
        settings, told = self._stored_settings(row, _over_recorded(change, history, row))
        conversation = Conversation(thread_id, settings, ephemeral=False, tell=self._events)
        _replay(conversation, history, row)
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

    def _thread_settings(self, cwd: str, change: SettingsChange) -> ThreadSettings:
        defaults = self._settings
        name = change.provider or defaults.provider
        provider = self._providers.get(name)
        model = change.model or (defaults.model if name == defaults.provider else None)
        use = defaults.memory_enabled and _given(change.use_memories, defaults.use_memories)
        return ThreadSettings(
            provider=name,
            model=model or provider.default_model,
            cwd=change.cwd or cwd,
            effort=change.effort or defaults.effort,
            summary=change.summary,
            approval_policy=_given(change.approval_policy, defaults.approval_policy),
            sandbox_policy=_given(change.sandbox_policy, defaults.sandbox_policy),
            use_memories=use,
            dedicated_tools=_given(change.dedicated_tools, defaults.dedicated_tools),
            memory_version=change.memory_version or defaults.memory_version,
            instructions=change.instructions,
            developer_instructions=change.developer_instructions,
        )

    def _stored_settings(
        self, row: ThreadRow, change: SettingsChange
    ) -> tuple[ThreadSettings, str | None]:
        """The settings of a stored thread; a provider that is gone gives way to the default."""
        wanted = change.provider or row.model_provider
        told = None
        try:
            self._providers.get(wanted)
        except UnknownProvider:
            told = (
                f"model provider `{wanted}` is not configured here; "
                f"`{self._settings.provider}` is used for this thread"
            )
            wanted = self._settings.provider
        known = wanted == row.model_provider
        merged = replace(
            change,
            provider=wanted,
            model=change.model or (row.model if known else None),
            use_memories=_given(change.use_memories, row.use_memories),
        )
        return self._thread_settings(row.cwd, merged), told


def _given(value: T | None, default: T) -> T:
    return default if value is None else value


def _replay(conversation: Conversation, history: History, row: ThreadRow) -> None:
    for item in history.response_items:
        conversation.remember(item)
    conversation.turns = list(history.turns)
    conversation.context_recorded = bool(conversation.sent)
    # An imported thread may name a folder of another machine; its context is in the history.
    if conversation.context_recorded:
        conversation.told_cwd = str((history.context or {}).get("cwd") or row.cwd)
    if history.token_usage is not None:
        conversation.total = _use(history.token_usage.get("total_token_usage"))
        conversation.last_use = _use(history.token_usage.get("last_token_usage"))


_POLICY_TYPES = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}


def _over_recorded(change: SettingsChange, history: History, row: ThreadRow) -> SettingsChange:
    """The overrides, over what the thread's last turn ran under.

    Not for an imported thread: what another program allowed is no permission here.
    """
    context = history.context or {}
    if row.imported_from is not None or not context:
        return change
    policy = context.get("sandbox_policy")
    name = _POLICY_TYPES.get(str(policy.get("type"))) if isinstance(policy, dict) else None
    instructions = (history.meta.base_instructions or {}).get("text")
    return replace(
        change,
        cwd=change.cwd or context.get("cwd"),
        effort=change.effort or context.get("effort"),
        approval_policy=_given(change.approval_policy, context.get("approval_policy")),
        sandbox_policy=_given(change.sandbox_policy, {"type": name} if name else None),
        instructions=change.instructions or instructions,
    )


def _use(counts: object) -> TokenUse:
    fields: Iterable[str] = TokenUse.__dataclass_fields__
    given = counts if isinstance(counts, dict) else {}
    return TokenUse(**{name: given[name] for name in fields if isinstance(given.get(name), int)})
