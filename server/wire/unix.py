"""The relay socket: newline-delimited JSON-RPC into the process that owns the home."""

import asyncio
import socket
from pathlib import Path

from server.wire.connection import Connect, Connections
from server.wire.limits import WireLimits
from server.wire.sockets import bind_unix, remove_unix
from server.wire.streams import StreamTransport, WriterSink


class RelayListener:
    """Serves every relaying process; only the holder of the owner lock starts one."""

    def __init__(self, path: Path, connect: Connect, *, limits: WireLimits) -> None:
        self._path = path
        self._limits = limits
        self._connections = Connections(connect, limits)
        self._listener: socket.socket | None = None
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"relay://{self._path}"

    async def start(self) -> None:
        """Bind and accept.

        Raises: AddressRefused.
        """
        listener = bind_unix(self._path)
        self._listener = listener
        self._server = await asyncio.start_unix_server(self._accept, sock=listener)

    async def stop(self, drain_s: float) -> None:
        """Accept no more, let the attached say goodbye within that time, then cut them."""
        if self._server is None or self._listener is None:
            return
        self._server.close()
        remove_unix(self._path, self._listener)
        await self._connections.stop(drain_s)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections.full:
            writer.close()
            return
        sink = WriterSink(writer, close_s=self._limits.close_s)
        self._connections.begin(StreamTransport("relay", reader, sink, limits=self._limits))
