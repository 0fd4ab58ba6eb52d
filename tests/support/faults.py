"""Fault points: a `Steps` port that does something at a named step."""

import os
import signal
from collections.abc import Awaitable, Callable


class RecordedSteps:
    """Remembers the steps it saw, and runs an action at one of them, once."""

    def __init__(
        self, at: str | None = None, action: Callable[[], Awaitable[None] | None] | None = None
    ) -> None:
        self.seen: list[str] = []
        self._at = at
        self._action = action

    async def __call__(self, name: str) -> None:
        """Note the step; act if it is the one."""
        self.seen.append(name)
        if name == self._at and self._action is not None:
            action, self._action = self._action, None
            waiting = action()
            if waiting is not None:
                await waiting


def kill_this_process() -> None:
    """End as kill -9 would: nothing is flushed, no handler runs."""
    os.kill(os.getpid(), signal.SIGKILL)
