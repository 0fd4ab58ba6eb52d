"""One loaded thread: one task, one inbox, and the only door through which turns come in.

Invariant: admission is one step without an await, so of two simultaneous starts exactly one begins
a turn and the other joins it. The thread lives as long as it is loaded, whoever listens.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.agent.active_turn import ActiveTurn
from server.agent.conversation import ACTIVE, Conversation
from server.agent.errors import ThreadBusy, ThreadClosing
from server.agent.events import SettingsChanged, ThreadStatus
from server.agent.injecting import injected
from server.agent.inputs import (
    NO_WORDS,
    Admitted,
    InterruptOutcome,
    Refused,
    SettingsChange,
    ThreadSettings,
    TurnInput,
    TurnKind,
)
from server.agent.loop import TurnRun
from server.agent.models.base import TokenUse
from server.agent.opening import recorded_settings
from server.agent.prompt import typed_text
from server.agent.recorder import Recorder
from server.agent.saying import HeldInput, Said, said
from server.agent.surroundings import Surroundings
from server.agent.thread_memory import ThreadMemory
from state.ids import ThreadId, TurnId, uuid7
from state.recovery import State
from state.rollouts.items import RecordedTurn
from state.rollouts.lines import Line, input_kept
from state.stores.private_rows import as_shown, set_name
from state.stores.threads import ThreadRow

log = logging.getLogger(__name__)

CLOSE_SECONDS_MAX = 10
QUEUED_TURNS_MAX = 8


class LiveThread:
    """A thread that is loaded; used on the event loop only."""

    def __init__(
        self,
        conversation: Conversation,
        recorder: Recorder,
        surroundings: Surroundings,
        state: State,
    ) -> None:
        self._conversation = conversation
        self._recorder = recorder
        self._around = surroundings
        self._state = state
        self._memory = ThreadMemory(conversation, recorder, state, surroundings.bar)
        conversation.pollute = self._memory.pollute
        self._queued: deque[ActiveTurn] = deque()
        self._running: ActiveTurn | None = None
        self._closing = False
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._live(), name=f"thread {conversation.thread_id}")
        self._task.add_done_callback(self._died)

    @property
    def id(self) -> ThreadId:
        """The thread's id."""
        return self._conversation.thread_id

    @property
    def row(self) -> ThreadRow | None:
        """The stored row; None before the first turn and for an ephemeral thread."""
        return self._recorder.draft if self._recorder.stored else None

    @property
    def draft(self) -> ThreadRow:
        """What the row is or will be."""
        return self._recorder.draft

    @property
    def ephemeral(self) -> bool:
        """Whether nothing of it is kept."""
        return self._conversation.ephemeral

    @property
    def settings(self) -> ThreadSettings:
        """How it works now."""
        return self._conversation.settings

    @property
    def status(self) -> ThreadStatus:
        """What it is doing; a turn that was admitted but not yet told counts as active."""
        told = self._conversation.status
        return ACTIVE if self._active is not None and told.type != "active" else told

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return self._running is not None or bool(self._queued)

    @property
    def active_turn_id(self) -> TurnId | None:
        """The turn that input would join."""
        return self._active.turn_id if self._active else None

    @property
    def token_total(self) -> TokenUse:
        """Tokens of the whole thread."""
        return self._conversation.total

    @property
    def token_last(self) -> TokenUse | None:
        """Tokens of the last model response; None before the first."""
        return self._conversation.last_use

    @property
    def window(self) -> int:
        """The context window that it goes by, in tokens."""
        return self._around.window(self._conversation)

    @property
    def _turns(self) -> list[ActiveTurn]:
        """The turn that runs, and those that wait for it, in order."""
        return [*(() if self._running is None else (self._running,)), *self._queued]

    @property
    def _open_turns(self) -> list[ActiveTurn]:
        """The turns that go on or are still to begin, in order."""
        return [turn for turn in self._turns if turn.open]

    @property
    def _active(self) -> ActiveTurn | None:
        """The turn that goes on, or else begins next."""
        return next(iter(self._open_turns), None)

    @property
    def _joinable(self) -> ActiveTurn | None:
        """The turn that input joins."""
        return next((turn for turn in reversed(self._open_turns) if turn.accepting), None)

    def history(self) -> list[RecordedTurn]:
        """Its turns in order, the running one as it stands."""
        turns = self._conversation.turns.all()
        if self._running is not None and not self._running.ended.is_set():
            turns.append(self._running.snapshot())
        return turns

    async def admit(self, given: TurnInput, *, require_idle: bool = False) -> Admitted | Refused:
        """Start a turn with this input, or let it join the running one."""
        return self.admit_now(given, require_idle=require_idle)

    def admit_now(self, given: TurnInput, *, require_idle: bool) -> Admitted | Refused:
        """The one step of admission; everything is decided before it returns.

        A turn that takes nothing more, since only its end is to be written, does not make a thread
        busy: a client that was told so by `steer` may start the next one.
        """
        if self._closing:
            return Refused(reason="closing")
        if require_idle and (active := self._active) is not None:
            return Refused(reason="busy", active_turn_id=active.turn_id)
        joinable = self._joinable
        if joinable is not None:
            return self._join(joinable, given)
        return self._queue(given, "user")

    def ordered(self, kind: TurnKind, given: TurnInput = NO_WORDS) -> Admitted | Refused:
        """A turn of its own, after what runs now: a summary of the history, or a review."""
        if self._closing:
            return Refused(reason="closing")
        return self._queue(given, kind)

    def _queue(self, given: TurnInput, kind: TurnKind) -> Admitted | Refused:
        if len(self._queued) >= QUEUED_TURNS_MAX:
            return Refused(reason="full")
        turn_id = TurnId(uuid7(self._around.clock.now_ms()))
        turn = ActiveTurn(turn_id, self._held(turn_id, given), kind=kind)
        self._queued.append(turn)
        self._woken.set()

        async def kept() -> None:
            if turn.first.waits and await turn.first.noted():
                return
            await turn.recorded.wait()
            if turn.started_at_ms is None:
                raise ThreadClosing(self.id)

        return Admitted(turn_id=turn_id, started=True, begin=turn.begin, kept=kept)

    def _held(self, turn_id: TurnId, given: TurnInput) -> HeldInput:
        """The input, noted in the file if a turn goes on; a command is recorded when it has run."""
        ahead = next(iter(self._turns), None)
        if ahead is None or given.command is not None:
            return HeldInput(given)

        async def note() -> Said | None:
            await ahead.recorded.wait()  # there may be no file before that
            words = await said(given, turn_id, self._around.clock)
            if words is not None:
                lines = self._recorder.user_lines(words, typed_text(given))
                await self._recorder.record([input_kept(turn_id, lines)])
            return words

        return HeldInput(given, note)

    def steer(self, given: TurnInput, *, expected_turn_id: str) -> Admitted | Refused:
        """Let this input join the turn of that id, and no other."""
        active = self._turn_of(expected_turn_id)
        if active is None:
            return Refused(reason="no active turn")
        if active.turn_id != expected_turn_id:
            return Refused(reason="other turn", active_turn_id=active.turn_id)
        if not active.accepting:
            kind, turn_id = active.kind, active.turn_id
            return Refused(reason="not steerable", active_turn_id=turn_id, turn_kind=kind)
        return self._join(active, given)

    def _turn_of(self, turn_id: str) -> ActiveTurn | None:
        """The open turn of that id; else the one that goes on."""
        named = (turn for turn in self._open_turns if turn.turn_id == turn_id)
        return next(named, self._active)

    def _join(self, active: ActiveTurn, given: TurnInput) -> Admitted | Refused:
        if len(active.inbox) >= self._around.settings.limits.inbox_items_max:
            return Refused(reason="full", active_turn_id=active.turn_id)
        held = self._held(active.turn_id, given)
        active.inbox.append(held)
        if given.command is None:  # a command of the user does not cut what the model says
            active.interrupts.steer()
        return Admitted(turn_id=active.turn_id, started=False, begin=_nothing, kept=held.kept)

    def interrupt(self, turn_id: str) -> InterruptOutcome:
        """Stop the turn of that id; its end is told by events, after this returned."""
        outcome = self.interruptible(turn_id)
        active = self._turn_of(turn_id)
        if outcome.accepted and active is not None:
            active.interrupts.request("interrupted")
        return outcome

    def interruptible(self, turn_id: str) -> InterruptOutcome:
        """Whether `interrupt` would stop that turn; changes nothing."""
        active = self._turn_of(turn_id)
        if active is None:
            return InterruptOutcome(accepted=False, reason="no active turn")
        if active.turn_id != turn_id:
            return InterruptOutcome(
                accepted=False, reason="other turn", active_turn_id=active.turn_id
            )
        return InterruptOutcome(accepted=True, active_turn_id=active.turn_id)

    def unfinished(self, turn_id: str) -> bool:
        """Whether the turn runs or waits."""
        return any(turn.turn_id == turn_id and not turn.ended.is_set() for turn in self._turns)

    async def note(self, changes: Mapping[str, Any]) -> ThreadRow:
        """Change what its row says, now or with its first turn; the row as it is then.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self._recorder.stored:
            async with self._state.database.writing() as tx:
                # The draft of this moment: another change may have been stored while this waited.
                await self._state.threads.put(tx, replace(self._recorder.draft, **changes))
        self._recorder.draft = replace(self._recorder.draft, **changes)
        return self._recorder.draft

    async def update_settings(self, change: SettingsChange) -> bool:
        """Work under other settings from the next turn on, also after a resume.

        Returns whether they differ from those before: then `tell_settings` is due.
        Raises: OSError, StateError.
        """
        if not self._conversation.change(change):
            return False
        await self._record(
            [{"type": "turn_context", "payload": recorded_settings(self._conversation.settings)}]
        )
        return True

    def tell_settings(self) -> None:
        """Tell whoever listens what it works under now."""
        self._conversation.tell(SettingsChanged(thread_id=self.id))

    async def inject(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Add items to what the model sees, between two turns.

        Raises: ThreadBusy, OSError, StateError.
        """
        if self.busy:
            # Between a call and its output nothing else may stand.
            raise ThreadBusy(self.id)
        await injected(self._conversation, self._recorder, items, clock=self._around.clock)

    async def _record(self, lines: Sequence[Line]) -> None:
        """Write lines between turns; of a thread without a file, with its first turn."""
        if not self._recorder.stored:
            for line in lines:
                self._recorder.hold(line)
            return
        await self._recorder.reopen()
        await self._recorder.record(lines)

    async def rewrite(self, work: Callable[[], object]) -> None:
        """Let this replace the thread's file between two writes.

        Raises: OSError, RolloutUnreadable.
        """
        await self._recorder.rewrite(work)

    async def rename(self, name: str | None) -> None:
        """Give the thread a name, stored now or with its first turn; a private one gets none.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self._recorder.stored:
            async with self._state.database.writing() as tx:
                await set_name(tx, self._state.threads, self.id, name)
        self._recorder.draft = as_shown(replace(self._recorder.draft, name=name))

    @property
    def memory(self) -> ThreadMemory:
        """How it meets memory: its mode, its use, pollution, the report."""
        return self._memory

    async def recorded(self) -> None:
        """Wait until a turn that was admitted is in the thread's file, if it is still to have one.

        Bounded: after `recorded_wait_s` the caller sees the thread as it is then.
        """
        turn = next(iter(self._turns), None)
        if turn is None or self._recorder.stored or self.ephemeral:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._around.settings.limits.recorded_wait_s):
                await turn.recorded.wait()

    async def wait_idle(self) -> None:
        """Wait until no turn runs or waits."""
        while (turn := next(iter(self._turns), None)) is not None:
            await turn.ended.wait()
            await asyncio.sleep(0)

    async def close(self, *, drain_s: float) -> None:
        """Take nothing new, let what runs end within that time, then stop it."""
        self._closing = True
        for turn in self._open_turns:
            turn.begin()
        try:
            async with asyncio.timeout(drain_s):
                await self.wait_idle()
        except TimeoutError:
            await self._stop_turns()
        self._task.cancel()
        await asyncio.wait((self._task,))
        await self._around.tools.release(self.id)
        await self._recorder.close()

    async def _stop_turns(self) -> None:
        for turn in reversed(self._turns):
            turn.interrupts.request("interrupted")
        try:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self.wait_idle()
        except TimeoutError:
            # A turn that does not let itself be stopped is cut off with its task.
            return

    async def _live(self) -> None:
        while True:
            while not self._queued:
                self._woken.clear()
                await self._woken.wait()
            self._running = self._queued.popleft()
            await TurnRun(self._conversation, self._running, self._recorder, self._around).run()
            self._running = None

    def _died(self, task: "asyncio.Task[None]") -> None:
        """Whatever ended the task: nothing is admitted that nobody would run."""
        self._closing = True
        for turn in self._turns:
            turn.recorded.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("thread %s stopped working", self.id, exc_info=error)


def _nothing() -> None:
    """A joined turn has begun already."""
