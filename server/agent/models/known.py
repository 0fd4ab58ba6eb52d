"""Which models a provider has, asked before learning first sends it a session.

It fails open: a provider that lists nothing, or cannot be asked, gets the call, which will tell. A
model that answered counts as there, so that a list without aliases holds back nothing that works.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from server.agent.models.base import Provider
from state.clock import Clock

KNOWN_S = 3_600
"""How long a model counts as there after it was listed or answered."""
UNLISTED_S = 300
"""How long a list counts that a model was missing in."""
KEPT_MAX = 256
"""Models that are remembered at a time: any client may name any model."""


class KnownModels:
    """Shared by all background calls; remembers for a while what was found."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._found_s: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._missing_s: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._turn = asyncio.Lock()

    async def has(self, provider: Provider, model: str) -> bool:
        """Whether a call may go out; asks the provider at most once at a time."""
        key = (provider.name, model)
        async with self._turn:
            now_s = self._clock.monotonic_s()
            if now_s - self._found_s.get(key, -KNOWN_S) < KNOWN_S:
                return True
            if now_s - self._missing_s.get(key, -UNLISTED_S) < UNLISTED_S:
                return False
            listed = await provider.listed()
            found = not listed or model in listed
            _keep(self._found_s if found else self._missing_s, key, now_s)
            return found

    def answered(self, provider: str, model: str) -> None:
        """A call of the model succeeded."""
        _keep(self._found_s, (provider, model), self._clock.monotonic_s())


def _keep(known: OrderedDict[tuple[str, str], float], model: tuple[str, str], now_s: float) -> None:
    """The latest ones stay; whatever else was known is asked again."""
    known[model] = now_s
    known.move_to_end(model)
    while len(known) > KEPT_MAX:
        known.popitem(last=False)


class ListedModels:
    """What providers list, for clients that show it; asked again after a while."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: dict[str, tuple[float, Sequence[str]]] = {}
        self._turn = asyncio.Lock()

    async def of(self, provider: Provider) -> Sequence[str]:
        """Their ids in its order; none when it lists nothing or cannot be asked."""
        async with self._turn:
            now_s = self._clock.monotonic_s()
            until_s, ids = self._told.get(provider.name, (now_s, ()))
            if until_s <= now_s:
                ids = await provider.listed() or ()
                until_s = now_s + (KNOWN_S if ids else UNLISTED_S)
                self._told[provider.name] = (until_s, ids)
            return ids
