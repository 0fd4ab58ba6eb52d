"""Runs one turn: the model and its tools by the table of `turn.py`.

Invariant: a turn that began ends in exactly one of answered, interrupted and failed, and is told
so once; input that was admitted is recorded, whatever the end. Nothing that is being recorded is
cut short.
"""

import logging
import secrets
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from server.agent import review
from server.agent.acting import Acting
from server.agent.active_turn import ActiveTurn, as_error
from server.agent.answer import Answer, AnswerReader
from server.agent.compaction import OVERFLOW, Compactor
from server.agent.conversation import ACTIVE, IDLE, SYSTEM_ERROR, Conversation
from server.agent.errors import AgentError, ProviderFailed
from server.agent.events import TurnFault
from server.agent.inputs import UserCommand
from server.agent.interrupts import Stopped
from server.agent.models.base import (
    Item,
    ModelEvent,
    ModelRequest,
)
from server.agent.models.fallback import stream_with_fallbacks
from server.agent.models.retry import again_where_cut, stream_with_retries
from server.agent.opening import Opening
from server.agent.pairing import paired
from server.agent.prompt import INSTRUCTIONS
from server.agent.recorder import Recorder
from server.agent.review import entered, exited
from server.agent.surroundings import Surroundings
from server.agent.tools.base import ToolSet
from server.agent.turn import Event
from server.agent.turn_clock import TurnClock
from server.agent.turn_floor import TurnFloor
from server.agent.turn_telling import TurnTelling
from server.agent.user_command import run_user_command
from state.errors import StateError
from state.rollouts.lines import task_complete, turn_aborted

log = logging.getLogger(__name__)


