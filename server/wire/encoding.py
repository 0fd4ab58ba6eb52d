"""Messages of ours as JSON text, whatever a model or a tool put into their strings.

A lone surrogate has no UTF-8 form, and serialising stops at it. It is replaced then, since losing
a message that must arrive would be worse than one odd character.
"""

from collections.abc import Callable, Iterable
from typing import Any

import orjson
from pydantic_core import PydanticSerializationError

from protocol.base import WireModel
from protocol.jsonrpc import RequestId, notification_text, result_reply


def reply_frame(request_id: RequestId, result: WireModel) -> bytes:
    """The reply of success."""
    return _encoded(
        lambda: result_reply(request_id, result), {"id": request_id}, ("result", result)
    )


def notification_frame(method: str, params: WireModel, *, emitted_at_ms: int) -> bytes:
    """A notification of the server."""
    return _encoded(
        lambda: notification_text(method, params, emitted_at_ms=emitted_at_ms),
        {"method": method, "emittedAtMs": emitted_at_ms},
        ("params", params),
    )


def request_frame(
    request_id: RequestId, method: str, params: WireModel, *, without: Iterable[str]
) -> bytes:
    """A request of the server, without the parameters of these names."""
    body = params.model_dump(by_alias=True)
    for name in without:
        body.pop(name, None)
    message = {"method": method, "id": request_id, "params": body}
    try:
        return orjson.dumps(message)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(_mended(message))


def _encoded(fast: Callable[[], bytes], rest: dict[str, Any], body: tuple[str, WireModel]) -> bytes:
    """The text by the fast way, or by the mending one where that fails."""
    try:
        return fast()
    except (PydanticSerializationError, UnicodeError):
        name, model = body
        return orjson.dumps({**rest, name: _mended(model.model_dump(by_alias=True))})


def _mended(value: Any) -> Any:
    """The same JSON value with every lone surrogate replaced."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
        case list() | tuple():
            return [_mended(item) for item in value]
        case _:
            return value
