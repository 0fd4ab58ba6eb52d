"""Runs one turn: the model and its tools by the table of `turn.py`.

Invariant: a turn that began ends in exactly one of answered, interrupted and failed, and is told
so once; input that was admitted is recorded, whatever the end. Nothing that is being recorded is
cut short.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server.agent.active_turn import ActiveTurn, as_error
from server.agent.answer import Answer, AnswerReader
from server.agent.conversation import ACTIVE, IDLE, SYSTEM_ERROR, Conversation
from server.agent.errors import AgentError, ProviderFailed
from server.agent.events import (
    ErrorTold,
    RateLimits,
    SettingsChanged,
    TokenUsage,
    TurnCompleted,
    TurnFailed,
    TurnFault,
    TurnStarted,
)
from server.agent.inputs import Nudge, TurnInput
from server.agent.interrupts import Stopped
from server.agent.limits import AgentSettings, ModelLimits
from server.agent.memory import MemoryReader
from server.agent.models.base import Completed, Item, ModelInfo, ModelRequest, Provider
from server.agent.models.quota import NOTHING_TOLD
from server.agent.models.retry import stream_with_retries
from server.agent.opening import Opening
from server.agent.prompt import INSTRUCTIONS
from server.agent.providers import Providers
from server.agent.recorder import Recorder, snake_use
from server.agent.tools.base import ABORTED, ToolSet, run_call
from server.agent.turn import Event
from state.clock import Clock
from state.errors import StateError
from state.rollouts.lines import response_item, task_complete, token_count, turn_aborted

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every turn of every thread works with."""

    providers: Providers
    memory: MemoryReader
    settings: AgentSettings
    model_limits: ModelLimits
    clock: Clock
    nudge: Nudge


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

    async def run(self) -> None:
        """From the first event of the turn to its last."""
        turn, clock = self._turn, self._around.clock
        turn.started_at_ms = clock.now_ms()
        self._conversation.set_status(ACTIVE)
        self._tell_started()
        turn.life.take(Event.BEGUN)
        deadline = asyncio.get_running_loop().call_later(
            self._limits.turn_seconds_max, turn.interrupts.request, "deadline"
        )
        try:
            await self._work()
        finally:
            deadline.cancel()
        await self._end()

    async def _work(self) -> None:
        """Everything between start and end; the net of the thread's task."""
        turn = self._turn
        try:
            await self._opening.record(self._take_settings(turn.first))
            await self._take_inbox()
            if turn.first.content and not self._conversation.ephemeral:
                self._around.nudge(self._conversation.thread_id)
            await self._rounds()
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
                self._tell_limits(failed.rate_limits)
            self._fail(failed.error_info, failed.message)
        except (StateError, OSError) as error:
            self._fail("other", f"the conversation could not be recorded: {error}")
        except AgentError as error:
            self._fail("badRequest", str(error))
        except Exception:
            incident = secrets.token_hex(4)
            log.exception("turn %s failed, incident %s", turn.turn_id, incident)
            self._fail("other", f"internal error (incident {incident})")

    def _fail(self, info: Any, message: str) -> None:
        self._turn.fault = TurnFault(message=message, error_info=info)
        self._turn.life.take(Event.FAILED)

    async def _rounds(self) -> None:
        turn = self._turn
        for _ in range(self._limits.rounds_per_turn_max):
            answer = await self._ask()
            if answer.calls:
                turn.life.take(Event.TOOLS_CALLED)
                await self._act(answer.calls)
                turn.life.take(Event.TOOLS_RETURNED)
            elif turn.inbox or answer.cut:
                turn.life.take(Event.STEERED)
            else:
                # No await since the inbox was seen empty: later input starts the next turn.
                turn.life.take(Event.ANSWERED)
                return
            await self._take_inbox()
        raise ProviderFailed(
            "other",
            f"the turn was stopped after {self._limits.rounds_per_turn_max} model calls",
        )

    async def _take_inbox(self) -> None:
        while self._turn.inbox:
            given = self._turn.inbox.popleft()
            if given.output_schema is not None:
                self._turn.output_schema = given.output_schema
            await self._opening.record_input(self._take_settings(given))

    def _take_settings(self, given: TurnInput) -> TurnInput:
        if self._conversation.change(given.change):
            self._conversation.tell(SettingsChanged(thread_id=self._conversation.thread_id))
        return given

    async def _ask(self) -> Answer:
        settings = self._conversation.settings
        provider = self._around.providers.get(settings.provider)
        request = ModelRequest(
            model=settings.model,
            instructions=settings.instructions or self._around.settings.instructions
            or INSTRUCTIONS,
            input=tuple(self._conversation.sent),
            tools=tuple(one for tools in self._tools() for one in tools.definitions()),
            effort=settings.effort,
            output_schema=self._turn.output_schema,
            cache_key=self._conversation.thread_id,
        )  # fmt: skip
        stream = stream_with_retries(
            provider,
            request,
            limits=self._around.model_limits.retry,
            clock=self._around.clock,
            tell=self._tell_retry,
        )
        reader = AnswerReader(
            self._conversation, self._turn, self._recorder, self._around.memory,
            clock=self._around.clock, limits=self._limits,
        )  # fmt: skip
        answer = await reader.read(stream)
        if answer.completed is not None:
            self._tell_use(provider, answer.completed)
        return answer

    def _tools(self) -> Sequence[ToolSet]:
        settings = self._conversation.settings
        if settings.use_memories and settings.dedicated_tools:
            return (self._around.memory.tools(settings.memory_version),)
        return ()

    async def _act(self, calls: Sequence[Item]) -> None:
        """Run the calls in order; each gets an output, also when the turn is stopped."""
        outputs: list[str] = []
        try:
            for call in calls:
                with self._turn.interrupts.stoppable():
                    output = await run_call(
                        self._tools(),
                        call,
                        output_bytes_max=self._limits.tool_output_bytes_max,
                        seconds_max=self._limits.tool_seconds_max,
                    )
                outputs.append(output)
        finally:
            outputs.extend(ABORTED for _ in range(len(calls) - len(outputs)))
            items = [_output_of(call, text) for call, text in zip(calls, outputs, strict=True)]
            lines = [response_item(item, turn_id=self._turn.turn_id) for item in items]
            await self._recorder.record(lines)
            for item in items:
                self._conversation.remember(item)

    async def _end(self) -> None:
        turn, conversation = self._turn, self._conversation
        fault = turn.fault
        try:
            await self._take_inbox()
            turn.ended_at_ms = max(self._around.clock.now_ms(), turn.started_at_ms or 0)
            await self._record_end(fault)
        except (StateError, OSError) as error:
            log.error("the end of turn %s could not be recorded: %s", turn.turn_id, error)
            turn.ended_at_ms = self._around.clock.now_ms()
            fault = fault or TurnFault(
                message=f"the conversation could not be recorded: {error}", error_info="other"
            )
        turn.fault = fault
        conversation.turns.append(turn.snapshot())
        turn.ended.set()
        conversation.set_status(IDLE if fault is None else SYSTEM_ERROR)
        self._tell_end(fault)

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

    def _tell_started(self) -> None:
        turn = self._turn
        assert turn.started_at_s is not None
        self._conversation.tell(
            TurnStarted(
                thread_id=self._conversation.thread_id,
                turn_id=turn.turn_id,
                started_at_s=turn.started_at_s,
            )
        )

    def _tell_retry(self, failed: ProviderFailed) -> None:
        fault = TurnFault(message=failed.message, error_info=failed.error_info)
        self._tell_error(fault, will_retry=True)

    def _tell_error(self, fault: TurnFault, *, will_retry: bool) -> None:
        self._conversation.tell(
            ErrorTold(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                error=fault,
                will_retry=will_retry,
            )
        )

    def _tell_use(self, provider: Provider, completed: Completed) -> None:
        conversation = self._conversation
        conversation.total = conversation.total + completed.use
        conversation.last_use = completed.use
        window = context_window(provider.models(), conversation.settings.model)
        self._around.providers.note_limits(provider.name, completed.rate_limits)
        self._recorder.hold(
            token_count(
                total=snake_use(conversation.total),
                last=snake_use(completed.use),
                context_window=window,
            )
        )
        conversation.tell(
            TokenUsage(
                thread_id=conversation.thread_id,
                turn_id=self._turn.turn_id,
                total=conversation.total,
                last=completed.use,
                context_window=window,
            )
        )
        told = self._around.providers.limits_told(provider.name)
        self._tell_limits(told or NOTHING_TOLD)

    def _tell_limits(self, rate_limits: Any) -> None:
        self._conversation.tell(
            RateLimits(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                rate_limits=rate_limits,
            )
        )

    def _tell_end(self, fault: TurnFault | None) -> None:
        turn, thread_id = self._turn, self._conversation.thread_id
        assert turn.started_at_s is not None and turn.ended_at_ms is not None
        if fault is not None:
            self._tell_error(fault, will_retry=False)
            self._conversation.tell(
                TurnFailed(
                    thread_id=thread_id,
                    turn_id=turn.turn_id,
                    error=fault,
                    started_at_s=turn.started_at_s,
                    completed_at_s=turn.ended_at_ms // 1000,
                    duration_ms=turn.duration_ms or 0,
                )
            )
            return
        self._conversation.tell(
            TurnCompleted(
                thread_id=thread_id,
                turn_id=turn.turn_id,
                status="interrupted" if turn.life.status == "interrupted" else "completed",
                final_item=turn.final_message,
                started_at_s=turn.started_at_s,
                completed_at_s=turn.ended_at_ms // 1000,
                duration_ms=turn.duration_ms or 0,
            )
        )


def context_window(models: Sequence[ModelInfo], model: str) -> int | None:
    """The window of a model, where its provider says it."""
    return next((one.context_window for one in models if one.model_id == model), None)


def _output_of(call: Item, text: str) -> Item:
    kind = "custom_tool_call_output" if call["type"] == "custom_tool_call" else None
    return {
        "type": kind or "function_call_output",
        "call_id": str(call.get("call_id", "")),
        "output": text,
    }
