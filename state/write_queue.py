"""Who writes next: what somebody waits for comes before what learning writes by itself.

Learning side by side in many sessions keeps several transactions waiting; a client that changes a
setting would stand behind all of them. Invariant: one holder at a time, in order within each of the
two kinds, and after `FOREGROUND_MAX` in a row one of the background, so that neither starves.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FOREGROUND_MAX = 16

_IN_BACKGROUND: ContextVar[bool] = ContextVar("in_background", default=False)


@contextmanager
def in_background() -> Iterator[None]:
    """What is written inside, and by the tasks begun inside, lets others go first."""
    token = _IN_BACKGROUND.set(True)
    try:
        yield
    finally:
        _IN_BACKGROUND.reset(token)


class WriteQueue:
    """A lock with two queues; `async with` takes the place that the task has."""

    def __init__(self) -> None:
        self._held = False
        self._in_a_row = 0
        self._foreground: deque[asyncio.Future[None]] = deque()
        self._background: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        """Wait for the turn."""
        if not self._held:
            self._held = True
            return
        queue = self._background if _IN_BACKGROUND.get() else self._foreground
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._hand_on()  # it was given the turn and does not take it
            elif turn in queue:
                queue.remove(turn)
            raise

    async def __aexit__(self, *_: object) -> None:
        """Hand the turn on."""
        self._hand_on()

    def _hand_on(self) -> None:
        """Give the turn to the next one; nobody can come in between."""
        first, second = self._foreground, self._background
        if self._in_a_row >= FOREGROUND_MAX or not first:
            first, second = second, first
        while queue := first or second:
            turn = queue.popleft()
            if not turn.done():
                self._in_a_row = self._in_a_row + 1 if queue is self._foreground else 0
                turn.set_result(None)
                return
        self._held, self._in_a_row = False, 0
