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


class Steered(Exception):
    """The user said something new; what the model says now is no longer wanted."""


class Interrupts:
    """The stop signal of one turn; made by the task that runs it."""

    def __init__(self) -> None:
        self._reason: StopReason | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._steerable = False
        self._cancelled = False
        """Whether the wait under way was cancelled by us; once is enough."""

    @property
    def requested(self) -> StopReason | None:
        """Why the turn must stop, or None."""
        return self._reason

    def request(self, reason: StopReason) -> None:
        """Stop at the next point where that is safe; the first reason stands."""
        if self._reason is None:
            self._reason = reason
            self._cut_wait()

    def steer(self) -> None:
        """Cut the wait under way if it is one that new input may cut."""
        if self._steerable:
            self._cut_wait()

    def _cut_wait(self) -> None:
        # A running task is not cancelled: it would be hit later, perhaps while it records.
        running = self._waiting is asyncio.current_task()
        if self._waiting is not None and not running and not self._cancelled:
            self._cancelled = True
            self._waiting.cancel()

    @contextmanager
    def stoppable(self, *, steerable: bool = False) -> Iterator[None]:
        """Around waits that may be cut short.

        Raises: Stopped, Steered.
        """
        if self._reason is not None:
            raise Stopped(self._reason)
        task = asyncio.current_task()
        assert task is not None
        self._waiting, self._steerable = task, steerable
        try:
            yield
        except asyncio.CancelledError:
            # Ours only if we asked for it and nobody else did as well.
            if not self._cancelled or task.uncancel() > 0:
                raise
            if self._reason is None:
                raise Steered from None
            raise Stopped(self._reason) from None
        finally:
            self._waiting, self._steerable, self._cancelled = None, False, False
        if self._reason is not None:
            raise Stopped(self._reason)
