"""The providers of this server by name, each made when it is first needed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from server.agent.errors import UnknownProvider
from server.agent.limits import ModelLimits
from server.agent.models.base import Provider
from server.settings import OFFLINE, ProviderSettings
from state.clock import Clock


class Providers:
    """Finds the provider that a thread or a background call names."""

    def __init__(
        self,
        settings: Mapping[str, ProviderSettings],
        *,
        default: str,
        clock: Clock,
        limits: ModelLimits,
        made: Sequence[Provider] = (),
    ) -> None:
        """`made` are providers that exist already, such as scripted ones in tests."""
        self._settings = settings
        self._clock = clock
        self._limits = limits
        self._made: dict[str, Provider] = {provider.name: provider for provider in made}
        self._limits_told: dict[str, Mapping[str, Any]] = {}
        self._limits_told_at_ms: dict[str, int] = {}
        self._warming: dict[str, asyncio.Task[None]] = {}
        self.default_name = default

    def names(self) -> tuple[str, ...]:
        """Every provider that `get` would find."""
        return tuple(sorted({OFFLINE, *self._settings, *self._made}))

    def get(self, name: str | None = None) -> Provider:
        """The provider of that name, or the default one.

        Raises: UnknownProvider.
        """
        wanted = name or self.default_name
        if wanted not in self._made:
            self._made[wanted] = self._make(wanted)
        return self._made[wanted]

    def note_limits(self, name: str, rate_limits: Mapping[str, Any] | None) -> None:
        """Keep what a provider last told about its limits."""
        if rate_limits is not None:
            self._limits_told[name] = rate_limits
            self._limits_told_at_ms[name] = self._clock.now_ms()

    def limits_told(self, name: str | None = None) -> Mapping[str, Any] | None:
        """What a provider last told about its limits, in the wire's shape; None for nothing."""
        return self._limits_told.get(name or self.default_name)

    def limits_told_at_ms(self, name: str | None = None) -> int | None:
        """When a provider last told about its limits."""
        return self._limits_told_at_ms.get(name or self.default_name)

    def warm_soon(self, name: str) -> None:
        """Load in the background what that provider's first call would wait for; once.

        Not at the start of the server: a client library is a fifth of the memory of an idle one.
        """
        if name not in self._warming:
            self._warming[name] = asyncio.create_task(self.get(name).warm())

    async def close(self) -> None:
        """Let go of every provider's connections."""
        for warming in self._warming.values():
            warming.cancel()
        # A provider that cannot be loaded says so in the call that needs it.
        await asyncio.gather(*self._warming.values(), return_exceptions=True)
        for provider in self._made.values():
            await provider.close()

    def _make(self, name: str) -> Provider:
        makers: Mapping[str, Callable[[], Provider]] = {OFFLINE: self._offline}
        if name in makers:
            return makers[name]()
        settings = self._settings.get(name)
        if settings is None:
            raise UnknownProvider(name)
        # Imported here: with the offline default nothing of the HTTP client is ever loaded.
        if settings.wire_api == "chat":
            from server.agent.models.openai_chat import OpenAIChat

            return OpenAIChat(settings, clock=self._clock, limits=self._limits)
        from server.agent.models.openai_responses import OpenAIResponses

        return OpenAIResponses(settings, clock=self._clock, limits=self._limits)

    def _offline(self) -> Provider:
        from server.agent.models.offline import OfflineProvider

        return OfflineProvider(self._clock)
