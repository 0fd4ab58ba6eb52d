"""The thin client that every data command is: one connection to the owner of a home.

Invariant: when the connection is lost, every pending call and every waiting reader ends at once
with `ConnectionLost`; nothing is sent again.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from server.errors import CommandFailed
from server.wire.sockets import connect_unix

FRAME_BYTES_MAX = 16 * 1_048_576
NOTIFICATIONS_MAX = 100_000
CLIENT_NAME = "memoryd"

Json = dict[str, Any]


class Link(Protocol):
    """A connection that carries whole messages; the server's transports have the same shape."""

    async def receive(self) -> bytes | str | None:
        """The next message, or None when the connection has ended."""
        ...

    async def send(self, data: bytes) -> None:
        """Send one message."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


class ConnectionLost(CommandFailed):
    """The connection ended before the answer came."""

    def __init__(self) -> None:
        super().__init__("the connection to the server was lost before it answered; try again")


class RequestRefused(CommandFailed):
    """The server answered with an error."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        self.code = error.get("code")
        self.data = error.get("data")
        super().__init__(f"{method}: {error.get('message', 'unknown error')}")


class StreamLink:
    """Newline-delimited JSON over a byte stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def unix(cls, path: Path) -> "StreamLink | None":
        """Connect to the owner's socket; None when nobody listens there."""
        try:
            connection = await asyncio.to_thread(connect_unix, path)
            reader, writer = await asyncio.open_unix_connection(
                sock=connection, limit=FRAME_BYTES_MAX
            )
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return None
        except OSError as error:
            why = error.strerror or error
            raise CommandFailed(f"socket {path} cannot be reached: {why}") from error
        return cls(reader, writer)

    async def receive(self) -> bytes | None:
        """The next line, or None at the end."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):
            return None
        return line or None

    async def send(self, data: bytes) -> None:
        """Send one line."""
        self._writer.write(data + b"\n")
        await self._writer.drain()

    async def close(self) -> None:
        """Close the stream."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class WebSocketLink:
    """One JSON object a frame, for a server at a URL."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    @classmethod
    async def connect(cls, url: str, token: str | None) -> "WebSocketLink":
        """Connect, carrying the installation's secret where it is known."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            socket = await connect(
                url, additional_headers=headers, max_size=FRAME_BYTES_MAX, compression=None
            )
        except (OSError, WebSocketException) as error:
            raise CommandFailed(f"{url} cannot be reached: {error}") from error
        return cls(socket)

    async def receive(self) -> bytes | str | None:
        """The next frame, or None at the end."""
        from websockets.exceptions import ConnectionClosed

        try:
            frame: bytes | str = await self._socket.recv()
        except ConnectionClosed:
            return None
        return frame

    async def send(self, data: bytes) -> None:
        """Send one text frame."""
        await self._socket.send(data.decode())

    async def close(self) -> None:
        """Close the socket."""
        await self._socket.close()


class Client:
    """Requests out, replies and notifications in."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.joined = False
        """Whether the other side is a process of its own."""
        self._next_id = 0
        self._pending: dict[int, tuple[str, asyncio.Future[Json]]] = {}
        self._notifications: asyncio.Queue[Json | None] = asyncio.Queue(NOTIFICATIONS_MAX)
        self._listeners: list[Callable[[Json], None]] = []
        self._reading = asyncio.create_task(self._read())

    async def open(self, version: str) -> Json:
        """Shake hands; what the server says of itself."""
        info = {"name": CLIENT_NAME, "title": "memoryd command", "version": version}
        reply = await self.request(
            "initialize", {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        )
        await self._link.send(b'{"method":"initialized"}')
        return reply

    async def request(self, method: str, params: Json | None = None) -> Json:
        """Call a method.

        Raises: RequestRefused, ConnectionLost.
        """
        if self._reading.done():
            raise ConnectionLost
        self._next_id += 1
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._pending[self._next_id] = (method, future)
        frame = {"id": self._next_id, "method": method, "params": params or {}}
        try:
            await self._link.send(json.dumps(frame).encode())
        except OSError as error:
            raise ConnectionLost from error
        return await future

    def listen(self, listener: Callable[[Json], None]) -> None:
        """Call this with every notification as it arrives."""
        self._listeners.append(listener)

    async def notifications(self) -> AsyncIterator[Json]:
        """Every notification not yet read, then each as it arrives.

        Raises: ConnectionLost.
        """
        while True:
            note = await self._notifications.get()
            if note is None:
                raise ConnectionLost
            yield note

    async def close(self) -> None:
        """End the connection and every call that still waits."""
        await self._link.close()
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    async def _read(self) -> None:
        try:
            while (data := await self._link.receive()) is not None:
                self._take(json.loads(data))
        except (ValueError, TypeError, AttributeError):
            return  # what is no message can be nobody's answer; the connection is of no use
        finally:
            for _, future in self._pending.values():
                if not future.done():
                    future.set_exception(ConnectionLost())
            self._pending.clear()
            if self._notifications.full():
                self._notifications.get_nowait()
            self._notifications.put_nowait(None)

    def _take(self, message: Json) -> None:
        if "method" in message:
            if "id" not in message:
                for listener in self._listeners:
                    listener(message)
                if not self._notifications.full():
                    self._notifications.put_nowait(message)
            return
        if message.get("id") is None:
            # What we sent could not be read, so nobody knows whose answer this is.
            for method, waiting in self._pending.values():
                if not waiting.done():
                    waiting.set_exception(RequestRefused(method, message.get("error", {})))
            self._pending.clear()
            return
        method, future = self._pending.pop(message["id"], ("", None))
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(RequestRefused(method, message["error"]))
        else:
            future.set_result(message["result"])
