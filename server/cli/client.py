"""The thin client that every data command is: one connection to the owner of a home.

Invariant: when the connection is lost, every pending call and every waiting reader ends at once
with `ConnectionLost`, in whatever way it was lost; nothing is sent again. A question of the server
is refused at once, since nobody is here to answer it: the turn that asks does not wait for us.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from server.errors import CommandFailed
from server.wire.sockets import connect_unix

FRAME_BYTES_MAX = 16 * 1_048_576
NOTIFICATIONS_MAX = 100_000
CLOSE_S = 1.0
"""How long a server may take to see our end; then the connection is cut."""
METHOD_NOT_FOUND = -32601
CLIENT_NAME = "memoryd"

Json = dict[str, Any]


class Link(Protocol):
    """A connection that carries whole messages; the server's transports have the same shape."""

    async def receive(self) -> bytes | str | None:
        """The next message, or None when the connection has ended."""
        ...

    async def send(self, data: bytes) -> None:
        """Send one message; waits while the other side does not read.

        Raises: OSError when the connection is lost.
        """
        ...

    async def close(self) -> None:
        """End the connection, also with a side that does not read."""
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
        await _in_time(self._writer.wait_closed(), self._writer.transport)


class WebSocketLink:
    """One JSON object a frame, for a server at a URL."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    @classmethod
    async def connect(cls, url: str, token: str | None) -> "WebSocketLink":
        """Connect, carrying the installation's secret: to this machine alone, and no second one.

        Raises: CommandFailed.
        """
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        from server.wire.auth import is_foreign_host

        parts = urlsplit(url)
        foreign = is_foreign_host(parts.netloc)
        carries = token and not parts.query and not foreign
        headers = {"Authorization": f"Bearer {token}"} if carries else {}
        shown = parts._replace(query="").geturl()  # a secret may stand there
        if parts.scheme not in ("ws", "wss"):
            raise CommandFailed(f"{shown} is no server's address, such as ws://127.0.0.1:4500")
        try:
            socket = await connect(
                url,
                additional_headers=headers,
                max_size=FRAME_BYTES_MAX,
                compression=None,
                proxy=True if foreign else None,
                close_timeout=CLOSE_S,
            )
        except InvalidStatus as error:
            if error.response.status_code != HTTPStatus.UNAUTHORIZED:
                raise CommandFailed(f"{shown} is no app-server: {error}") from error
            raise CommandFailed(
                f"{shown} does not know this secret: name the home of that server with --home, "
                "or give its secret in the address, `?token=…`"
            ) from error
        except (OSError, WebSocketException) as error:
            raise CommandFailed(
                f"{shown} cannot be reached: {error}; `memoryd serve` starts a server"
            ) from error
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
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(data.decode())
        except ConnectionClosed as closed:
            raise ConnectionResetError("the WebSocket is closed") from closed

    async def close(self) -> None:
        """Close the socket; its own time-out begins only when the server reads."""
        await _in_time(self._socket.close(), self._socket.transport)


async def _in_time(closing: Coroutine[Any, Any, None], transport: asyncio.WriteTransport) -> None:
    """Wait a moment for a good end, then for the end."""
    task = asyncio.ensure_future(closing)
    await asyncio.wait({task}, timeout=CLOSE_S)
    transport.abort()
    with suppress(OSError):
        await task


class Client:
    """Requests out, replies and notifications in."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.joined = False
        """Whether the other side is a process of its own."""
        self._next_id = 0
        self._pending: dict[int, asyncio.Future[Json | None]] = {}
        """Calls that wait for their reply; None is that there will be none."""
        self._notifications: asyncio.Queue[Json | None] = asyncio.Queue(NOTIFICATIONS_MAX)
        self._listeners: list[Callable[[Json], None]] = []
        self._refusing: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    @property
    def pending(self) -> int:
        """How many calls wait for their reply."""
        return len(self._pending)

    async def open(self, version: str) -> Json:
        """Shake hands; what the server says of itself.

        Raises: RequestRefused, ConnectionLost.
        """
        info = {"name": CLIENT_NAME, "title": "memoryd command", "version": version}
        reply = await self.request(
            "initialize", {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        )
        try:
            await self._link.send(b'{"method":"initialized"}')
        except OSError as error:
            raise ConnectionLost from error
        return reply

    async def request(self, method: str, params: Json | None = None) -> Json:
        """Call a method.

        Raises: RequestRefused, ConnectionLost.
        """
        if self._reading.done():
            raise ConnectionLost
        self._next_id += 1
        number = self._next_id
        answer: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        frame = {"id": number, "method": method, "params": params or {}}
        # Beside the wait for the answer: a server that is gone may leave a message half sent.
        sending = asyncio.ensure_future(self._link.send(json.dumps(frame).encode()))
        either: set[asyncio.Future[Any]] = {sending, answer}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
            reply = await answer
        except OSError as error:
            raise ConnectionLost from error
        finally:
            sending.cancel()
            self._pending.pop(number, None)
        if reply is None:
            raise ConnectionLost
        if "error" in reply:
            raise RequestRefused(method, reply["error"])
        result: Json = reply["result"]
        return result

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
                self._notifications.put_nowait(None)  # for whoever else reads, now or later
                raise ConnectionLost
            yield note

    async def close(self) -> None:
        """End every call and reader that still waits, then the connection."""
        for task in (self._reading, *self._refusing):
            task.cancel()
        await asyncio.wait({self._reading, *self._refusing})
        await self._link.close()

    async def _read(self) -> None:
        try:
            while (data := await self._link.receive()) is not None:
                self._take(json.loads(data))
        except (ValueError, RecursionError):
            return  # what is no message can be nobody's answer; the connection is of no use
        finally:
            self._reply_to_all(None)
            if self._notifications.full():
                self._notifications.get_nowait()
            self._notifications.put_nowait(None)

    def _take(self, message: Any) -> None:
        """Give a message to whom it is for.

        Raises: ValueError if it is none.
        """
        match message:
            case {"method": str(method), "id": int() | str() as number}:
                refusing = asyncio.create_task(self._refuse(number, method))
                self._refusing.add(refusing)
                refusing.add_done_callback(self._refusing.discard)
            case {"method": str()}:
                for listener in self._listeners:
                    listener(message)
                if not self._notifications.full():
                    self._notifications.put_nowait(message)
            case {"id": None, "error": {}}:
                # What we sent could not be read, so nobody knows whose answer this is.
                self._reply_to_all(message)
            case {"id": int(number), "error": {}} | {"id": int(number), "result": _}:
                answer = self._pending.pop(number, None)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case _:
                raise ValueError("neither a reply nor a notification")

    async def _refuse(self, number: int | str, method: str) -> None:
        """Say that nobody here answers questions, so that another client or the policy does."""
        error = {"code": METHOD_NOT_FOUND, "message": f"{method}: {CLIENT_NAME} answers none"}
        with suppress(OSError):
            await self._link.send(json.dumps({"id": number, "error": error}).encode())

    def _reply_to_all(self, reply: Json | None) -> None:
        for answer in self._pending.values():
            if not answer.done():
                answer.set_result(reply)
        self._pending.clear()
