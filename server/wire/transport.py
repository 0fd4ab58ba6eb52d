"""What every transport offers: whole messages in, batches of messages out, a coded end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from protocol.errors import WireError
from protocol.jsonrpc import RequestId, error_reply

TransportKind = Literal["websocket", "unix-websocket", "relay", "stdio", "pair"]

NORMAL = 1000
GOING_AWAY = 1001
TOO_SLOW = 4008


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Input that is no message for a reason the transport knows; it is answered all the same."""

    error: WireError
    id: RequestId | None = None
    ends: bool = False
    """Whether nothing behind it can be read, so that the connection is over."""

    @property
    def reply(self) -> bytes:
        """The error reply as JSON text."""
        return error_reply(self.id, self.error)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection is closed, as its transport says it."""

    code: int
    reason: str


class PeerGone(ConnectionError):
    """The other side no longer takes messages."""


class Transport(Protocol):
    """One attached client as bytes; `receive` and `send` are each called by one task."""

    @property
    def kind(self) -> TransportKind:
        """How the client is attached."""
        ...

    async def receive(self) -> bytes | Refused | None:
        """The next message, or None when there will be none."""
        ...

    async def send(self, frames: Sequence[bytes]) -> None:
        """Hand over messages, in order; waits while the other side does not read.

        Raises: PeerGone.
        """
        ...

    async def close(self, code: int, reason: str) -> None:
        """End the connection without waiting for a side that does not read."""
        ...
