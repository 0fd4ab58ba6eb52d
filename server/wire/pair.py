"""A client in our own process, attached by two bounded queues.

Commands that work on the home of a server of their own use it, and so do tests: the same frames
and rules as on a socket, without one.
"""

import asyncio
from collections.abc import Sequence

from server.wire.transport import Ending, PeerGone, Refused, TransportKind

_WAITING_MAX = 64


def make_pair() -> tuple["PairTransport", "PairClient"]:
    """The two ends: the first is for `serve_connection`, the second for the client."""
    upwards: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING_MAX)
    downwards: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MAX)
    over = asyncio.Event()
    transport = PairTransport(upwards, downwards, over)
    return transport, PairClient(upwards, downwards, over, transport)


class PairTransport:
    """The server's end."""

    kind: TransportKind = "pair"

    def __init__(
        self,
        upwards: asyncio.Queue[bytes | None],
        downwards: asyncio.Queue[bytes],
        over: asyncio.Event,
    ) -> None:
        self._upwards = upwards
        self._downwards = downwards
        self._over = over
        self.ending: Ending | None = None
        """How the server closed it; None while it is open."""

    async def receive(self) -> bytes | Refused | None:
        """The next message, or None when the client is done."""
        return await self._upwards.get()

    async def send(self, frames: Sequence[bytes]) -> None:
        """Hand over messages; waits while the client does not read."""
        for frame in frames:
            if self._over.is_set():
                raise PeerGone
            await self._downwards.put(frame)

    async def close(self, code: int, reason: str) -> None:
        """End it; what was handed over can still be read."""
        if self.ending is None:
            self.ending = Ending(code, reason)
        self._over.set()


class PairClient:
    """The client's end."""

    def __init__(
        self,
        upwards: asyncio.Queue[bytes | None],
        downwards: asyncio.Queue[bytes],
        over: asyncio.Event,
        transport: PairTransport,
    ) -> None:
        self._upwards = upwards
        self._downwards = downwards
        self._over = over
        self._transport = transport

    @property
    def ending(self) -> Ending | None:
        """How the server closed it; None while it is open."""
        return self._transport.ending

    async def send(self, frame: bytes) -> None:
        """Send one message; waits while the server does not read.

        Raises: PeerGone.
        """
        if self._over.is_set():
            raise PeerGone
        await self._upwards.put(frame)

    async def receive(self) -> bytes | None:
        """The next message, or None when the server has closed and all was read."""
        if self._downwards.empty() and not self._over.is_set():
            arrival = asyncio.ensure_future(self._downwards.get())
            closing = asyncio.ensure_future(self._over.wait())
            try:
                await asyncio.wait({arrival, closing}, return_when=asyncio.FIRST_COMPLETED)
                if arrival.done():
                    return arrival.result()
            finally:
                arrival.cancel()
                closing.cancel()
        return None if self._downwards.empty() else self._downwards.get_nowait()

    async def close(self) -> None:
        """Say that nothing more will be sent; answers under way still arrive."""
        if not self._over.is_set():
            await self._upwards.put(None)
