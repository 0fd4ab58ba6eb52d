"""The daily budget of extractions, held before each call.

Invariant: a call starts only while the day's spending is below the limit, and calls run side by
side only while all of them fit into what is left. So the day ends at most one call over its limit.
"""

import asyncio
from datetime import UTC, datetime

from state.recovery import State

REPLY_TOKENS_GUESSED = 4_096
"""What a reply is taken to cost until it is known."""

_DAY_MS = 86_400_000


class Allowance:
    """Who may spend how much, over all calls under way."""

    def __init__(self, state: State, *, tokens_max: int | None) -> None:
        self._state = state
        self._tokens_max = tokens_max
        self._under_way: list[int] = []
        self._turn = asyncio.Lock()
        self._ended = asyncio.Event()

    async def take(self, input_tokens: int) -> bool:
        """Wait for a place for one call; false when the day's budget is spent.

        A taken place is given back by `give_back` after the spending was recorded.
        """
        wanted = input_tokens + REPLY_TOKENS_GUESSED
        if self._tokens_max is None:
            self._under_way.append(wanted)
            return True
        async with self._turn:
            while True:
                self._ended.clear()
                left = self._tokens_max - await self._spent()
                if self._ended.is_set():
                    continue  # a call ended meanwhile: what was read is out of date
                if left <= 0:
                    return False
                if not self._under_way or sum(self._under_way) + wanted <= left:
                    self._under_way.append(wanted)
                    return True
                await self._ended.wait()

    def give_back(self, input_tokens: int) -> None:
        """The call has ended and its spending is recorded."""
        self._under_way.remove(input_tokens + REPLY_TOKENS_GUESSED)
        self._ended.set()

    async def _spent(self) -> int:
        day = day_of(self._state.clock.now_ms())
        async with self._state.database.glancing() as read:
            return await self._state.spending.total(read, day=day, kind="extraction")


def day_of(at_ms: int) -> str:
    """The day of UTC that a time lies in."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def next_day_ms(at_ms: int) -> int:
    """When the next day of UTC begins, and with it a new budget."""
    return (at_ms // _DAY_MS + 1) * _DAY_MS
