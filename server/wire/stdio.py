"""One client on standard input and output.

Descriptors are looked at first, since an event loop can watch a pipe, a socket or a terminal, but
neither a file nor /dev/null.
"""

import asyncio
import os
import stat
from typing import Any

from server.wire.connection import Connect
from server.wire.limits import WireLimits
from server.wire.streams import Sink, Source, StreamTransport, WriterSink

_STDIN = 0


class StdioServer:
    """Serves the one client until its input ends."""

    def __init__(
        self,
        connect: Connect,
        *,
        limits: WireLimits,
        stdin_fd: int = _STDIN,
        stdout_fd: int,
    ) -> None:
        self._connect = connect
        self._limits = limits
        self._stdin_fd = stdin_fd
        self._stdout_fd = stdout_fd

    async def run(self) -> None:
        """Serve; returns at the end of input, and says goodbye when cancelled."""
        source, source_end = await _open_source(self._stdin_fd)
        sink = await _open_sink(self._stdout_fd, close_s=self._limits.close_s)
        transport = StreamTransport("stdio", source, sink, limits=self._limits)
        try:
            await self._connect(transport)
        finally:
            sink.close()
            source_end.close()


class _FileSource:
    """Reads what an event loop cannot watch, in threads; such a read never blocks for long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, size: int, /) -> bytes:
        """Some bytes; none at the end."""
        return await asyncio.to_thread(os.read, self._descriptor, size)

    def close(self) -> None:
        """Leave the descriptor to the process."""


class _FileSink:
    """Writes to what an event loop cannot watch, in threads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, data: bytes, /) -> None:
        """Write all of it."""
        await asyncio.to_thread(self._write_all, data)

    def close(self) -> None:
        """Leave the descriptor to the process."""

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


class _Watched:
    """A pipe under the event loop; at the end it blocks again, as its other holders expect."""

    def __init__(self, transport: asyncio.BaseTransport, descriptor: int) -> None:
        self._transport = transport
        self._descriptor = descriptor

    def close(self) -> None:
        """Stop watching."""
        if not self._transport.is_closing():
            _block_again(self._descriptor)
            self._transport.close()


async def _open_source(descriptor: int) -> tuple[Source, "_Watched | _FileSource"]:
    """Standard input as a source, by what the descriptor is."""
    if not _is_watchable(descriptor):
        file = _FileSource(descriptor)
        return file, file
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = _own_description(descriptor, os.O_RDONLY)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    return reader, _Watched(transport, pipe)


async def _open_sink(descriptor: int, *, close_s: float) -> Sink:
    """Standard output as a sink, by what the descriptor is."""
    if not _is_watchable(descriptor):
        return _FileSink(descriptor)
    loop = asyncio.get_running_loop()
    pipe = _own_description(descriptor, os.O_WRONLY)
    protocol_reader = asyncio.StreamReader()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(protocol_reader),
        os.fdopen(pipe, "wb", buffering=0),
    )
    writer: Any = asyncio.StreamWriter(transport, protocol, protocol_reader, loop)
    return WriterSink(writer, close_s=close_s)


def _is_watchable(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _own_description(descriptor: int, access: int) -> int:
    """The same pipe or terminal, opened anew where the system allows it.

    A watched descriptor does not block, and a duplicate shares that with every other holder: the
    shell behind a terminal, or a log on the same pipe. A pipe opened anew shares nothing.
    """
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        try:
            return os.open(f"/proc/self/fd/{descriptor}", access | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError:
            pass  # no such folder here, or not ours to open: the shared one serves as well
    return os.dup(descriptor)


def _block_again(descriptor: int) -> None:
    try:
        os.set_blocking(descriptor, True)
    except OSError:
        pass  # it is closed already
