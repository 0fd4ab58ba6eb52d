"""From a request to its one reply.

`initialize` is answered from the start; what else a client asks waits, in its order, until the
table of handlers was joined.

The order of checks is fixed: decode, initialised, experimental, handler. Whatever a handler raises
ends here: an error with a place in the table of failures becomes that wire error, any other one an
incident number, and its text stays in the log. The library that dispatches would send it, so it
never sees an exception of ours.
"""

import asyncio
import inspect
import logging
import secrets
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from protocol import errors
from protocol.base import RequestParams, StrictParams, WireModel
from protocol.errors import WireError
from protocol.jsonrpc import Request, error_reply
from protocol.methods import (
    CLIENT_METHODS,
    INITIALIZE,
    Method,
    decode_params,
    experimental_refusal,
    find_method,
)
from server.wire.encoding import reply_frame
from server.wire.limits import WireLimits
from server.wire.peer import Peer

P = TypeVar("P", bound=RequestParams | StrictParams)
R = TypeVar("R", bound=WireModel)

Failures = Callable[[Exception], WireError | None]
"""The wire error of a known exception; None for one that nobody expected."""


class Call:
    """One request under way, as its handler sees it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._afterwards: list[Callable[[], None]] = []

    def after_reply(self, action: Callable[[], None]) -> None:
        """Do this as soon as the reply is in the outbox, also when the peer has left."""
        self._afterwards.append(action)

    def replied(self) -> None:
        """Do what was to be done after the reply; each action once, one's error stops no other."""
        actions, self._afterwards = self._afterwards, []
        for action in actions:
            try:
                action()
            except Exception as error:  # part of the request's net, like its handler
                _log_incident("after the reply", error)


@dataclass(frozen=True, slots=True)
class Bound(Generic[P, R]):
    """A method and the function that answers it."""

    method: Method
    call: Callable[[Call, P], Awaitable[R]]


Handler = Callable[[Call, Any], Awaitable[WireModel]]
"""A bound function; that its parameters fit was checked by decoding, and by its `Bound`."""

Bindings = Mapping[str, Handler]


def table(*bounds: Bound[Any, Any]) -> Bindings:
    """Every method but `initialize` with its handler.

    Raises: ValueError if a method has none, or two, or is not in the list.
    """
    handlers: dict[str, Handler] = {}
    for bound in bounds:
        if bound.method.name in handlers:
            raise ValueError(f"method {bound.method.name} is bound twice")
        handlers[bound.method.name] = bound.call
    listed = {method.name for method in CLIENT_METHODS if method is not INITIALIZE}
    if unbound := sorted(listed - handlers.keys()):
        raise ValueError(f"methods without a handler: {', '.join(unbound)}")
    if unlisted := sorted(handlers.keys() - listed):
        raise ValueError(f"handlers of no listed method: {', '.join(unlisted)}")
    return handlers


