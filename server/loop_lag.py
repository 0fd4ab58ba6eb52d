"""How long the event loop kept everybody waiting: a metric, measured by a timer that comes late."""

import asyncio
from collections import deque

LOOK_S = 0.5
KEPT_MAX = 120
"""Looks that are remembered: one minute."""


class LoopLag:
    """Measures the loop it was started on; two wakes a second."""

    def __init__(self) -> None:
        self._lags_s: deque[float] = deque(maxlen=KEPT_MAX)
        self._longest_s = 0.0
        self._due_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to measure."""
        loop = asyncio.get_running_loop()
        self._due_s = loop.time() + LOOK_S
        self._timer = loop.call_at(self._due_s, self._look, loop)

    def stop(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()

    @property
    def recent_ms(self) -> int:
        """The longest lag of the last minute."""
        return round(max(self._lags_s, default=0.0) * 1000)

    @property
    def longest_ms(self) -> int:
        """The longest one since the start."""
        return round(self._longest_s * 1000)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        lag_s = max(0.0, loop.time() - self._due_s)
        self._lags_s.append(lag_s)
        self._longest_s = max(self._longest_s, lag_s)
        self.start()
