"""WebSocket and health over HTTP, on a TCP port or a Unix socket that we bound.

The order at the door: host name, origin, path, credential, upgrade. One text frame is one message;
the frames of a batch are written at once. A client that does not read is never waited for at the
end: its socket is cut after a moment.
"""

import asyncio
import logging
import socket
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from protocol.errors import PARSE_ERROR, WireError
from server.wire.auth import AuthPolicy, NoAuth, is_foreign_host, refusal
from server.wire.connection import Connect, Connections
from server.wire.limits import WireLimits
from server.wire.sockets import bind_tcp, bind_unix, is_loopback, remove_unix, unconfirmed_s
from server.wire.transport import TOO_SLOW, PeerGone, Refused, TransportKind
from state.clock import Clock

_BINARY = b"\0 binary frame"
"""Stands for the content of a binary frame, which nobody looks at."""
_REASON_BYTES_MAX = 120
_LOOK_S = 1.0
"""Between two looks at what the other machine has confirmed, while something is under way."""
_READING = ("GET", "HEAD")
_OK, _BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_ALLOWED = 200, 400, 401, 403, 405
_UNAVAILABLE = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpAddress:
    """A port on an IP literal, and who may attach there."""

    host: str
    port: int
    auth: AuthPolicy


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket, guarded by its mode alone."""

    path: Path


class HttpListener:
    """Accepts WebSocket clients and answers health checks."""

    def __init__(
        self,
        where: TcpAddress | UnixAddress,
        connect: Connect,
        *,
        limits: WireLimits,
        clock: Clock,
    ) -> None:
        self._where = where
        self._limits = limits
        self._connections = Connections(connect, limits)
        door = _Door(where, clock)
        app = _application(door, self._connections)
        self._config = uvicorn.Config(
            _Gate(app, door),
            loop="none",
            http="auto",
            ws=_frames_protocol(limits),
            ws_max_size=limits.frame_bytes_max,
            ws_ping_interval=limits.ping_interval_s,
            ws_ping_timeout=limits.ping_timeout_s,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
        )
        self._server: uvicorn.Server | None = None
        self._listener: socket.socket | None = None
        self._port = where.port if isinstance(where, TcpAddress) else 0

    @property
    def address(self) -> str:
        """Where it listens, as a client writes it."""
        if isinstance(self._where, UnixAddress):
            return f"unix://{self._where.path}"
        host = f"[{self._where.host}]" if ":" in self._where.host else self._where.host
        return f"ws://{host}:{self._port}"

    async def start(self) -> None:
        """Bind and accept.

        Raises: AddressRefused.
        """
        if isinstance(self._where, UnixAddress):
            self._listener = bind_unix(self._where.path)
        else:
            self._listener = bind_tcp(self._where.host, self._where.port)
            self._port = self._listener.getsockname()[1]
        # It logs request lines, and their query may hold the secret.
        log = logging.getLogger("uvicorn.error")
        log.setLevel(logging.WARNING)
        log.addFilter(_is_no_refusal)
        self._config.load()
        server = uvicorn.Server(self._config)
        server.lifespan = self._config.lifespan_class(self._config)
        await server.startup(sockets=[self._listener])
        self._server = server

    async def stop(self, drain_s: float) -> None:
        """Accept no more, let the attached say goodbye within that time, then cut them."""
        server, listener = self._server, self._listener
        if server is None or listener is None:
            return
        self._server = None
        for accepting in server.servers:
            accepting.close()
        if isinstance(self._where, UnixAddress):
            remove_unix(self._where.path, listener)
        await self._connections.stop(drain_s)
        self._config.timeout_graceful_shutdown = max(1, round(self._limits.close_s))
        await server.shutdown(sockets=[listener])


class _Door:
    """Who is let in, from the headers of a request."""

    def __init__(self, where: TcpAddress | UnixAddress, clock: Clock) -> None:
        self._clock = clock
        tcp = where if isinstance(where, TcpAddress) else None
        self._policy: AuthPolicy = tcp.auth if tcp is not None else NoAuth()
        self._local_names_only = tcp is not None and is_loopback(tcp.host)
        self.kind: TransportKind = "websocket" if tcp is not None else "unix-websocket"

    def is_foreign(self, scope: Scope) -> bool:
        """Whether a page of some origin, or under some other name, is behind this request."""
        if _header(scope, b"origin") is not None:
            return True
        return self._local_names_only and is_foreign_host(_header(scope, b"host"))

    def refusal(self, scope: Scope) -> str | None:
        """Why the credential does not do; None if it does."""
        query = urllib.parse.parse_qs(scope["query_string"].decode("latin-1"))
        return refusal(
            self._policy,
            authorization=_header(scope, b"authorization"),
            url_token=query.get("token", [None])[0],
            now_s=self._clock.now_ms() // 1000,
        )


class _Gate:
    """The outermost layer: refuses foreign requests before anything else looks at them."""

    def __init__(self, app: ASGIApp, door: _Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on."""
        if not self._door.is_foreign(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await _deny(send, _FORBIDDEN, "")
        else:
            await Response(status_code=_FORBIDDEN)(scope, receive, send)


def _application(door: _Door, connections: Connections) -> Starlette:
    """The routes: health, the upgrade at every path, and nothing else."""

    async def healthy(request: Request) -> Response:
        # Not by the route's own methods: another route takes every path, and would win.
        return Response(status_code=_OK if request.method in _READING else _NOT_ALLOWED)

    async def upgrade_only(request: Request) -> Response:
        return PlainTextResponse("expected a WebSocket upgrade", status_code=_BAD_REQUEST)

    async def attach(scope: Scope, receive: Receive, send: Send) -> None:
        if (why := door.refusal(scope)) is not None:
            await _deny(send, _UNAUTHORIZED, why)
            return
        if connections.full:
            await _deny(send, _UNAVAILABLE, "too many clients are attached")
            return
        await receive()  # the announcement of the upgrade
        try:
            await send({"type": "websocket.accept"})
        except ClientDisconnected:
            return
        task = connections.begin(WebSocketTransport(door.kind, receive, send))
        # The task is cancelled at the stop of the listener; this one has to end without an error.
        await asyncio.wait({task})

    methods = [*_READING, "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return Starlette(
        routes=[
            Route("/healthz", healthy, methods=methods),
            Route("/readyz", healthy, methods=methods),
            WebSocketRoute("/{path:path}", _Raw(attach)),
            Route("/{path:path}", upgrade_only, methods=methods),
        ]
    )


class _Raw:
    """An endpoint without a request object; Starlette passes anything but functions on as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        await self._app(scope, receive, send)


class WebSocketTransport:
    """A client behind a WebSocket."""

    def __init__(self, kind: TransportKind, receive: Receive, send: Send) -> None:
        self._kind = kind
        self._receive = receive
        self._send = send

    @property
    def kind(self) -> TransportKind:
        """How the client is attached."""
        return self._kind

    async def receive(self) -> bytes | Refused | None:
        """The content of the next text frame, or None when the client has left."""
        event = await self._receive()
        if event["type"] == "websocket.disconnect":
            return None
        content = event.get("bytes")
        if content is _BINARY:
            return Refused(
                error=WireError(PARSE_ERROR, "Parse error: messages come in text frames")
            )
        assert isinstance(content, bytes)
        return content

    async def send(self, frames: Sequence[bytes]) -> None:
        """Send each message as one text frame.

        Raises: PeerGone.
        """
        try:
            await self._send({"type": "websocket.send", "frames": frames})
        except ClientDisconnected as error:
            raise PeerGone from error

    async def close(self, code: int, reason: str) -> None:
        """Send the close frame behind what was sent; the socket is cut if nobody answers."""
        shown = reason.encode()[:_REASON_BYTES_MAX].decode("utf-8", "ignore")
        await self._send({"type": "websocket.close", "code": code, "reason": shown})


def _frames_protocol(limits: WireLimits) -> type[asyncio.Protocol]:
    """uvicorn's WebSocket protocol with our limits in it."""

    class Frames(_Frames):
        close_s, slow_close_s = limits.close_s, limits.slow_close_s
        unreachable_s = limits.unreachable_s

    return Frames


class _Frames(WebSocketsSansIOProtocol):
    """uvicorn's protocol, without its four costs for us.

    Text is passed on as bytes, so that invalid UTF-8 is a parse error like any other and not the
    end of the connection; the frames of a batch make one write; a peer that does not read can
    be closed, where uvicorn would wait for it without end; and a machine that is gone is told from
    a client that is slow, which may take its time to answer a ping.
    """

    close_s: float
    slow_close_s: float
    unreachable_s: float

    def connection_made(self, transport: Any) -> None:
        """Watch from the start whether the other machine is there."""
        super().connection_made(transport)
        self._watcher: asyncio.TimerHandle | None = None
        self._socket = transport.get_extra_info("socket")

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no more."""
        if self._watcher is not None:
            self._watcher.cancel()
        super().connection_lost(exc)

    def send_receive_event_to_app(self) -> None:
        """Pass a complete message on."""
        if self.curr_msg_data_type == "bytes":
            self.frames = [_BINARY]
        self.curr_msg_data_type = "bytes"
        super().send_receive_event_to_app()

    async def send(self, message: Any) -> None:
        """Send what the application gives."""
        if message["type"] == "websocket.close" and self.handshake_complete:
            self._say_close(message["code"], message["reason"])
        elif "frames" in message:
            await self.writable.wait()
            if self.disconnected or self.close_sent or self.transport.is_closing():
                raise ClientDisconnected
            for frame in message["frames"]:
                self.conn.send_text(frame)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self._watch()
        else:
            await super().send(message)

    def send_keepalive_ping(self) -> None:
        """Ask the client, and watch whether its machine gets the question."""
        super().send_keepalive_ping()
        self._watch()

    def keepalive_timeout(self) -> None:
        """The peer does not answer pings: it is cut, or its full buffer would keep it for ever."""
        super().keepalive_timeout()
        self.transport.abort()

    def _watch(self) -> None:
        """Look after a moment whether what was sent has come to the other machine."""
        if self._watcher is None:
            self._watcher = self.loop.call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._watcher = None
        silent_s = unconfirmed_s(self._socket)
        if silent_s is None:
            return
        if silent_s >= self.unreachable_s:
            self.transport.abort()
        else:
            self._watch()

    def _say_close(self, code: int, reason: str) -> None:
        if self.close_sent or self.disconnected or self.transport.is_closing():
            return
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        patience_s = self.slow_close_s if code == TOO_SLOW else self.close_s
        self.close_timer = self.loop.call_later(patience_s, self.transport.abort)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    """The library calls it an error when an upgrade is answered with a status instead."""
    return "without completing handshake" not in record.getMessage()


async def _deny(send: Send, status: int, text: str) -> None:
    """Answer an upgrade with an HTTP status instead."""
    start: Message = {"type": "websocket.http.response.start", "status": status, "headers": []}
    try:
        await send(start)
        await send({"type": "websocket.http.response.body", "body": text.encode()})
    except ClientDisconnected:
        return  # it did not wait for the answer


def _header(scope: Scope, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            found: bytes = value
            return found.decode("latin-1")
    return None
