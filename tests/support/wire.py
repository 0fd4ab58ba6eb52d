"""Clients for every transport, and listeners for them around one `connect`.

async with wired(connect, tmp_path) as wire, wire.client("websocket") as client:
    result = await client.request("thread/start", {"cwd": "/w"})
    event = await client.notification("thread/started")
"""

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal

import orjson
from websockets.asyncio.client import connect

from server.wire.auth import NoAuth
from server.wire.connection import Connect, Connections
from server.wire.http import HttpListener, TcpAddress, UnixAddress
from server.wire.limits import WireLimits
from server.wire.pair import make_pair
from server.wire.sockets import connect_unix
from server.wire.stdio import StdioServer
from server.wire.unix import RelayListener
from state.clock import Clock, SystemClock
from tests.support.wire_links import (
    LINE_BYTES_MAX,
    LineLink,
    Link,
    PairLink,
    WebSocketLink,
    line_link,
)

Kind = Literal["pair", "websocket", "stdio", "relay", "unix-websocket"]
KINDS: tuple[Kind, ...] = ("pair", "websocket", "stdio", "relay", "unix-websocket")
WAIT_S = 20.0  # of one event; only a failure takes so long, also on a busy machine


class RpcError(Exception):
    """An error reply."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")
        super().__init__(f"{self.code} {self.message}")


class WireClient:
    """A client that sorts what arrives: replies by id, notifications, everything in `frames`."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.frames: list[dict[str, Any]] = []
        self.closed = asyncio.Event()
        self._ids = itertools.count(1)
        self._replies: dict[int | str, asyncio.Future[dict[str, Any]]] = {}
        self._notifications: list[dict[str, Any]] = []
        self._requests: list[dict[str, Any]] = []
        self._strays: list[dict[str, Any]] = []
        self._arrived = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def initialize(
        self, *, experimental: bool = True, opt_out: list[str] | None = None
    ) -> dict[str, Any]:
        """Shake hands."""
        capabilities = {
            "experimentalApi": experimental,
            "optOutNotificationMethods": opt_out,
        }
        info = {"name": "test_client", "version": "1.0"}
        result: dict[str, Any] = await self.request(
            "initialize", {"clientInfo": info, "capabilities": capabilities}
        )
        await self.notify("initialized")
        return result

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Call a method; the result, or RpcError."""
        reply = await self.reply(method, params)
        if "error" in reply:
            raise RpcError(reply["error"])
        return reply["result"]

    async def reply(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a method; the whole reply, of success or failure."""
        return await asyncio.wait_for(await self.begin(method, params), WAIT_S)

    async def begin(
        self, method: str, params: Mapping[str, Any] | None = None
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a call; its whole reply is still to come."""
        number = next(self._ids)
        waiting = self.expect(number)
        message: dict[str, Any] = {"id": number, "method": method}
        if params is not None:
            message["params"] = params
        await self.link.send(orjson.dumps(message))
        return waiting

    def expect(self, request_id: int | str) -> asyncio.Future[dict[str, Any]]:
        """The reply to an id that a raw message will carry."""
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._replies[request_id] = waiting
        return waiting

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        message: dict[str, Any] = {"method": method}
        if params is not None:
            message["params"] = params
        await self.link.send(orjson.dumps(message))

    async def answer(self, request_id: int | str, result: Any) -> None:
        """Answer a request of the server."""
        await self.link.send(orjson.dumps({"id": request_id, "result": result}))

    async def notification(self, method: str) -> dict[str, Any]:
        """The next notification of that name, taken out; waits for it. Its params."""
        params: dict[str, Any] = (await self._next(self._notifications, method))["params"]
        return params

    async def server_request(self, method: str) -> dict[str, Any]:
        """The next request of the server of that name, taken out; waits for it."""
        return await self._next(self._requests, method)

    async def one_more_than(self, frames: int) -> bool:
        """Wait until more frames than that have come; False when none comes in time."""
        try:
            async with asyncio.timeout(WAIT_S), self._arrived:
                await self._arrived.wait_for(
                    lambda: len(self.frames) > frames or self.closed.is_set()
                )
        except TimeoutError:
            return False
        return len(self.frames) > frames

    async def stray(self) -> dict[str, Any]:
        """The next reply to nothing that was expected, such as one with id null."""
        return await self._next(self._strays, None)

    def notifications(self, method: str | None = None) -> list[dict[str, Any]]:
        """What has arrived until now and was not taken out, in order; nothing is waited for."""
        return [one for one in self._notifications if method in (None, one["method"])]

    async def close(self) -> None:
        """Leave, and wait until the server has seen it."""
        await self.link.close()
        await asyncio.wait_for(self._reader, WAIT_S)

    async def _next(self, box: list[dict[str, Any]], method: str | None) -> dict[str, Any]:
        def position() -> int | None:
            for index, message in enumerate(box):
                if method in (None, message.get("method")):
                    return index
            return None

        async with asyncio.timeout(WAIT_S), self._arrived:
            await self._arrived.wait_for(lambda: position() is not None or self.closed.is_set())
        index = position()
        if index is None:
            raise AssertionError(f"the server closed before {method or 'a message'} came")
        return box.pop(index)

    async def _read(self) -> None:
        while (frame := await self.link.receive()) is not None:
            message = orjson.loads(frame)
            self.frames.append(message)
            self._sort(message)
            async with self._arrived:
                self._arrived.notify_all()
        self.closed.set()
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the server closed"))
                waiting.exception()
        async with self._arrived:
            self._arrived.notify_all()

    def _sort(self, message: dict[str, Any]) -> None:
        if "method" in message:
            (self._requests if "id" in message else self._notifications).append(message)
            return
        waiting = self._replies.pop(message["id"], None) if message["id"] is not None else None
        if waiting is None:
            self._strays.append(message)
        elif not waiting.done():
            waiting.set_result(message)


class Wire:
    """Listeners of every kind around one `connect`; each is started when first asked for."""

    def __init__(self, connect: Connect, folder: Path, *, limits: WireLimits, clock: Clock) -> None:
        self._connect = connect
        self._folder = folder
        self._limits = limits
        self._clock = clock
        self._pairs = Connections(connect, limits)
        self._http: HttpListener | None = None
        self._unix: HttpListener | None = None
        self._relay: RelayListener | None = None

    @property
    def relay_path(self) -> Path:
        """Where the relay socket is."""
        return self._folder / "run" / "relay.sock"

    async def http(self) -> HttpListener:
        """The TCP listener, without a credential."""
        if self._http is None:
            where = TcpAddress(host="127.0.0.1", port=0, auth=NoAuth())
            self._http = HttpListener(where, self._connect, limits=self._limits, clock=self._clock)
            await self._http.start()
        return self._http

    async def relay(self) -> RelayListener:
        """The relay listener."""
        if self._relay is None:
            self._relay = RelayListener(self.relay_path, self._connect, limits=self._limits)
            await self._relay.start()
        return self._relay

    async def unix(self) -> HttpListener:
        """The WebSocket listener on a Unix socket."""
        if self._unix is None:
            where = UnixAddress(self._folder / "control.sock")
            self._unix = HttpListener(where, self._connect, limits=self._limits, clock=self._clock)
            await self._unix.start()
        return self._unix

    async def stop(self, drain_s: float = 1.0) -> None:
        """Stop what was started."""
        for listener in (self._http, self._unix, self._relay):
            if listener is not None:
                await listener.stop(drain_s)
        await self._pairs.stop(drain_s)
        self._http = self._unix = self._relay = None

    @contextlib.asynccontextmanager
    async def client(
        self, kind: Kind, *, initialize: bool = True, experimental: bool = True
    ) -> AsyncIterator[WireClient]:
        """A client of that kind, initialised unless told otherwise; it leaves at the end."""
        async with self.link(kind) as link:
            client = WireClient(link)
            try:
                if initialize:
                    await client.initialize(experimental=experimental)
                yield client
            finally:
                await client.close()

    @contextlib.asynccontextmanager
    async def link(self, kind: Kind) -> AsyncIterator[Link]:
        """The raw link under a client of that kind."""
        match kind:
            case "pair":
                transport, client = make_pair()
                self._pairs.begin(transport)
                yield PairLink(client)
            case "websocket":
                address = (await self.http()).address
                async with connect(address, **_WEBSOCKET) as socket_:
                    yield WebSocketLink(socket_)
            case "unix-websocket":
                await self.unix()
                connection = connect_unix(self._folder / "control.sock")
                async with connect("ws://localhost/", sock=connection, **_WEBSOCKET) as socket_:
                    yield WebSocketLink(socket_)
            case "relay":
                await self.relay()
                connection = connect_unix(self.relay_path)
                reader, writer = await asyncio.open_unix_connection(
                    sock=connection, limit=LINE_BYTES_MAX
                )
                try:
                    yield LineLink(reader, writer)
                finally:
                    writer.close()
            case "stdio":
                async with self._stdio() as link:
                    yield link

    @contextlib.asynccontextmanager
    async def _stdio(self) -> AsyncIterator[LineLink]:
        """A stdio server on two pipes of this process."""
        stdin_read, stdin_write = os.pipe()
        stdout_read, stdout_write = os.pipe()
        server = StdioServer(
            self._connect, limits=self._limits, stdin_fd=stdin_read, stdout_fd=stdout_write
        )
        running = asyncio.create_task(server.run())

        def ended(task: asyncio.Task[None]) -> None:
            os.close(stdout_write)

        running.add_done_callback(ended)
        link = await line_link(stdout_read, stdin_write)
        try:
            yield link
        finally:
            await link.close()
            await asyncio.wait_for(running, WAIT_S)
            link.abandon()
            os.close(stdin_read)


_WEBSOCKET: dict[str, Any] = {
    "compression": None,
    "max_size": LINE_BYTES_MAX,
    "ping_interval": None,
    "proxy": None,
}


@contextlib.asynccontextmanager
async def wired(
    connect_: Connect,
    folder: Path,
    *,
    limits: WireLimits | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Wire]:
    """Every transport around one `connect`; all is stopped at the end."""
    wire = Wire(connect_, folder, limits=limits or WireLimits(), clock=clock or SystemClock())
    try:
        yield wire
    finally:
        await wire.stop()
