"""What becomes of a run that gave nothing: its reason, and when the next one may be.

Invariant: a model that is not to be had costs no retry; the longer it lasts, the longer the wait.
"""

from memory_write.limits import (
    DAY_S,
    TRANSIENT_RETRY_FIRST_S,
    TRANSIENT_RETRY_MAX_S,
    Phase2Limits,
)
from memory_write.phase2.consolidate import AgentEnd
from memory_write.phase2.report import Failure
from state.clock import Clock
from state.policy.redaction import redact

REASON_CHARS_MAX = 300
_DOUBLINGS_MAX = 16


class Setbacks:
    """Counts failures in a row; a success forgets them."""

    def __init__(self, clock: Clock, limits: Phase2Limits) -> None:
        self._clock = clock
        self._limits = limits
        self._transient = 0
        """How often in a row the model was not to be had."""
        self._fruitless = 0
        """How often in a row a run cost something and gave nothing."""

    def success(self) -> None:
        """Something was published."""
        self._transient = self._fruitless = 0

    def of_agent(self, end: AgentEnd) -> Failure:
        """The agent failed or was capped."""
        reason = end.failure or "unknown"
        if not end.transient:
            return self.fruitless(reason)
        delay_s = min(TRANSIENT_RETRY_FIRST_S * 2**self._transient, TRANSIENT_RETRY_MAX_S)
        self._transient = min(self._transient + 1, _DOUBLINGS_MAX)
        return self.failure(reason, delay_s)

    def fruitless(self, reason: str) -> Failure:
        """A run that cost something; the same inputs would most likely fail again."""
        delay_s = min(self._limits.retry_delay_s * 2**self._fruitless, DAY_S)
        self._fruitless = min(self._fruitless + 1, _DOUBLINGS_MAX)
        return self.failure(reason, delay_s, uses_retry=True)

    def failure(self, reason: str, retry_s: int, *, uses_retry: bool = False) -> Failure:
        """Any other reason."""
        return Failure(
            reason=redact(reason)[:REASON_CHARS_MAX],
            retry_at_ms=self._clock.now_ms() + retry_s * 1000,
            uses_retry=uses_retry,
        )
