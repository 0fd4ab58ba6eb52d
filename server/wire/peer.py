"""One attached client: what waits to be sent to it.

Invariant: nobody who sends waits, and what waits is bounded by items and bytes. Progress fills
only a part of the room and is dropped beyond it, told once by a lag marker when there is room
again. What must arrive has the rest; when that is full too, the peer is closed as too slow.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from protocol.jsonrpc import Response
from protocol.methods import SERVER_LAGGED
from server.wire.limits import WireLimits
from server.wire.transport import TOO_SLOW, Ending, TransportKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a client said of itself in `initialize`."""

    name: str
    version: str
    experimental: bool = False
    opted_out: frozenset[str] = frozenset()


MakeMarker = Callable[[str | None, int], bytes]
"""The text of a lag marker for a thread (or several) and a number of dropped messages."""


class Peer:
    """The server's side of one client; made by the hub, emptied by its connection."""

    def __init__(
        self,
        number: int,
        kind: TransportKind,
        *,
        limits: WireLimits,
        marker: MakeMarker,
        answered: "Callable[[Peer, Response], None]",
    ) -> None:
        self.id = number
        self.kind = kind
        self.introduction: Introduction | None = None
        self.initialized = False
        """Set once the reply to `initialize` is in the outbox; notifications follow it only."""
        self.closed = asyncio.Event()
        self._limits = limits
        self._marker = marker
        self._answered = answered
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._filled = asyncio.Event()
        self._behind: Counter[str | None] = Counter()
        self._dropped = 0
        self._ending: Ending | None = None
        self._cut = False

    @property
    def experimental(self) -> bool:
        """Whether it asked for what may still change."""
        return self.introduction is not None and self.introduction.experimental

    @property
    def opted_out(self) -> frozenset[str]:
        """Notifications that it does not want."""
        return frozenset() if self.introduction is None else self.introduction.opted_out

    @property
    def ending(self) -> Ending | None:
        """Set once the peer is to be closed."""
        return self._ending

    @property
    def is_cut(self) -> bool:
        """Whether it is to be closed without what waits for it."""
        return self._cut

    @property
    def waiting(self) -> int:
        """How many messages wait for it to read."""
        return len(self._outbox)

    @property
    def fill(self) -> float:
        """How much of its room is taken, in bytes; 1 is all of it."""
        return self._outbox_bytes / self._limits.outbox_bytes_max

    @property
    def dropped(self) -> int:
        """Messages that it will never get."""
        return self._dropped

    def introduce(self, introduction: Introduction) -> None:
        """Note what the client said of itself; the handler of `initialize` calls this once."""
        self.introduction = introduction

    def send(self, frame: bytes, *, lossless: bool, thread_id: str | None = None) -> None:
        """Put a message into the outbox, or drop it, or give the peer up; never waits."""
        if self._ending is not None:
            return
        limits, share = self._limits, 1.0 if lossless else self._limits.droppable_share
        # A message larger than the room passes when it is alone; otherwise it never could.
        fits = not self._outbox or (
            len(self._outbox) < limits.outbox_items_max * share
            and self._outbox_bytes + len(frame) <= limits.outbox_bytes_max * share
        )
        if lossless and not fits:
            self._dropped += len(self._outbox) + 1
            self.cut(TOO_SLOW, f"too slow, {self._dropped} dropped")
        elif lossless or (fits and not self._behind):
            self._put(frame)
        else:
            self._dropped += 1
            many = len(self._behind) >= limits.lag_markers_max and thread_id not in self._behind
            self._behind[None if many else thread_id] += 1

    async def take(self) -> list[bytes]:
        """Wait for messages and take a batch out; empty when no more will come."""
        while not self._outbox:
            if self._ending is not None:
                return []
            self._filled.clear()
            await self._filled.wait()
        batch: list[bytes] = []
        size = 0
        while self._outbox and (not batch or size < self._limits.batch_bytes_max):
            frame = self._outbox.popleft()
            size += len(frame)
            batch.append(frame)
        self._outbox_bytes -= size
        if self._behind and self._has_room():
            self._tell_lag()
        return batch

    def end(self, code: int, reason: str) -> None:
        """Take nothing more; what waits may still be sent."""
        if self._ending is None:
            self._ending = Ending(code, reason)
            if self._behind:
                self._tell_lag()
            self._stop()

    def cut(self, code: int, reason: str) -> None:
        """Take nothing more and forget what waits."""
        if self._ending is None:
            self._ending = Ending(code, reason)
        self._cut = True
        self._outbox.clear()
        self._outbox_bytes = 0
        self._stop()

    def answer(self, response: Response) -> None:
        """Take the client's answer to a question of ours."""
        self._answered(self, response)

    def _put(self, frame: bytes) -> None:
        self._outbox.append(frame)
        self._outbox_bytes += len(frame)
        self._filled.set()

    def _has_room(self) -> bool:
        """Half of the room for progress is free; less, and markers would follow one another."""
        share = self._limits.droppable_share / 2
        return (
            len(self._outbox) <= self._limits.outbox_items_max * share
            and self._outbox_bytes <= self._limits.outbox_bytes_max * share
        )

    def _tell_lag(self) -> None:
        for thread_id, count in self._behind.items():
            if SERVER_LAGGED.name not in self.opted_out:
                self._put(self._marker(thread_id, count))
        self._behind.clear()

    def _stop(self) -> None:
        self._filled.set()
        self.closed.set()
