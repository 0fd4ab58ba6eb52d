"""A real HTTP server that speaks the Responses API with scripted replies, for whole-server tests.

`async with ResponsesServer() as model:` gives `model.base_url` and `model.requests`. Without a
script it answers `You said: <last user text> -- mock-final` in deltas of four characters, knows the
phrases "speak slowly", "fail with an error" and "fail with status", and answers a request with an
output schema by an object of that schema. Replies of `model.script(...)` come first, in order.

Longer than the habit: one server with all that a script can make it do.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

SLOW_TOKENS_PER_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One function call of the model."""

    name: str
    arguments: Any  # a value, sent as JSON; a string is sent as it is
    namespace: str | None = None
    call_id: str | None = None
    custom: bool = False  # a freeform call: the arguments are its whole input, a string
    piece_characters: int | None = None  # its input is streamed in pieces of that size


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model does with one request."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()
    """Items that the provider made itself, before the rest."""
    reasoning: str | None = None
    """A summary that comes before the rest."""
    phase: str | None = "final_answer"
    delta_characters: int = 4
    usage: Mapping[str, Any] | None = None
    status: int = 200
    body: str | None = None
    """With a status other than 200: what is sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    fails: tuple[str, str] | None = None
    """Code and message of a `response.failed` after the text."""
    incomplete: str | None = None
    """The reason of a `response.incomplete` after the text."""
    cut: bool = False
    """The connection ends before the terminal event."""
    hangs: bool = False
    """After the text nothing more comes until `model.release()`."""
    gate: asyncio.Event | None = None
    """Waited for before the second half of the deltas."""
    tokens_per_s: int | None = None
    raw: bytes | None = None
    """Sent as the body of the stream, instead of all the above."""


def says(text: str, **more: Any) -> Reply:
    """An answer in words."""
    return Reply(text=text, **more)


def says_json(value: Any, **more: Any) -> Reply:
    """A structured answer, as a model that keeps to the schema gives it."""
    return Reply(text=json.dumps(value), delta_characters=1_024, **more)


def calls(*made: Call, **more: Any) -> Reply:
    """Function calls."""
    return Reply(calls=made, **more)


def status(
    http_status: int,
    message: str = "scripted",
    *,
    code: str | None = None,
    type: str = "scripted_error",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An HTTP status with an error body."""
    error: dict[str, Any] = {"message": message, "type": type}
    if code is not None:
        error["code"] = code
    return Reply(status=http_status, body=json.dumps({"error": error}), headers=headers or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request as it came."""

    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The whole body as text, to look for something in it."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def user_texts(self) -> list[str]:
        """The text parts of user messages in order."""
        return [
            part["text"]
            for item in self.body.get("input", [])
            if item.get("type") == "message" and item.get("role") == "user"
            for part in item["content"]
            if part.get("type") == "input_text"
        ]

    @property
    def structured(self) -> bool:
        """Whether an output schema came with it."""
        return "format" in (self.body.get("text") or {})

    @property
    def tool_names(self) -> list[str]:
        """The names of the functions it offers, `namespace.name` inside a namespace."""
        names: list[str] = []
        for tool in self.body.get("tools", []):
            if tool.get("type") == "namespace":
                names.extend(f"{tool['name']}.{inner['name']}" for inner in tool["tools"])
            else:
                names.append(str(tool.get("name")))
        return names


class ResponsesServer:
    """The server; one per test."""

    path, recorded = "/responses", Recorded

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.models: list[str] | None = None  # what it lists; None is that there is no such path
        self.model_facts: dict[str, Any] = {}  # stands in each row of that list beside the id
        self.model_lists = 0
        self.structured: Callable[[Recorded], Any] = example_of_schema
        """Makes the answer to a request with an output schema that no script covers."""
        self.choose: Callable[[Recorded], Reply | None] = lambda request: None
        """Asked before the default; None leaves the request to it."""
        self._script: deque[Reply] = deque()
        self._released = asyncio.Event()
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.accepted = 0  # connections that were made to it so far
        self._count = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**20)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        """For `[model_providers.NAME] base_url`."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def script(self, *replies: Reply) -> None:
        """Add replies for the next requests."""
        self._script.extend(replies)

    def release(self) -> None:
        """Let every hanging reply end."""
        self._released.set()

    async def wait_for_requests(self, count: int, *, seconds_max: float = 5) -> None:
        """Until that many requests came."""
        async with asyncio.timeout(seconds_max), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await _head(reader)) is not None:
                method, path, headers = head
                content = await reader.readexactly(int(headers.get("content-length", "0")))
                if path.endswith("/models") and self.models is not None:
                    self.model_lists += 1
                    rows = [{"id": one, **self.model_facts} for one in self.models]
                    listed = json.dumps({"data": rows})
                    _plain(writer, 200, listed.encode(), {})
                elif method != "POST" or not path.endswith(self.path):
                    _plain(writer, 404, b'{"error":{"message":"no such path"}}', {})
                elif not await self._answer(writer, headers, content):
                    return
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _answer(
        self, writer: asyncio.StreamWriter, headers: Mapping[str, str], content: bytes
    ) -> bool:
        request = self.recorded(headers=headers, body=json.loads(content))
        async with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        self._count += 1
        reply = self._reply_to(request)
        if reply.status != 200:
            _plain(writer, reply.status, (reply.body or "{}").encode(), reply.headers)
            return True
        given = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        writer.write(_head_bytes(200, {**given, **reply.headers}))
        async for block in self._stream(reply, request):
            writer.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")
            if reply.tokens_per_s or reply.gate or reply.hangs:
                await writer.drain()
        if reply.cut:
            await writer.drain()
            return False
        writer.write(b"0\r\n\r\n")
        return True

    def _reply_to(self, request: Recorded) -> Reply:
        if self._script:
            return self._script.popleft()
        if (chosen := self.choose(request)) is not None:
            return chosen
        if request.structured:
            return says_json(self.structured(request))
        text = request.user_texts[-1] if request.user_texts else ""
        if "fail with an error" in text:
            return Reply(fails=("scripted", "scripted failure"))
        if "fail with status" in text:
            return status(400, "scripted bad request", type="invalid_request_error")
        slow = SLOW_TOKENS_PER_S if "speak slowly" in text else None
        return Reply(text=f"You said: {text} -- mock-final", tokens_per_s=slow)

    async def _stream(self, reply: Reply, request: Recorded) -> AsyncIterator[bytes]:
        if reply.raw is not None:
            yield reply.raw
            return
        number = self._count
        response = {"id": f"resp_{number:08}", "object": "response", "status": "in_progress"}
        yield sse({"type": "response.created", "response": response})
        made: list[dict[str, Any]] = [dict(item) for item in reply.items]
        for item in made:
            yield sse({"type": "response.output_item.done", "output_index": 0, "item": item})
        if reply.reasoning is not None:
            for event in _reasoning_events(f"rs_{number:08}", reply.reasoning, made):
                yield sse(event)
        if reply.text is not None:
            async for block in self._message(reply, f"msg_{number:08}", made):
                yield block
        for index, call in enumerate(reply.calls):
            for event in _call_events(call, f"{number:08}_{index}", made):
                yield sse(event)
        if reply.hangs:
            await self._released.wait()
        if reply.cut:
            return
        yield sse(_terminal(reply, response, made, request))

    async def _message(
        self, reply: Reply, item_id: str, made: list[dict[str, Any]]
    ) -> AsyncIterator[bytes]:
        text = reply.text or ""
        item: dict[str, Any] = {"type": "message", "id": item_id, "role": "assistant"}
        if reply.phase is not None:
            item["phase"] = reply.phase
        started = {**item, "status": "in_progress", "content": []}
        yield sse({"type": "response.output_item.added", "output_index": 0, "item": started})
        pieces, waiting = _pieces(text, reply.delta_characters), list[bytes]()
        for index, piece in enumerate(pieces):
            if reply.gate is not None and index == (len(pieces) + 1) // 2:
                if waiting:  # an empty chunk would end the body
                    yield b"".join(waiting)
                waiting = []
                await reply.gate.wait()
            if reply.tokens_per_s:
                await asyncio.sleep(1 / reply.tokens_per_s)
            delta = {"type": "response.output_text.delta", "item_id": item_id, "delta": piece}
            waiting.append(sse({**delta, "output_index": 0, "content_index": 0}))
            if reply.tokens_per_s or len(waiting) >= 64:
                yield b"".join(waiting)
                waiting = []
        if waiting:
            yield b"".join(waiting)
        if reply.cut or reply.hangs:
            return
        part = {"type": "output_text", "text": text, "annotations": []}
        whole = {**item, "status": "completed", "content": [part]}
        made.append(whole)
        yield sse({"type": "response.output_item.done", "output_index": 0, "item": whole})


