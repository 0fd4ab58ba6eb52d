"""A link that carries little at a time: what a server sends waits in its own outbox."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

PIECE_BYTES = 1_460
BUFFER_BYTES = 4_096


@asynccontextmanager
async def narrow(url: str) -> AsyncIterator[str]:
    """The URL of a way to that WebSocket that takes a packet at a time, with hardly a buffer."""
    parts = urlsplit(url)
    carrier = _Carrier(socket.AF_INET, (str(parts.hostname), int(parts.port or 0)))
    server = await asyncio.start_server(carrier.accept, "127.0.0.1", 0, limit=BUFFER_BYTES)
    async with carrier.running(server):
        port = server.sockets[0].getsockname()[1]
        yield f"ws://127.0.0.1:{port}{parts.path}"


@asynccontextmanager
async def narrow_unix(path: Path, way: Path) -> AsyncIterator[None]:
    """The same to a Unix socket, by another one at `way`."""
    way.parent.mkdir(parents=True, exist_ok=True)
    carrier = _Carrier(socket.AF_UNIX, str(path))
    server = await asyncio.start_unix_server(carrier.accept, way, limit=BUFFER_BYTES)
    async with carrier.running(server):
        yield


class _Carrier:
    """Carries what every accepted connection brings to and from one address."""

    def __init__(self, family: socket.AddressFamily, address: tuple[str, int] | str) -> None:
        self._family = family
        self._address = address
        self._running: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await self._carry(reader, writer)

    @asynccontextmanager
    async def running(self, server: asyncio.Server) -> AsyncIterator[None]:
        """While the block runs."""
        try:
            yield
        finally:
            server.close()
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = socket.socket(self._family, socket.SOCK_STREAM)
        inner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        inner.setblocking(False)
        await asyncio.get_running_loop().sock_connect(inner, self._address)
        from_server, to_server = await asyncio.open_connection(sock=inner, limit=BUFFER_BYTES)
        writer.transport.set_write_buffer_limits(high=PIECE_BYTES)
        ways = [
            asyncio.create_task(_pump(reader, to_server)),
            asyncio.create_task(_pump(from_server, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for one in (to_server, writer):
                one.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
