"""The errors of the wire: one class, its codes, and the sentences that clients know.

Codes follow JSON-RPC 2.0 where clients allow it; the sentences are those of the server whose
protocol this is, since clients search in them. An unexpected error says an incident number and
nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
OVERLOADED = -32001
REQUEST_CANCELLED = -32800


class WireError(Exception):
    """An error as a client gets it: code, sentence and, where useful, data."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.message = message
        self.data = dict(data) if data is not None else None
        super().__init__(message)

    def to_wire(self) -> dict[str, Any]:
        """The error object of a reply."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


def not_initialized() -> WireError:
    """A request came before `initialize`."""
    return WireError(INVALID_REQUEST, "Not initialized")


def already_initialized() -> WireError:
    """A second `initialize` on one connection."""
    return WireError(INVALID_REQUEST, "Already initialized")


def unparsable() -> WireError:
    """The text is not JSON."""
    return WireError(PARSE_ERROR, "Parse error: the message is not valid JSON")


def framed_by_headers() -> WireError:
    """The client puts headers in front of its messages, as other protocols do."""
    return WireError(
        PARSE_ERROR,
        "Parse error: Content-Length headers are not used here; send JSON objects as they are, "
        "one a line or text frame",
    )


def batches_refused() -> WireError:
    """The message is an array."""
    return WireError(INVALID_REQUEST, "batches are not supported")


def invalid_message(sentence: str) -> WireError:
    """JSON, but no message of this protocol."""
    return WireError(INVALID_REQUEST, f"Invalid request: {sentence}")


def invalid_params(sentence: str) -> WireError:
    """The parameters do not fit the method."""
    return WireError(INVALID_PARAMS, f"Invalid request: {sentence}")


def unknown_method(name: str, known: Sequence[str]) -> WireError:
    """No such method; the sentence lists those there are."""
    return WireError(METHOD_NOT_FOUND, f"Invalid request: {unknown_variant(name, known)}")


def requires_experimental(what: str) -> WireError:
    """A method or field that the client must ask for by `experimentalApi`."""
    return WireError(INVALID_REQUEST, f"{what} requires experimentalApi capability")


def not_supported_yet(what: str) -> WireError:
    """The store cannot do this for this thread."""
    return WireError(METHOD_NOT_FOUND, f"{what} is not supported yet")


def refused(message: str, data: Mapping[str, Any] | None = None) -> WireError:
    """A precondition of the domain does not hold; nothing was done."""
    return WireError(INVALID_REQUEST, message, data)


def out_of_range(message: str, data: Mapping[str, Any] | None = None) -> WireError:
    """A well-formed value that is too small or too large."""
    return WireError(INVALID_PARAMS, message, data)


def failed(message: str, data: Mapping[str, Any] | None = None) -> WireError:
    """The server could not do what it should; the sentence says what to do."""
    return WireError(INTERNAL_ERROR, message, data)


def overloaded() -> WireError:
    """Too many requests of this client are under way."""
    return WireError(OVERLOADED, "Server overloaded; retry later.")


def cancelled() -> WireError:
    """The client took its request back before it was answered."""
    return WireError(
        REQUEST_CANCELLED,
        "the request was cancelled",
        {"kind": "requestCancelled", "retryable": True},
    )


def draining() -> WireError:
    """The server is about to stop and starts nothing new."""
    return WireError(
        INVALID_REQUEST,
        "Server is draining; retry after reconnecting",
        {"reason": "serverShuttingDown"},
    )


def incident(number: str) -> WireError:
    """An unexpected error; the log has the rest under this number."""
    return WireError(INTERNAL_ERROR, "internal error", {"incident": number})


def unserializable(number: str) -> WireError:
    """A result that is no JSON: the original's sentence, with the incident as its reason."""
    return WireError(
        INTERNAL_ERROR,
        f"failed to serialize response: incident {number}",
        {"incident": number},
    )


def unknown_variant(value: str, known: Sequence[str]) -> str:
    """Says that a word is none of the known ones, which it lists."""
    quoted = [f"`{word}`" for word in known]
    match quoted:
        case []:
            expected = "there are no variants"
        case [only]:
            expected = f"expected {only}"
        case [first, second]:
            expected = f"expected {first} or {second}"
        case _:
            expected = f"expected one of {', '.join(quoted)}"
    return f"unknown variant `{value}`, {expected}"