def sse(event: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def example_of_schema(request: Recorded) -> Any:
    """A value that fits the output schema: each text says its own name."""
    schema = request.body["text"]["format"]["schema"]
    return {name: _example(name, rule) for name, rule in schema.get("properties", {}).items()}


def _example(name: str, rule: Mapping[str, Any]) -> Any:
    kind = rule.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    values: dict[str, Any] = {"array": [], "object": {}, "boolean": False, "integer": 0}
    return values.get(kind, f"scripted-{name.replace('_', '-')}")


def _pieces(text: str, size: int) -> Sequence[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _reasoning_events(
    item_id: str, summary: str, made: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    item: dict[str, Any] = {"type": "reasoning", "id": item_id, "summary": []}
    whole = {**item, "summary": [{"type": "summary_text", "text": summary}]}
    made.append(whole)
    delta = {"type": "response.reasoning_summary_text.delta", "item_id": item_id}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({**delta, "summary_index": 0, "delta": piece} for piece in _pieces(summary, 4)),
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
    ]


def _call_events(call: Call, number: str, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    given, text = call.arguments, "input" if call.custom else "arguments"
    item = {
        "type": "custom_tool_call" if call.custom else "function_call",
        "id": f"fc_{number}",
        "call_id": call.call_id or f"call_{number}",
        "name": call.name,
        text: given if isinstance(given, str) else json.dumps(given),
        "status": "completed",
    }
    if call.namespace is not None:
        item["namespace"] = call.namespace
    made.append(item)
    started = {**item, text: "", "status": "in_progress"}
    delta = {"type": "response.custom_tool_call_input.delta", "item_id": item["id"]}
    pieces = _pieces(str(given), call.piece_characters) if call.piece_characters else ()
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": started},
        *({**delta, "output_index": 0, "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


def _terminal(
    reply: Reply, response: Mapping[str, Any], made: list[dict[str, Any]], request: Recorded
) -> dict[str, Any]:
    if reply.fails is not None:
        code, message = reply.fails
        failed = {**response, "status": "failed", "error": {"code": code, "message": message}}
        return {"type": "response.failed", "response": failed}
    if reply.incomplete is not None:
        details = {"reason": reply.incomplete}
        short = {**response, "status": "incomplete", "incomplete_details": details}
        return {"type": "response.incomplete", "response": short}
    read, written = len(request.text) // 4, max(1, len(reply.text or "") // 4)
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": read // 2},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
        **(reply.usage or {}),
    }
    whole = {**response, "status": "completed", "output": made, "usage": usage}
    return {"type": "response.completed", "response": whole}


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]] | None:
    line = await reader.readline()
    if not line.strip():
        return None
    (method, path, _), headers = line.decode().split(" ", 2), {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    return method, path, headers


def _head_bytes(code: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _plain(writer: asyncio.StreamWriter, code: int, body: bytes, more: Mapping[str, str]) -> None:
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **more}
    writer.write(_head_bytes(code, given) + body)
