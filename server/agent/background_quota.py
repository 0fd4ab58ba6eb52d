"""Answers the port `Quota` by what providers last told about their limits; fails open."""

from server.agent.limits import BackgroundLimits
from server.agent.models.quota import over_at_ms, remaining_percent
from server.agent.providers import Providers
from state.clock import Clock

TOLD_S_MAX = 3_600
"""How long a word about a limit counts that does not say when the limit begins anew."""


class ProviderQuota:
    """Background work waits while the provider has little left for the user's own turns."""

    def __init__(self, providers: Providers, *, clock: Clock, limits: BackgroundLimits) -> None:
        self._providers = providers
        self._clock = clock
        self._limits = limits

    async def refusal(self) -> str | None:
        """None when work may start, else the reason it must wait."""
        left = self._left()
        if left is None or left >= self._limits.remaining_percent_min:
            return None
        return f"rate limit: {left:.0f} % left"

    def until_ms(self) -> int | None:
        """When the last of the windows that refuse now begins anew."""
        told = self._providers.limits_told()
        return over_at_ms(
            told,
            now_s=self._clock.now_ms() // 1000,
            percent_min=self._limits.remaining_percent_min,
        )

    def _left(self) -> float | None:
        """What is left; None when nothing is known, or what is known is out of date."""
        now_ms = self._clock.now_ms()
        left = remaining_percent(self._providers.limits_told(), now_s=now_ms // 1000)
        told_at_ms = self._providers.limits_told_at_ms()
        # While learning waits nobody may ask the provider; without an end the word must grow old.
        stale = told_at_ms is not None and now_ms - told_at_ms > TOLD_S_MAX * 1_000
        return None if stale and self.until_ms() is None else left
