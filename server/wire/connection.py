"""The life of one connection: read, tell what it is, start a task, read on.

Invariant: the read loop waits for the client alone, never for a handler, and the writer is the
only task that waits for the client's reading. What a connection started does not outlive it. Of a
server that is not whole yet nothing is refused as too much: reading pauses until it is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from protocol.errors import cancelled, framed_by_headers, overloaded
from protocol.jsonrpc import (
    Malformed,
    Notification,
    Request,
    RequestId,
    Response,
    error_reply,
    is_header,
    parse_frame,
)
from protocol.methods import CANCEL_REQUEST, INITIALIZE
from server.wire.dispatch import Dispatcher
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Peer
from server.wire.transport import (
    GOING_AWAY,
    NORMAL,
    TOO_SLOW,
    Ending,
    PeerGone,
    Refused,
    Transport,
)

Connect = Callable[[Transport], Awaitable[None]]
"""What a listener does with each client: `serve_connection` with all but the first bound."""

# Between so many messages of one burst, the tasks they started get a turn.
_BURST = 16


async def serve_connection(
    transport: Transport, *, hub: Hub, dispatcher: Dispatcher, limits: WireLimits
) -> None:
    """Serve a client until it leaves or is closed; cancelled, it says goodbye first."""
    peer = hub.attach(transport.kind)
    requests = _Requests(peer, dispatcher, limits)
    reader = asyncio.create_task(_read(transport, peer, requests))
    writer = asyncio.create_task(_write(transport, peer))
    closing = asyncio.create_task(peer.closed.wait())
    farewell = Ending(NORMAL, "")
    try:
        await asyncio.wait({reader, writer, closing}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        farewell = Ending(GOING_AWAY, "the server is going away")
        raise
    finally:
        reader.cancel()
        try:
            if not (peer.is_cut or writer.done()):
                await requests.finish(limits.farewell_s)
                peer.end(farewell.code, farewell.reason)
                await asyncio.wait({writer}, timeout=limits.farewell_s)
        finally:
            peer.cut(farewell.code, farewell.reason)
            hub.detach(peer)
            await _stopped(reader, writer, closing, *requests.stop())
            ending = peer.ending or farewell
            if ending.code == TOO_SLOW:
                # A byte stream has no place for it, and whoever runs the server should know.
                log = logging.getLogger(__name__)
                log.warning("a %s client was closed: %s", transport.kind, ending.reason)
            await transport.close(ending.code, ending.reason)


class Connections:
    """The connections of one listener, each in a task that ends with it."""

    def __init__(self, connect: Connect, limits: WireLimits) -> None:
        self._connect = connect
        self._limits = limits
        self._running: set[asyncio.Task[None]] = set()

    @property
    def full(self) -> bool:
        """Whether a further client is to be refused."""
        return len(self._running) >= self._limits.connections_max

    def begin(self, transport: Transport) -> asyncio.Task[None]:
        """Serve a client from now on; the task raises nothing."""
        task = asyncio.create_task(self._serve(transport))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def stop(self, drain_s: float) -> None:
        """Let every client be told goodbye within that time, then cut those that are left."""
        for seconds in (drain_s, None):
            if not self._running:
                return
            for task in self._running:
                task.cancel()
            await asyncio.wait(set(self._running), timeout=seconds)

    async def _serve(self, transport: Transport) -> None:
        try:
            await self._connect(transport)
        except Exception as error:  # the net of the connection's task: no other one suffers
            log = logging.getLogger(__name__)
            log.error("a %s connection broke: %s", transport.kind, type(error).__name__)
            log.debug("a connection broke", exc_info=error)


class _Requests:
    """The requests of one peer that are under way."""

    def __init__(self, peer: Peer, dispatcher: Dispatcher, limits: WireLimits) -> None:
        self._peer = peer
        self._dispatcher = dispatcher
        self._limits = limits
        self._running: dict[asyncio.Task[None], RequestId] = {}
        self._taken_back: set[asyncio.Task[None]] = set()
        self._handshake: asyncio.Task[None] | None = None

    async def begin(self, request: Request) -> None:
        """Start a request in a task of its own, or answer that there are too many."""
        if self._are_enough():
            if self._dispatcher.opening:
                # That none of them could end yet is no overload; the first that does makes room.
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
        if self._are_enough():
            self._peer.send(error_reply(request.id, overloaded()), lossless=True)
            return
        task = asyncio.create_task(self._run(request, self._handshake))
        self._running[task] = request.id
        task.add_done_callback(self._ended)
        if request.method == INITIALIZE.name:
            self._handshake = task

    def take_back(self, request_id: object) -> None:
        """The client wants no answer any more: what waits does not begin, and it is told once."""
        for task, known in self._running.items():
            # Of the same type too: 1 and "1" are two ids, and so are 1 and true.
            if known == request_id and type(known) is type(request_id):
                self._taken_back.add(task)
                task.cancel()

    async def finish(self, seconds: float) -> None:
        """Wait that long for those under way, from when the server can answer them."""
        if self._running:
            await self._dispatcher.settled()
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    def stop(self) -> tuple[asyncio.Task[None], ...]:
        """Cancel what still runs and tell what that is."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        return running

    def _are_enough(self) -> bool:
        """Whether a further one may find no room for its reply: the fewer, the more waits."""
        free = 1 - self._peer.fill
        return len(self._running) + 1 > self._limits.requests_in_flight_max * free

    async def _run(self, request: Request, handshake: asyncio.Task[None] | None) -> None:
        if handshake is not None and not handshake.done():
            # Sent right behind `initialize`: it is to meet a client that is initialised.
            await asyncio.wait({handshake})
        await self._dispatcher.answer(self._peer, request)

    def _ended(self, task: asyncio.Task[None]) -> None:
        request_id = self._running.pop(task)
        if task in self._taken_back:
            self._taken_back.discard(task)
            if task.cancelled():
                # Also of one whose task never ran; one that had answered was not cancelled.
                self._peer.send(error_reply(request_id, cancelled()), lossless=True)


async def _read(transport: Transport, peer: Peer, requests: _Requests) -> None:
    """Take messages until the client has no more, or a stream cannot be read on."""
    count = 0
    while (message := await transport.receive()) is not None:
        count += 1
        if count % _BURST == 0:
            await asyncio.sleep(0)
        if count == 1 and not isinstance(message, Refused) and is_header(message):
            # Only the first one tells the framing; further down it is a text that does not parse.
            message = Refused(error=framed_by_headers(), ends=True)
        if isinstance(message, Refused):
            peer.send(message.reply, lossless=True)
            if message.ends:
                return
            continue
        match parse_frame(message):
            case Request() as request:
                await requests.begin(request)
            case Response() as response:
                peer.answer(response)
            case Malformed() as malformed:
                peer.send(malformed.reply, lossless=True)
            case Notification(method=method, params=params) if method == CANCEL_REQUEST:
                requests.take_back((params or {}).get("id"))
            case Notification():
                # `initialized` asks for nothing, and there is no other that we act on.
                continue


async def _write(transport: Transport, peer: Peer) -> None:
    """Hand the outbox to the transport until the peer is closed and its outbox empty."""
    try:
        while batch := await peer.take():
            await transport.send(batch)
    except PeerGone:
        return


async def _stopped(*tasks: asyncio.Task[Any]) -> None:
    """Cancel and wait; an error of a task is raised here, once all have ended."""
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
