"""What is remembered of models: for a while, and never of more than a few."""

from typing import Any, cast

import pytest

from server.agent.models.base import Provider
from server.agent.models.known import KEPT_MAX, KNOWN_S, KnownModels
from tests.support.clock import ManualClock
from tests.support.growth import lengths


class _Listing:
    """A provider that lists some models and counts how often it was asked."""

    name = "acme"

    def __init__(self, *listed: str) -> None:
        self.asked = 0
        self._listed = listed

    async def listed(self) -> tuple[str, ...]:
        self.asked += 1
        return self._listed


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def test_a_provider_is_asked_once_for_a_while(clock: ManualClock) -> None:
    known, provider = KnownModels(clock), _Listing("good")
    for _ in range(3):
        assert await known.has(cast(Provider, provider), "good")
        assert not await known.has(cast(Provider, provider), "bad")
    assert provider.asked == 2
    clock.advance(KNOWN_S)
    assert await known.has(cast(Provider, provider), "good")
    assert provider.asked == 3


@pytest.mark.parametrize("listed", [(), ("other",)])
async def test_however_many_models_clients_name_a_few_are_remembered(
    clock: ManualClock, listed: tuple[str, ...]
) -> None:
    """The latest; there and missing ones alike."""
    known, provider = KnownModels(clock), _Listing(*listed)
    for number in range(3 * KEPT_MAX):
        await known.has(cast(Provider, provider), f"model {number}")
        known.answered("acme", f"answered {number}")
    held: dict[str, Any] = lengths(known)
    assert max(held.values()) <= KEPT_MAX
    asked = provider.asked
    await known.has(cast(Provider, provider), f"answered {3 * KEPT_MAX - 1}")
    assert provider.asked == asked
