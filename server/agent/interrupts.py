"""How a turn is stopped while it waits for a model or a tool, and never while it records.

Invariant: a stop is raised only inside `stoppable()` of the task that owns it, so what is being
written is written to its end. Costs nothing per streamed event: no task is made for a wait.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

StopReason = Literal["interrupted", "deadline"]


class Stopped(Exception):
    """The turn was told to stop."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason
        super().__init__(reason)


class Interrupts:
    """The stop signal of one turn; made by the task that runs it."""

    def __init__(self) -> None:
        self._reason: StopReason | None = None
        self._waiting: asyncio.Task[object] | None = None

    @property
    def requested(self) -> StopReason | None:
        """Why the turn must stop, or None."""
        return self._reason

    def request(self, reason: StopReason) -> None:
        """Stop at the next point where that is safe; the first reason stands."""
        if self._reason is not None:
            return
        self._reason = reason
        # A running task is not cancelled: it would be hit later, perhaps while it records.
        if self._waiting is not None and self._waiting is not asyncio.current_task():
            self._waiting.cancel()

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Around waits that may be cut short.

        Raises: Stopped.
        """
        if self._reason is not None:
            raise Stopped(self._reason)
        task = asyncio.current_task()
        assert task is not None
        self._waiting = task
        try:
            yield
        except asyncio.CancelledError:
            # Ours only if we asked for it and nobody else did as well.
            if self._reason is None or task.uncancel() > 0:
                raise
            raise Stopped(self._reason) from None
        finally:
            self._waiting = None
        if self._reason is not None:
            raise Stopped(self._reason)
