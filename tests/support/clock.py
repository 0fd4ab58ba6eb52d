"""Time in the test's own hands."""

import asyncio


class ManualClock:
    """A clock that moves only when told; sleepers wake when their time has come."""

    def __init__(self, now_ms: int = 1_795_000_000_000) -> None:
        self._now_ms = now_ms
        self._sleepers: list[tuple[int, asyncio.Event]] = []

    def now_ms(self) -> int:
        """The time it was set to."""
        return self._now_ms

    def monotonic_s(self) -> float:
        """The same time in seconds."""
        return self._now_ms / 1000

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved past that point."""
        due_ms = self._now_ms + round(seconds * 1000)
        if due_ms <= self._now_ms:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        entry = (due_ms, woken)
        self._sleepers.append(entry)
        try:
            await woken.wait()
        finally:
            self._sleepers.remove(entry)

    def advance(self, seconds: float) -> None:
        """Move forward and wake whoever waited for a time now past."""
        self._now_ms += round(seconds * 1000)
        for due_ms, woken in self._sleepers:
            if due_ms <= self._now_ms:
                woken.set()
