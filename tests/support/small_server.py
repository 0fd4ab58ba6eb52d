"""A server with the real wire and hardly any handlers, for tests of the wire alone."""

import asyncio
from functools import partial

from protocol.base import EmptyResult
from protocol.errors import WireError
from protocol.messages.handshake import InitializeParams, InitializeResult
from protocol.messages.memory import MemoryReadResult
from protocol.messages.threads import NameSetParams, ThreadIdParams, UnsubscribeResult
from protocol.methods import (
    THREAD_MEMORY_READ,
    THREAD_NAME_SET,
    THREAD_UNSUBSCRIBE,
)
from server.wire.connection import Connect, serve_connection
from server.wire.dispatch import Bound, Call, Dispatcher
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Introduction
from state.ids import ThreadId
from tests.support.clock import ManualClock

SECRET = "sk-text-of-an-unexpected-error"


class SmallServer:
    """`thread/name/set` does what the name says; `thread/unsubscribe` subscribes, to be short."""

    def __init__(self, *, limits: WireLimits | None = None, whole: bool = True) -> None:
        """Without `whole` only `initialize` is answered until `make_whole`."""
        self.limits = limits or WireLimits()
        self.clock = ManualClock()
        self.hub = Hub(self.clock, self.limits)
        self.named: list[str] = []
        self.go = asyncio.Event()
        self.summary: str = ""
        bounds: list[Bound] = [  # type: ignore[type-arg]  # handlers of several parameter types
            Bound(THREAD_NAME_SET, self._name),
            Bound(THREAD_UNSUBSCRIBE, self._subscribe),
            Bound(THREAD_MEMORY_READ, self._read),
        ]
        self._bindings = {bound.method.name: bound.call for bound in bounds}
        self.dispatcher = Dispatcher(self._initialize, limits=self.limits)
        if whole:
            self.make_whole()
        self.connect: Connect = partial(
            serve_connection, hub=self.hub, dispatcher=self.dispatcher, limits=self.limits
        )

    def make_whole(self) -> None:
        """Answer every request from now on."""
        self.dispatcher.join(self._bindings, _failures)

    async def _initialize(self, call: Call, params: InitializeParams) -> InitializeResult:
        await asyncio.sleep(0)  # a request sent right behind must wait for this one
        capabilities = params.capabilities
        opted_out = (capabilities and capabilities.opt_out_notification_methods) or []
        call.peer.introduce(
            Introduction(
                name=params.client_info.name,
                version=params.client_info.version,
                experimental=bool(capabilities and capabilities.experimental_api),
                opted_out=frozenset(opted_out),
            )
        )
        return InitializeResult(
            user_agent="small/1", codex_home="/", platform_family="unix", platform_os="linux"
        )

    async def _name(self, call: Call, params: NameSetParams) -> EmptyResult:
        if params.name == "break":
            raise RuntimeError(SECRET)
        if params.name == "known":
            raise KeyError(params.name)
        if params.name == "wait":
            await self.go.wait()
        self.named.append(params.name)
        return EmptyResult()

    async def _subscribe(self, call: Call, params: ThreadIdParams) -> UnsubscribeResult:
        self.hub.subscribe(call.peer, ThreadId(params.thread_id))
        return UnsubscribeResult(status="unsubscribed")

    async def _read(self, call: Call, params: ThreadIdParams) -> MemoryReadResult:
        return MemoryReadResult(summary=self.summary)


def _failures(error: Exception) -> WireError | None:
    return WireError(-32600, "known failure") if isinstance(error, KeyError) else None
