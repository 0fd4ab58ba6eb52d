"""A byte stream as a transport: one JSON object a line, both ways."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from server.wire.limits import WireLimits
from server.wire.lines import LineCutter
from server.wire.transport import PeerGone, Refused, TransportKind

_CHUNK_BYTES = 1 << 16


class Source(Protocol):
    """Where bytes come from."""

    async def read(self, size: int, /) -> bytes:
        """Some bytes; none at the end.

        Raises: OSError.
        """
        ...


class Sink(Protocol):
    """Where bytes go."""

    async def write(self, data: bytes, /) -> None:
        """Hand over bytes; waits while they are not taken.

        Raises: OSError.
        """
        ...

    def close(self) -> None:
        """End it without waiting."""
        ...


class StreamTransport:
    """A client behind a pair of byte streams."""

    def __init__(
        self,
        kind: TransportKind,
        source: Source,
        sink: Sink,
        *,
        limits: WireLimits,
        at_close: Callable[[], None] | None = None,
    ) -> None:
        self._kind = kind
        self._source = source
        self._sink = sink
        self._cutter = LineCutter(limits)
        self._ready: deque[bytes | Refused] = deque()
        self._ended = False
        self._at_close = at_close

    @property
    def kind(self) -> TransportKind:
        """How the client is attached."""
        return self._kind

    async def receive(self) -> bytes | Refused | None:
        """The next line, or None at the end of the stream."""
        while not self._ready:
            if self._ended:
                return None
            try:
                chunk = await self._source.read(_CHUNK_BYTES)
            except OSError:
                chunk = b""
            if chunk:
                self._ready.extend(self._cutter.feed(chunk))
            else:
                self._ended = True
                self._ready.extend(self._cutter.finish())
        return self._ready.popleft()

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write messages as lines, in one piece.

        Raises: PeerGone.
        """
        try:
            await self._sink.write(b"\n".join(frames) + b"\n")
        except OSError as error:
            raise PeerGone from error

    async def close(self, code: int, reason: str) -> None:
        """End both directions; a byte stream has no place for code and reason."""
        self._sink.close()
        if self._at_close is not None:
            self._at_close()


class WriterSink:
    """A sink over asyncio's stream writer; a reader that is stuck is cut at the end."""

    def __init__(self, writer: asyncio.StreamWriter, *, close_s: float) -> None:
        self._writer = writer
        # With no room in between, `drain` returns once the kernel has everything, so a batch that
        # was sent is not lost when the process ends, and the outbox counts what waits.
        writer.transport.set_write_buffer_limits(high=0)
        self._close_s = close_s

    async def write(self, data: bytes, /) -> None:
        """Write, and wait while the transport is full."""
        if self._writer.is_closing():
            raise ConnectionResetError("the stream is closed")
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """Close once what was written is gone, or after a while without that."""
        transport = self._writer.transport
        if not transport.is_closing():
            self._writer.close()
        if transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(self._close_s, transport.abort)
