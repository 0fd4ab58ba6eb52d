"""What one turn tells of itself, beside its items: begin, usage, limits, faults, end."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from server.agent.active_turn import ActiveTurn
from server.agent.conversation import Conversation
from server.agent.errors import ProviderFailed
from server.agent.events import (
    ErrorTold,
    RateLimits,
    SettingsChanged,
    TokenUsage,
    TurnCompleted,
    TurnFailed,
    TurnFault,
    TurnStarted,
    Warned,
)
from server.agent.models.base import Completed, TokenUse
from server.agent.models.quota import NOTHING_TOLD
from server.agent.providers import Providers
from server.agent.recorder import Recorder, snake_use
from state.rollouts.lines import token_count


class TurnTelling:
    """Of one turn; made and used by the task that runs it."""

    def __init__(
        self,
        conversation: Conversation,
        turn: ActiveTurn,
        recorder: Recorder,
        providers: Providers,
        *,
        window: Callable[[], int],
    ) -> None:
        self._conversation = conversation
        self._turn = turn
        self._recorder = recorder
        self._providers = providers
        self._window = window

    def started(self) -> None:
        """Its begin."""
        turn = self._turn
        assert turn.started_at_s is not None
        self._conversation.tell(
            TurnStarted(
                thread_id=self._conversation.thread_id,
                turn_id=turn.turn_id,
                started_at_s=turn.started_at_s,
            )
        )

    def settings(self) -> None:
        """That the thread works under other settings from now on."""
        self._conversation.tell(SettingsChanged(thread_id=self._conversation.thread_id))

    def retry(self, failed: ProviderFailed) -> None:
        """A model call that failed and is tried again."""
        fault = TurnFault(message=failed.message, error_info=failed.error_info)
        self._error(fault, will_retry=True)

    def rerouted(self, failed: ProviderFailed, model: str, instead: str) -> None:
        """A model that is overloaded after all tries, and the one that answers in its place.

        For programs as an error that is tried again, for people as a warning. The original's own
        notification of another model names one reason alone, which is none of ours.
        """
        message = (
            f"model `{model}` is overloaded; this turn goes on with `{instead}`, as "
            "`model_fallbacks` says"
        )
        fault = TurnFault(
            message=message, error_info="serverOverloaded", additional_details=failed.message
        )
        self._error(fault, will_retry=True)
        self._conversation.tell(Warned(thread_id=self._conversation.thread_id, message=message))

    def _error(self, fault: TurnFault, *, will_retry: bool) -> None:
        self._conversation.tell(
            ErrorTold(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                error=fault,
                will_retry=will_retry,
            )
        )

    def use(self, completed: Completed) -> None:
        """The tokens of a response, and what its provider said about its limits.

        One that counts nothing adds nothing to the sum; how full the window is is told all the
        same, by estimate.
        """
        conversation = self._conversation
        provider = self._providers.get(conversation.settings.provider)
        conversation.total = conversation.total + completed.use
        self._providers.note_limits(provider.name, completed.rate_limits)
        last = completed.use
        if not last.input_tokens:
            last = replace(last, total_tokens=conversation.filling.told)
        self.tokens(last)
        self.limits(self._providers.limits_told(provider.name) or NOTHING_TOLD)

    def tokens(self, last: TokenUse) -> None:
        """The tokens of the last response, and of the whole thread."""
        conversation, window = self._conversation, self._window()
        conversation.last_use = last
        self._recorder.hold(
            token_count(
                total=snake_use(conversation.total),
                last=snake_use(last),
                context_window=window,
            )
        )
        conversation.tell(
            TokenUsage(
                thread_id=conversation.thread_id,
                turn_id=self._turn.turn_id,
                total=conversation.total,
                last=last,
                context_window=window,
            )
        )

    def limits(self, rate_limits: Any) -> None:
        """What the provider said about its limits."""
        self._conversation.tell(
            RateLimits(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                rate_limits=rate_limits,
            )
        )

    def end(self, fault: TurnFault | None) -> None:
        """Its end, after the fault that caused it."""
        turn, thread_id = self._turn, self._conversation.thread_id
        assert turn.started_at_s is not None and turn.ended_at_ms is not None
        if fault is not None:
            self._error(fault, will_retry=False)
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