class Dispatcher:
    """Answers requests; holds nothing but its table."""

    def __init__(self, initialize: Handler, *, limits: WireLimits) -> None:
        self._initialize = initialize
        self._limits = limits
        self._failures: Failures = _nothing_known
        self._dispatch: _Dispatch | None = None
        self._settled = asyncio.Event()

    def join(self, bindings: Bindings, failures: Failures) -> None:
        """Answer every request from now on, those first that wait."""
        self._dispatch, self._failures = _library_dispatch(bindings), failures
        self._settled.set()

    def close(self) -> None:
        """Whoever still waits for the table waits in vain, and is told."""
        self._settled.set()

    @property
    def opening(self) -> bool:
        """Whether requests still wait for the table."""
        return not self._settled.is_set()

    async def settled(self) -> None:
        """Wait until the table was joined, or never will be."""
        await self._settled.wait()

    async def answer(self, peer: Peer, request: Request) -> None:
        """Put exactly one reply into the peer's outbox, then do what follows it."""
        call = Call(peer)
        try:
            reply = await self._reply(call, request)
            peer.send(reply, lossless=True)
            if request.method == INITIALIZE.name and peer.introduction is not None:
                peer.initialized = True
        finally:
            call.replied()

    async def _reply(self, call: Call, request: Request) -> bytes:
        """The reply to a request, of success or failure."""
        try:
            method = find_method(request.method)
            params = decode_params(method, request.params)
            _check_initialized(call.peer, method)
            if not call.peer.experimental and method is not INITIALIZE:
                if refusal := experimental_refusal(method, request.params):
                    raise refusal
            result = await self._result(method, call, params)
        except WireError as error:
            return error_reply(request.id, error)
        except Exception as error:  # the net of the request
            known = self._failures(error)
            return error_reply(
                request.id, known or errors.incident(_log_incident(request.method, error))
            )
        try:
            reply = reply_frame(request.id, result)
        except Exception as error:  # part of the net: what a handler made is no JSON
            number = _log_incident(f"the result of {request.method}", error)
            return error_reply(request.id, errors.unserializable(number))
        if len(reply) > self._limits.outbox_bytes_max:
            size = self._limits.outbox_bytes_max
            return error_reply(
                request.id,
                errors.failed(f"the reply is longer than {size} bytes; ask for less at a time"),
            )
        return reply

    async def _result(
        self, method: Method, call: Call, params: RequestParams | StrictParams
    ) -> WireModel:
        """What the handler of a method says.

        Raises: WireError, and whatever the handler raises.
        """
        if method is INITIALIZE:
            return await self._initialize(call, params)
        await self._settled.wait()
        if self._dispatch is None:
            raise errors.failed("the server could not start; its log says why")
        return await self._dispatch(method.name, call, params)


def _nothing_known(error: Exception) -> WireError | None:
    """Of errors before the table was joined: `initialize` fails with those of the wire alone."""
    return None


def _check_initialized(peer: Peer, method: Method) -> None:
    """`initialize` comes first and once.

    Raises: WireError.
    """
    if method is INITIALIZE:
        if peer.introduction is not None:
            raise errors.already_initialized()
    elif peer.introduction is None:
        raise errors.not_initialized()


def _log_incident(what: str, error: Exception) -> str:
    """Log an unexpected error by its type and place; the number that the client gets."""
    number = secrets.token_hex(4)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"
    # The text of an unknown error may hold anything, so it is told to the debug log only.
    log = logging.getLogger(__name__)
    log.error("incident %s in %s: %s at %s", number, what[:200], type(error).__name__, place)
    log.debug("incident %s", number, exc_info=error)
    return number


_Dispatch = Callable[[str, Call, RequestParams | StrictParams], Awaitable[WireModel]]


def _library_dispatch(bindings: Bindings) -> _Dispatch:
    """The handlers behind jsonrpcserver, which is imported here since it takes its time.

    Its methods get one invocation as context and no parameters, so that no key a client sends can
    meet an argument's name; errors pass it by value.
    """
    from jsonrpcserver import Success, async_dispatch_to_response
    from jsonrpcserver.result import Result

    def bind(handler: Handler) -> Callable[["_Invocation"], Awaitable[Result]]:
        async def method(invocation: "_Invocation", /) -> Result:
            try:
                invocation.result = await handler(invocation.call, invocation.params)
            except Exception as error:  # carried past the library to the net of the request
                invocation.error = error
            return Success()

        # The library asks for it at every call, and would work it out each time.
        method.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
        return method

    methods: dict[str, Callable[..., Any]] = {
        name: bind(handler) for name, handler in bindings.items()
    }

    async def dispatch(name: str, call: Call, params: RequestParams | StrictParams) -> WireModel:
        invocation = _Invocation(call, params)
        message: Any = {"jsonrpc": "2.0", "method": name, "id": 0}
        await async_dispatch_to_response(
            message,
            methods,
            context=invocation,
            deserializer=_as_it_is,
            validator=_as_it_is,
        )
        if invocation.error is not None:
            raise invocation.error
        if invocation.result is None:
            raise TypeError(f"the handler of {name} gave no result")
        return invocation.result

    return dispatch


class _Invocation:
    """What passes through the library: the call in, the result or error out."""

    __slots__ = ("call", "error", "params", "result")

    def __init__(self, call: Call, params: RequestParams | StrictParams) -> None:
        self.call = call
        self.params = params
        self.result: WireModel | None = None
        self.error: Exception | None = None


def _as_it_is(message: Any) -> Any:
    """The envelope was read and checked before; the library gets it ready made."""
    return message
