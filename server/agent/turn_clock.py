"""The time a turn may take; it stands still while a person is asked, who may be at lunch."""

import asyncio
from collections.abc import Callable


class TurnClock:
    """Calls `over` once, when the turn worked for that long."""

    def __init__(self, seconds: float, over: Callable[[], None]) -> None:
        self._left = seconds
        self._over = over
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0

    def run(self) -> None:
        """Go on; harmless when it runs."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._since = loop.time()
            self._timer = loop.call_later(self._left, self._over)

    def stand(self) -> None:
        """Stop counting; harmless when it stands."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left = max(0.0, self._left - (asyncio.get_running_loop().time() - self._since))