class TurnRun:
    """One turn of one thread; run by the thread's one task."""

    def __init__(
        self,
        conversation: Conversation,
        turn: ActiveTurn,
        recorder: Recorder,
        surroundings: Surroundings,
    ) -> None:
        self._conversation = conversation
        self._turn = turn
        self._recorder = recorder
        self._around = surroundings
        self._opening = Opening(
            conversation, turn, recorder, memory=surroundings.memory,
            settings=surroundings.settings, clock=surroundings.clock,
        )  # fmt: skip
        self._limits = surroundings.settings.limits
        self._telling = TurnTelling(
            conversation, turn, recorder, surroundings.providers, window=self._window
        )
        self._compactor = Compactor(
            conversation, turn, recorder, self._opening, ask=self._stream,
            settings=surroundings.settings, clock=surroundings.clock, window=self._window,
            tell_use=self._telling.use, tell_tokens=self._telling.tokens,
        )  # fmt: skip
        self._instead: str | None = None
        """The model that answers for the rest of the turn, since the thread's is overloaded."""
        self._clock = TurnClock(
            self._limits.turn_seconds_max, lambda: turn.interrupts.request("deadline")
        )
        self._floor = TurnFloor(
            conversation,
            turn,
            recorder,
            clock=surroundings.clock,
            asker=surroundings.tools.asker,
            rules=surroundings.tools.rules,
            ran=self._ran,
            turn_clock=self._clock,
        )

    async def run(self) -> None:
        """From the first event of the turn to its last."""
        turn, clock = self._turn, self._around.clock
        turn.started_at_ms = clock.now_ms()
        turn.life.take(Event.BEGUN)
        self._clock.run()
        try:
            await self._work()
            await self._end()
        finally:
            self._clock.stand()
            self._floor.leave()

    async def _work(self) -> None:
        """Everything between start and end; the net of the thread's task."""
        turn = self._turn
        try:
            await self._open()
            if turn.kind == "compact":
                await self._compactor.run()
                turn.life.take(Event.ANSWERED)
                return
            first = turn.first.given
            if first.command is not None:
                await self._run_command(first.command)
            has_words = await self._take_inbox() or first.command is None
            if first.content and not self._conversation.ephemeral:
                self._around.nudge(self._conversation.thread_id)
            if has_words:
                await self._rounds()
            else:
                turn.life.take(Event.ANSWERED)
        except Stopped as stopped:
            if stopped.reason == "interrupted":
                turn.life.take(Event.INTERRUPTED)
            else:
                self._fail("other", f"the turn took over {self._limits.turn_seconds_max} seconds")
        except ProviderFailed as failed:
            if failed.rate_limits is not None:
                # A refused call says best of all that learning must leave the rest alone.
                name = self._conversation.settings.provider
                self._around.providers.note_limits(name, failed.rate_limits)
                self._telling.limits(failed.rate_limits)
            self._fail(failed.error_info, failed.message)
        except (StateError, OSError) as error:
            self._fail("other", f"the conversation could not be recorded: {error}")
        except AgentError as error:
            self._fail("badRequest", str(error))
        except Exception:
            incident = secrets.token_hex(4)
            log.exception("turn %s failed, incident %s", turn.turn_id, incident)
            self._fail("other", f"internal error (incident {incident})")

    async def _open(self) -> None:
        """Record what the turn begins with, and tell of it once whoever asked is answered.

        Raises: OSError, StateError.
        """
        turn, conversation = self._turn, self._conversation
        order = turn.first.given.review
        ahead = None if order is None else entered(order, turn.turn_id, self._around.clock)
        item, changed = None, False
        try:
            if turn.kind == "compact":
                await self._opening.begin()
            else:
                changed = conversation.change(turn.first.given.change)
                item = await self._opening.record(turn.first, ahead=ahead)
        finally:
            turn.recorded.set()
            await turn.wait_begun(self._limits.begin_wait_s)
            conversation.set_status(ACTIVE)
            self._telling.started()
            if changed:
                self._telling.settings()
        for one in (ahead, item):
            if one is not None:
                self._opening.tell(one)

    def _fail(self, info: Any, message: str) -> None:
        self._turn.fault = TurnFault(message=message, error_info=info)
        self._turn.life.take(Event.FAILED)

    async def _run_command(self, command: UserCommand) -> None:
        shell = self._around.tools.shell
        if shell is None or not self._turn.life.open:
            return
        self._turn.life.take(Event.TOOLS_CALLED)
        await run_user_command(self._floor, shell, command)
        self._turn.life.take(Event.TOOLS_RETURNED)

    async def _rounds(self) -> None:
        turn = self._turn
        with turn.interrupts.stoppable():
            await self._around.tools.servers.prepare(
                self._conversation.thread_id, cwd=self._conversation.settings.cwd
            )
        for _ in range(self._limits.rounds_per_turn_max):
            if self._compactor.due:
                await self._compactor.run()
            answer = await self._asked()
            try:
                await self._act(answer.calls)
            finally:
                # After its tools, as in the original: usage closes what the response began.
                if answer.completed is not None:
                    self._telling.use(answer.completed)
            if answer.calls:
                turn.life.take(Event.TOOLS_RETURNED)
            elif turn.inbox or answer.cut:
                turn.life.take(Event.STEERED)
            has_words = await self._take_inbox()
            if not (answer.calls or answer.cut or has_words):
                # No await since the inbox was seen empty: later input starts the next turn.
                self._floor.tell_diff()
                turn.life.take(Event.ANSWERED)
                return
        raise ProviderFailed(
            "other",
            f"the turn was stopped after {self._limits.rounds_per_turn_max} model calls",
        )

    async def _take_inbox(self) -> bool:
        """Whether there were words for the model; commands of the user are run here."""
        has_words = False
        while self._turn.inbox:
            held = self._turn.inbox.popleft()
            given = held.given
            if given.command is not None:
                await self._run_command(given.command)
                continue
            if not await held.noted():
                continue
            has_words = True
            if given.output_schema is not None:
                self._turn.output_schema = given.output_schema
            if self._conversation.change(given.change):
                self._telling.settings()
            await self._opening.record_input(held)
        return has_words

    async def _asked(self) -> Answer:
        """The model's answer; where the history does not fit, once more with a summary of it."""
        try:
            answer = await self._whole()
        except ProviderFailed as failed:
            if failed.kind != OVERFLOW or self._compactor.done:
                raise
            await self._compactor.run()
            answer = await self._whole()
        self._compactor.done = False
        return answer

    async def _whole(self) -> Answer:
        """An answer to its end; what was begun when one broke off is no part of the history."""

        async def sleep(seconds: float) -> None:
            with self._turn.interrupts.stoppable():
                await self._around.clock.sleep(seconds)

        retry = self._around.model_limits.retry
        return await again_where_cut(self._ask, limits=retry, sleep=sleep, tell=self._telling.retry)

    def _window(self) -> int:
        return self._around.window(self._conversation)

    def _stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer of the thread's model, or of another one where that is overloaded."""
        fallbacks = self._around.settings.model_fallbacks
        if self._instead is not None:
            request = replace(request, model=self._instead)
            fallbacks = fallbacks[fallbacks.index(self._instead) + 1 :]
        return stream_with_fallbacks(self._tried, request, fallbacks=fallbacks, tell=self._reroute)

    def _tried(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        return stream_with_retries(
            self._around.providers.get(self._conversation.settings.provider),
            request,
            limits=self._around.model_limits.retry,
            clock=self._around.clock,
            tell=self._telling.retry,
        )

    def _reroute(self, failed: ProviderFailed, model: str, instead: str) -> None:
        self._instead = instead
        self._telling.rerouted(failed, model, instead)

    async def _ask(self) -> Answer:
        settings = self._conversation.settings
        request = ModelRequest(
            model=settings.model,
            instructions=self._instructions(),
            input=paired(self._conversation.request_input()),
            tools=(
                *(one for tools in self._tools() for one in tools.definitions()),
                *self._around.tools.hosted(settings),
            ),
            effort=settings.effort,
            summary=settings.summary,
            service_tier=settings.service_tier,
            output_schema=self._turn.output_schema,
            cache_key=self._conversation.thread_id,
        )  # fmt: skip
        reader = AnswerReader(
            self._conversation, self._turn, self._recorder, self._around.memory,
            clock=self._around.clock, limits=self._limits,
        )  # fmt: skip
        filling, since = self._conversation.filling, self._conversation.filling.since
        try:
            answer = await reader.read(self._stream(request))
        except ProviderFailed as failed:
            if failed.kind == OVERFLOW:
                filling.refuse(request)
            raise
        if answer.completed is not None:
            filling.answered(answer.completed.use, request, since=since)
        return answer

    def _instructions(self) -> str:
        settings = self._conversation.settings
        standing = settings.instructions or self._around.settings.instructions or INSTRUCTIONS
        return f"{standing}\n{review.INSTRUCTIONS}" if self._turn.kind == "review" else standing

    def _tools(self) -> Sequence[ToolSet]:
        settings = self._conversation.settings
        around, thread_id = self._around.tools, self._conversation.thread_id
        sets = (*around.sets(settings), *around.servers.sets(thread_id))
        if settings.use_memories and settings.dedicated_tools:
            return (self._around.memory.tools(settings.memory_version), *sets)
        return sets

    def _ran(self, command: str, succeeded: bool) -> None:
        counters = self._around.memory.counters
        counters.shell_call("exec_command", command, succeeded=succeeded)

    async def _act(self, calls: Sequence[Item]) -> None:
        """Run the calls of a response; each gets an output, also when the turn is stopped."""
        if calls:
            self._turn.life.take(Event.TOOLS_CALLED)
            await Acting(self._floor, self._tools(), self._limits).run(calls)

    async def _end(self) -> None:
        turn, conversation = self._turn, self._conversation
        fault = turn.fault
        try:
            await self._take_inbox()
            if turn.kind == "review":
                await self._leave_review()
            turn.ended_at_ms = max(self._around.clock.now_ms(), turn.started_at_ms or 0)
            await self._record_end(fault)
        except (StateError, OSError) as error:
            log.error("the end of turn %s could not be recorded: %s", turn.turn_id, error)
            turn.ended_at_ms = self._around.clock.now_ms()
            fault = fault or TurnFault(
                message=f"the conversation could not be recorded: {error}", error_info="other"
            )
        turn.fault = fault
        self._around.memory.counters.turn(conversation.settings, cited=turn.cited)
        conversation.turns.add(turn.snapshot())
        turn.ended.set()
        conversation.set_status(IDLE if fault is None else SYSTEM_ERROR)
        self._telling.end(fault)

    async def _leave_review(self) -> None:
        item = exited(self._turn.final_message, self._turn.turn_id, self._around.clock)
        await self._recorder.record([self._recorder.item_line(item)])
        self._opening.tell(item)

    async def _record_end(self, fault: TurnFault | None) -> None:
        turn = self._turn
        assert turn.ended_at_ms is not None and turn.started_at_s is not None
        final, completed_at_s = turn.final_message, turn.ended_at_ms // 1000
        if turn.life.status == "interrupted":
            line = turn_aborted(
                turn.turn_id, completed_at_s=completed_at_s, duration_ms=turn.duration_ms or 0
            )
        else:
            line = task_complete(
                turn.turn_id,
                last_agent_message=None if final is None or fault else final.body["text"],
                started_at_s=turn.started_at_s,
                completed_at_s=completed_at_s,
                duration_ms=turn.duration_ms or 0,
                error=None if fault is None else as_error(fault),
            )
        await self._recorder.settle([line])
        await self._recorder.put_row(
            updated_at_ms=turn.ended_at_ms, model=self._conversation.settings.model
        )
