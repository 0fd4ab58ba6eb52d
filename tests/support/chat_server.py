"""The scripted model server speaking the Chat Completions API: the same replies, another wire.

`refuses` names keys of a request that it answers with a 400, as plain endpoints do; `streams` off
answers with one object, `tells_usage` off leaves the usage out and the stream open behind the end.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, status


class ChatRecorded(Recorded):
    """One request as it came."""

    @property
    def user_texts(self) -> list[str]:
        """The texts of user messages in order."""
        return [_text(one) for one in self.body["messages"] if one["role"] == "user"]

    @property
    def structured(self) -> bool:
        """Whether an output schema came with it."""
        return "response_format" in self.body

    @property
    def tool_names(self) -> list[str]:
        """The names of the functions it offers."""
        return [str(tool["function"]["name"]) for tool in self.body.get("tools", [])]


class ChatServer(ResponsesServer):
    """The server; one per test."""

    path = "/chat/completions"
    recorded = ChatRecorded

    def __init__(self) -> None:
        super().__init__()
        self.refuses: frozenset[str] = frozenset()
        self.streams = True
        self.tells_usage = True
        self.structured = _example

    def _reply_to(self, request: Recorded) -> Reply:
        for key in sorted(self.refuses & set(request.body)):
            return status(400, f"Unsupported parameter: {key}", type="invalid_request_error")
        reply = super()._reply_to(request)
        if self.streams or reply.status != 200:
            return reply
        message = {"role": "assistant", "content": reply.text, "tool_calls": _whole(reply.calls)}
        choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
        usage = {"usage": _usage(request, reply)} if self.tells_usage else {}
        body = {"id": "chatcmpl-1", "choices": [choice], **usage}
        return Reply(status=200, raw=json.dumps(body).encode(), headers=_JSON)

    async def _stream(self, reply: Reply, request: Recorded) -> AsyncIterator[bytes]:
        if reply.raw is not None:
            yield reply.raw
            return
        if reply.fails is not None:
            yield _sse({"error": {"code": reply.fails[0], "message": reply.fails[1]}})
            return
        yield _chunk({"role": "assistant", "content": ""})
        if reply.reasoning is not None:
            yield _chunk({"reasoning_content": reply.reasoning})
        text, size = reply.text or "", reply.delta_characters
        for start in range(0, len(text), size):
            if reply.tokens_per_s:
                await asyncio.sleep(1 / reply.tokens_per_s)
            yield _chunk({"content": text[start : start + size]})
        for index, call in enumerate(_whole(reply.calls)):
            function, cut = call["function"], len(call["function"]["arguments"]) // 2
            first = {**function, "arguments": function["arguments"][:cut]}
            yield _chunk({"tool_calls": [{**call, "index": index, "function": first}]})
            rest = {"arguments": function["arguments"][cut:]}
            yield _chunk({"tool_calls": [{"index": index, "function": rest}]})
        if reply.cut:
            return
        yield _chunk({}, "length" if reply.incomplete else _reason(reply))
        if not self.tells_usage:
            await self._released.wait()
            return
        yield _sse({"id": "chatcmpl-1", "choices": [], "usage": _usage(request, reply)})
        yield b"data: [DONE]\n\n"


_JSON = {"Content-Type": "application/json"}


def _example(request: Recorded) -> Any:
    schema = request.body["response_format"]["json_schema"]["schema"]
    return {name: f"scripted-{name.replace('_', '-')}" for name in schema.get("properties", {})}


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if part["type"] == "text")


def _whole(made: tuple[Call, ...]) -> list[dict[str, Any]]:
    return [
        {
            "id": call.call_id or f"call_{index}",
            "type": "function",
            "function": {
                "name": f"{call.namespace}__{call.name}" if call.namespace else call.name,
                "arguments": call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments),
            },
        }
        for index, call in enumerate(made)
    ]


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(request: Recorded, reply: Reply) -> dict[str, Any]:
    read, written = len(request.text) // 4, max(1, len(reply.text or "") // 4)
    details = {"cached_tokens": read // 2}
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": details,
    }


def _chunk(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]})


def _sse(event: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()
