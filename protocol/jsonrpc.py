"""The envelope: one text is a request, a notification, a response, or malformed.

JSON-RPC 2.0 with the version member left out when sending and ignored when receiving. Nothing here
knows a method; a malformed text always has a reply, so that no client waits in vain.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from protocol import errors
from protocol.base import WireModel
from protocol.errors import WireError

RequestId = int | str
NESTING_MAX = 128
"""Levels of a message. What is nested deeper can be read but not written again, here or by others,
so nothing that comes with it could be kept."""
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call that must be answered once, under the same id."""

    id: RequestId
    method: str
    params: Mapping[str, Any] | None
    trace: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message that gets no answer; unknown ones are ignored."""

    method: str
    params: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The client's answer to a request of ours; `error` is None on success."""

    id: RequestId
    result: Any
    error: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """No message; the reply is to be sent as it is, the connection goes on."""

    id: RequestId | None
    error: WireError

    @property
    def reply(self) -> bytes:
        """The error reply as JSON text."""
        return error_reply(self.id, self.error)


Frame = Request | Notification | Response | Malformed


_HEADER = re.compile(rb"\s*content-(length|type)\s*:", re.IGNORECASE)


def is_header(raw: bytes) -> bool:
    """Whether a text is the head of a message in another framing, such as `Content-Length: 12`."""
    return _HEADER.match(raw) is not None


def parse_frame(raw: str | bytes | bytearray | memoryview) -> Frame:
    """Tell what one text is; never raises."""
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            message = orjson.loads(mended(bytes(raw, "utf-8") if isinstance(raw, str) else raw))
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            return Malformed(id=None, error=errors.unparsable())
    if isinstance(message, list):
        return Malformed(id=None, error=errors.batches_refused())
    if not isinstance(message, dict):
        return Malformed(id=None, error=errors.invalid_message("the message must be an object"))
    request_id = message.get("id")
    if not _is_id(request_id) and "id" in message:
        return Malformed(
            id=None, error=errors.invalid_message("the id must be a string or an integer")
        )
    if _may_be_deep(raw) and _is_deeper(message, NESTING_MAX):
        return _too_deep(message, request_id)
    if "method" in message:
        return _call(message, request_id)
    if request_id is not None and ("result" in message or "error" in message):
        error = message.get("error")
        if error is not None and not isinstance(error, dict):
            error = {"message": str(error)[:200]}
        return Response(id=request_id, result=message.get("result"), error=error)
    return Malformed(id=request_id, error=errors.invalid_message("missing field `method`"))


def _may_be_deep(raw: str | bytes | bytearray | memoryview) -> bool:
    """Whether there are brackets enough; few messages have so many."""
    if isinstance(raw, str):
        return raw.count("{") + raw.count("[") > NESTING_MAX
    text = bytes(raw)
    return text.count(b"{") + text.count(b"[") > NESTING_MAX


def _is_deeper(value: Any, levels: int) -> bool:
    inner = [value]
    for _ in range(levels):
        inner = [
            child
            for one in inner
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, dict | list)
        ]
        if not inner:
            return False
    return True


def _too_deep(message: Mapping[str, Any], request_id: RequestId | None) -> Frame:
    """Refused where it is a request; an answer counts as one that failed."""
    sentence = f"the message is nested deeper than {NESTING_MAX} levels"
    if request_id is not None and "method" not in message:
        return Response(id=request_id, result=None, error={"message": sentence})
    return Malformed(id=request_id, error=errors.invalid_params(sentence))


# An escaped pair of surrogates, a lone one, or any other escape.
_ESCAPE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


def mended(raw: bytes | bytearray | memoryview) -> bytes:
    """The text without a byte order mark, and a mark in the place of each lone surrogate.

    Clients and model servers cut strings between the halves of a pair, and a strict reader refuses
    the whole message.
    """
    text = bytes(raw).removeprefix(b"\xef\xbb\xbf")
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[2] else found[0], text)


def result_reply(request_id: RequestId, result: WireModel) -> bytes:
    """The reply of success as JSON text."""
    return b'{"id":%b,"result":%b}' % (orjson.dumps(request_id), result.to_json())


def error_reply(request_id: RequestId | None, error: WireError) -> bytes:
    """The reply of failure as JSON text."""
    return orjson.dumps({"error": error.to_wire(), "id": request_id})


def notification_text(method: str, params: WireModel, *, emitted_at_ms: int) -> bytes:
    """A notification of the server as JSON text."""
    return b'{"method":%b,"params":%b,"emittedAtMs":%d}' % (
        orjson.dumps(method),
        params.to_json(),
        emitted_at_ms,
    )


def request_text(request_id: RequestId, method: str, params: WireModel | None) -> bytes:
    """A request as JSON text, of the server or of a client of ours."""
    body = b"" if params is None else b',"params":%b' % params.to_json()
    return b'{"method":%b,"id":%b%b}' % (orjson.dumps(method), orjson.dumps(request_id), body)


def _call(message: dict[str, Any], request_id: RequestId | None) -> Frame:
    """A message that has a method: a request or a notification."""
    method = message["method"]
    if not isinstance(method, str):
        return Malformed(id=request_id, error=errors.invalid_message("the method must be a string"))
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        if request_id is None:
            return Notification(method=method, params=None)
        kind = "sequence" if isinstance(params, list) else type(params).__name__
        return Malformed(
            id=request_id, error=errors.invalid_params(f"invalid type: {kind}, expected a map")
        )
    if request_id is None:
        return Notification(method=method, params=params)
    trace = message.get("trace")
    return Request(
        id=request_id,
        method=method,
        params=params,
        trace=trace if isinstance(trace, dict) else None,
    )


def _is_id(value: object) -> bool:
    """Strings and 64-bit integers are ids; true and false are neither."""
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and value in _INT64)
