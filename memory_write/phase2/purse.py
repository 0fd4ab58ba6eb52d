"""What a consolidation may spend and what it spent: the quota, the day's budget, the record.

Invariant: what a run cost is recorded also when the run gave nothing, was capped or was lost.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from memory_write.limits import DAY_S, MemorySettings, Phase2Limits
from memory_write.ports import ModelUse, Quota
from state.policy.budget import estimate_tokens
from state.recovery import State
from state.stores.jobs import Claim

KIND = "consolidation"


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing may be spent for so long."""

    reason: str
    retry_s: int


class Purse:
    """Asks before spending and keeps the record after it."""

    def __init__(self, state: State, quota: Quota, settings: MemorySettings) -> None:
        self._state = state
        self._quota = quota
        self._settings = settings
        self._trigger = "scheduler"
        """What set off the run that asked last; there is one at a time."""

    async def tokens_max(self, *, ordered: bool = False) -> int | Refused:
        """How much one run may spend now; what a person ordered does not wait for the quota.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        limits = self._settings.phase2
        self._trigger = "order" if ordered else "scheduler"
        refusal = None if ordered else await self._quota.refusal()
        if refusal is not None:
            return Refused(f"quota:{refusal}", self._quota_wait_s(limits.retry_delay_s))
        budget = self._settings.budget.consolidation_tokens
        if budget is None:
            return limits.tokens_max
        now_ms = self._state.clock.now_ms()
        async with self._state.database.glancing() as read:
            spent = await self._state.spending.total(read, day=_day(now_ms), kind=KIND)
        if spent >= budget:
            return Refused("budget", DAY_S - now_ms // 1000 % DAY_S)
        return min(limits.tokens_max, budget - spent)

    def _quota_wait_s(self, otherwise_s: int) -> int:
        until_ms = self._quota.until_ms()
        if until_ms is None:
            return otherwise_s
        return max(1, -(-(until_ms - self._state.clock.now_ms()) // 1000))

    async def record(self, claim: Claim, use: ModelUse) -> None:
        """Note what was spent; nothing is no row.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if use.total_tokens == 0:
            return
        now_ms = self._state.clock.now_ms()
        async with self._state.database.writing() as tx:
            await self._state.spending.add(
                tx,
                day=_day(now_ms),
                kind=KIND,
                job_key=claim.key,
                model=use.model or self._settings.consolidation_model or "default",
                input_tokens=use.input_tokens,
                cached_tokens=use.cached_input_tokens,
                output_tokens=use.output_tokens,
                at_ms=now_ms,
                trigger=self._trigger,
                version=claim.version,
            )


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def worth(new_text: str, limits: Phase2Limits) -> int:
    """The most tokens that this much of new material is worth."""
    return limits.tokens_base + limits.tokens_per_new * estimate_tokens(new_text)
