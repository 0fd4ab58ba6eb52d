"""The only place that reads the wall clock."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Time as every room sees it, so that tests can move it by hand."""

    def now_ms(self) -> int:
        """Unix time in whole milliseconds, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that only grow, for durations within this process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long by this clock."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """Unix time in whole milliseconds, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Seconds that only grow, for durations within this process."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)
