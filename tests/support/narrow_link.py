"""A link that carries little at a time: what a server sends waits in its own outbox."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

PIECE_BYTES = 1_460
BUFFER_BYTES = 4_096


@asynccontextmanager
async def narrow(url: str) -> AsyncIterator[str]:
    """The URL of a way to that WebSocket that takes a packet at a time, with hardly a buffer."""
    parts = urlsplit(url)
    running: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await _carry(str(parts.hostname), int(parts.port or 0), reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=BUFFER_BYTES)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"ws://127.0.0.1:{port}{parts.path}"
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _carry(
    host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    inner = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    inner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    inner.setblocking(False)
    await asyncio.get_running_loop().sock_connect(inner, (host, port))
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
