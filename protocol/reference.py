"""The list as a page for people: what may be sent, what comes back, what is told."""

from collections.abc import Iterable

from pydantic import BaseModel

from protocol import errors
from protocol.base import RequestParams, StrictParams
from protocol.jsonrpc import NESTING_MAX
from protocol.methods import CLIENT_METHODS, NOTIFICATIONS, Method
from protocol.server_requests import SERVER_REQUESTS

_HEAD = """\
# The protocol, method by method

Generated from `protocol/methods.py` by `memoryd schema write`; the shapes stand in the JSON files
beside this page. A field with `?` may be left out or null. *Experimental* methods, and fields with
a star, need `capabilities.experimentalApi` in `initialize`.
"""
_ENVELOPE = f"""\
## The envelope

JSON-RPC 2.0 with the member `jsonrpc` left out: clients may send it, nothing looks at it. One
message is one line on stdin and stdout and on the relay socket, one text frame on a WebSocket;
there are no headers in front of it. How long it may be stands in `memoryd.limits` of the reply to
`initialize`.

- **No batches.** An array, empty or not, is answered by one error {errors.INVALID_REQUEST} with
  `id` null, "{errors.batches_refused().message}"; nothing in it is carried out. Requests may be
  sent without waiting: each is answered under its id, in any order.
- **Ids** are strings or 64-bit integers. Anything else, null and fractions included, is answered
  by {errors.INVALID_REQUEST} with `id` null. An id that is used twice is answered twice.
- **Notifications are never answered**, also unknown ones. What has no `id` is one, and none does
  anything but `initialized` and `$/cancelRequest`.
- **The connection stays open** whatever a message holds, but for a first one that is a header
  such as `Content-Length`, and a line or frame that goes on far beyond the limit.

| code | for |
| --- | --- |
| {errors.PARSE_ERROR} | text that is no JSON, and binary frames; `id` is null |
| {errors.INVALID_REQUEST} | a batch, an `id` or message of the wrong shape, a refused request |
| {errors.METHOD_NOT_FOUND} | an unknown method |
| {errors.INVALID_PARAMS} | `params` that do not fit, or more than {NESTING_MAX} levels |
| {errors.INTERNAL_ERROR} | an unexpected error; `data.incident` names it in the server's log |
| {errors.OVERLOADED} | too many requests at once; nothing was done, try again |
| {errors.REQUEST_CANCELLED} | a request that was taken back by `$/cancelRequest` |
"""


def page() -> str:
    """The page as Markdown, the same text for the same list."""
    return "\n".join([_HEAD, _ENVELOPE, *_requests(), *_notifications(), *_questions()])


def _requests() -> Iterable[str]:
    yield "## Requests of clients\n"
    yield "| method | takes | gives | what for |"
    yield "| --- | --- | --- | --- |"
    for method in sorted(CLIENT_METHODS, key=lambda one: one.name):
        mark = " *experimental*" if method.experimental else ""
        yield (
            f"| `{method.name}`{mark} | {_fields(method.params, _gated(method))} "
            f"| {_fields(method.result)} | {method.summary} |"
        )
    yield ""


def _notifications() -> Iterable[str]:
    yield "## Notifications of the server\n"
    yield "| method | holds | goes to | under pressure |"
    yield "| --- | --- | --- | --- |"
    for told in sorted(NOTIFICATIONS, key=lambda one: one.name):
        mark = " *experimental*" if told.experimental else ""
        audience = "who listens to the thread" if told.scope == "thread" else "every client"
        kept = "always arrives" if told.lossless else "may be dropped, then `server/lagged`"
        yield f"| `{told.name}`{mark} | {_fields(told.params)} | {audience} | {kept} |"
    yield ""


def _questions() -> Iterable[str]:
    yield "## Requests of the server\n"
    yield "| method | asks with | answer | without one |"
    yield "| --- | --- | --- | --- |"
    for question in sorted(SERVER_REQUESTS, key=lambda one: one.name):
        wait = "waits" if question.deadline_s is None else f"after {question.deadline_s} s"
        default = ", ".join(f"`{key}: {value}`" for key, value in question.default.items())
        yield (
            f"| `{question.name}` | {_fields(question.params)} | {_fields(question.answer)} "
            f"| {wait}: {default} |"
        )


def _gated(method: Method) -> frozenset[str]:
    return frozenset(method.experimental_fields)


def _fields(model: type[BaseModel], gated: frozenset[str] = frozenset()) -> str:
    """The names of a model's fields as they are on the wire; what we send, we send whole."""
    always = not issubclass(model, RequestParams | StrictParams)
    names = []
    for name, field in model.model_fields.items():
        wire = field.alias or name
        names.append(
            f"`{wire}{'' if always or field.is_required() else '?'}`"
            + (" *" if wire in gated else "")
        )
    return " ".join(names) or "nothing"
