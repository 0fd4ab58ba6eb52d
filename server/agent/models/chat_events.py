"""From the chunks of the Chat Completions API to our events. Pure.

Servers differ: some send no ids, whole calls at once, no usage, or one object in place of a stream.
Invariant: a response without a reason for its end has failed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.agent.errors import ProviderFailed
from server.agent.models.base import (
    Completed,
    Item,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    OutputItem,
    ReasoningDelta,
    ReasoningStarted,
    TokenUse,
)
from server.agent.models.flat_tools import FREE_FORM_ARGUMENT, meant_item
from server.agent.models.openai_client import CUT
from server.agent.models.response_events import failed

CALLS_MAX = 256
_REASONING_KEYS = ("reasoning_content", "reasoning")
_SHORT = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(slots=True)
class _Call:
    """A call under way."""

    call_id: str
    name: str
    arguments: list[str]


class ChatReader:
    """Reads one response."""

    def __init__(
        self,
        *,
        tools: Sequence[Mapping[str, Any]],
        rate_limits: Mapping[str, Any] | None,
        arguments_bytes_max: int,
    ) -> None:
        self._tools = tools
        self._free_form = {tool.get("name") for tool in tools if tool.get("type") == "custom"}
        self._rate_limits = rate_limits
        self._bytes_left = arguments_bytes_max
        self._id = ""
        self._text: list[str] = []
        self._thought: list[str] = []
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._reason: str | None = None
        self._usage: TokenUse | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more is needed of the stream."""
        return self._reason is not None and self._usage is not None

    @property
    def answered(self) -> bool:
        """Whether the model said why it stopped; only its usage may still come."""
        return self._reason is not None

    def feed(self, chunks: Iterable[Mapping[str, Any]]) -> Iterator[ModelEvent]:
        """The events of one read.

        Raises: ProviderFailed.
        """
        for chunk in chunks:
            yield from self._chunk(chunk)

    def finish(self) -> Iterator[ModelEvent]:
        """What is known only at the end: whole items, and the end itself.

        Raises: ProviderFailed.
        """
        if self._reason is None:
            raise ProviderFailed("other", CUT, retryable=True)
        if self._reason in _SHORT:
            reason = _SHORT[self._reason]
            raise ProviderFailed("other", f"the model's response is incomplete: {reason}")
        if self._thought:
            summary = [{"type": "summary_text", "text": "".join(self._thought)}]
            yield OutputItem(item={"type": "reasoning", "summary": summary})
        if self._text:
            yield OutputItem(item=self._message())
        for number, call in enumerate(self._calls):
            yield OutputItem(item=meant_item(self._called(number, call), self._tools))
        yield Completed(
            use=self._usage or TokenUse(),
            response_id=self._id or None,
            rate_limits=self._rate_limits,
        )

    def _chunk(self, chunk: Mapping[str, Any]) -> Iterator[ModelEvent]:
        if error := chunk.get("error"):
            told = error if isinstance(error, Mapping) else {"message": str(error)}
            raise failed(told, self._rate_limits)
        if isinstance(chunk.get("id"), str):
            self._id = chunk["id"]
        if isinstance(chunk.get("usage"), Mapping):
            self._usage = chat_use(chunk["usage"])
        choice = next(iter(chunk.get("choices") or ()), None)
        if not isinstance(choice, Mapping):
            return
        said = choice.get("delta") or choice.get("message")
        if isinstance(said, Mapping):
            yield from self._said(said)
        if isinstance(choice.get("finish_reason"), str):
            self._reason = choice["finish_reason"]

    def _said(self, said: Mapping[str, Any]) -> Iterator[ModelEvent]:
        thought = next((text for key in _REASONING_KEYS if (text := said.get(key))), None)
        if isinstance(thought, str):
            if not self._thought:
                yield ReasoningStarted(item_id=f"rs_{self._id}")
            self._thought.append(thought)
            yield ReasoningDelta(item_id=f"rs_{self._id}", summary_index=0, text=thought)
        text = said.get("content") or said.get("refusal")
        if isinstance(text, str):
            if not self._text:
                yield MessageStarted(item_id=f"msg_{self._id}")
            self._text.append(text)
            yield MessageDelta(item_id=f"msg_{self._id}", text=text)
        for call in said.get("tool_calls") or ():
            if isinstance(call, Mapping):
                self._piece(call)

    def _piece(self, piece: Mapping[str, Any]) -> None:
        """Add a piece of a call to the one it continues; one with a name of its own begins one."""
        function = piece.get("function")
        given = function if isinstance(function, Mapping) else {}
        index, name = piece.get("index"), str(given.get("name") or "")
        call = self._places.get(index) if isinstance(index, int) else None
        if call is None and not name and self._calls and not isinstance(index, int):
            call = self._calls[-1]
        if call is None:
            if len(self._calls) >= CALLS_MAX:
                raise ProviderFailed("other", "the model asked for too many tools at once")
            call = _Call(call_id=str(piece.get("id") or ""), name="", arguments=[])
            self._calls.append(call)
            if isinstance(index, int):
                self._places[index] = call
        call.name += name
        arguments = given.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        if arguments is not None:
            self._bytes_left -= len(text)
            call.arguments.append(text)
        if self._bytes_left < 0:
            raise ProviderFailed("other", "the model's calls are too long and were stopped")

    def _message(self) -> Item:
        content = [{"type": "output_text", "text": "".join(self._text), "annotations": []}]
        return {
            "type": "message",
            "id": f"msg_{self._id}",
            "role": "assistant",
            "content": content,
        }

    def _called(self, number: int, call: _Call) -> Item:
        arguments = "".join(call.arguments)
        called = {"call_id": call.call_id or f"call_{self._id}_{number}", "name": call.name}
        if call.name in self._free_form:
            return {"type": "custom_tool_call", **called, "input": _free_text(arguments)}
        return {"type": "function_call", **called, "arguments": arguments or "{}"}


def _free_text(arguments: str) -> str:
    """The text of a free-form call; a model that left out the object around it is understood."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    text = value.get(FREE_FORM_ARGUMENT) if isinstance(value, dict) else value
    return text if isinstance(text, str) else arguments


def chat_use(usage: Mapping[str, Any]) -> TokenUse:
    """The counts of a response; what is missing or odd counts as zero."""
    read, made = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    details, spent = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    return TokenUse(
        input_tokens=read,
        cached_input_tokens=_count(details, "cached_tokens"),
        output_tokens=made,
        reasoning_output_tokens=_count(spent, "reasoning_tokens"),
        total_tokens=_count(usage, "total_tokens") or read + made,
    )


def _count(given: Any, key: str) -> int:
    value = given.get(key) if isinstance(given, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
