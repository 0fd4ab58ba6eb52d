"""Raw links to a server, one for each transport: frames out, frames in, how it was closed."""

import asyncio
import contextlib
import os
from typing import Protocol

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from server.wire.pair import PairClient
from server.wire.transport import PeerGone

LINE_BYTES_MAX = 8 << 20


class Link(Protocol):
    """Raw frames to and from a server."""

    async def send(self, frame: bytes) -> None:
        """Send one message, whatever bytes it is."""
        ...

    async def receive(self) -> bytes | None:
        """The next message, or None when the server has closed."""
        ...

    async def close(self) -> None:
        """Leave."""
        ...

    @property
    def close_code(self) -> int | None:
        """The code that the server closed with, where the transport has codes."""
        ...

    @property
    def close_reason(self) -> str | None:
        """Its reason."""
        ...


async def line_link(read_fd: int, write_fd: int) -> "LineLink":
    """A link over two pipe descriptors, which it owns from now on."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    read_transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
    )
    unused = asyncio.StreamReader()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(unused), os.fdopen(write_fd, "wb", buffering=0)
    )
    writer = asyncio.StreamWriter(transport, protocol, unused, loop)
    return LineLink(reader, writer, read_transport)


class PairLink:
    """A link in this process."""

    def __init__(self, client: PairClient) -> None:
        self._client = client

    async def send(self, frame: bytes) -> None:
        """Send one message."""
        await self._client.send(frame)

    async def receive(self) -> bytes | None:
        """The next message."""
        return await self._client.receive()

    async def close(self) -> None:
        """Leave."""
        with contextlib.suppress(PeerGone):
            await self._client.close()

    @property
    def close_code(self) -> int | None:
        """The code that the server closed with."""
        return self._client.ending.code if self._client.ending else None

    @property
    def close_reason(self) -> str | None:
        """Its reason."""
        return self._client.ending.reason if self._client.ending else None


class WebSocketLink:
    """A link over a WebSocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, frame: bytes) -> None:
        """Send one text frame, also of bytes that are no UTF-8."""
        await self.connection.send(frame, text=True)

    async def receive(self) -> bytes | None:
        """The next message."""
        try:
            return await self.connection.recv(decode=False)
        except ConnectionClosed:
            return None

    def fall_silent(self) -> None:
        """Read nothing more and so answer nothing, not even whether it is there."""
        self.connection.transport.pause_reading()

    def wake(self) -> None:
        """Read again."""
        self.connection.transport.resume_reading()

    def cut(self) -> None:
        """End it without a word."""
        self.connection.transport.abort()

    async def close(self) -> None:
        """Leave."""
        await self.connection.close()

    @property
    def close_code(self) -> int | None:
        """The code that the server closed with."""
        return self.connection.close_code

    @property
    def close_reason(self) -> str | None:
        """Its reason."""
        return self.connection.close_reason


class LineLink:
    """A link over byte streams."""

    close_code = None
    close_reason = None

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        read_transport: asyncio.BaseTransport | None = None,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._read_transport = read_transport

    async def send(self, frame: bytes) -> None:
        """Send one line."""
        await self.send_bytes(frame + b"\n")

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes | None:
        """The next line."""
        try:
            line = await self.reader.readline()
        except ConnectionResetError:
            return None
        return line.rstrip(b"\n") or None

    async def close(self) -> None:
        """Say that nothing more will be sent."""
        if self.writer.can_write_eof():
            with contextlib.suppress(OSError):
                self.writer.write_eof()
        else:
            self.writer.close()

    def fall_silent(self) -> None:
        """Read nothing more."""
        transport: asyncio.ReadTransport = self.reader._transport  # type: ignore[attr-defined]
        transport.pause_reading()

    def wake(self) -> None:
        """Read again."""
        transport: asyncio.ReadTransport = self.reader._transport  # type: ignore[attr-defined]
        transport.resume_reading()

    def cut(self) -> None:
        """End it without a word."""
        self.writer.transport.abort()

    def abandon(self) -> None:
        """Close both directions at once."""
        self.writer.close()
        if self._read_transport is not None:
            self._read_transport.close()


class BridgedLink(LineLink):
    """A link to a process that carries lines to the owner of its home."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        super().__init__(process.stdout, process.stdin)
        self._process = process

    def cut(self) -> None:
        """Kill the bridge, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
