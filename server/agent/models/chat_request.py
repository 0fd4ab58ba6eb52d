"""A `ModelRequest` as the Chat Completions API takes it. Pure.

What that API has no place for is put where a model still reads it: pictures that a tool returned
follow as a user message, free-form tools become functions of one text. Neighbouring messages of one
voice are joined, since the templates of many local models demand that voices alternate.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from server.agent.models.base import Item, ModelRequest
from server.agent.models.flat_tools import (
    FREE_FORM_ARGUMENT,
    flat_definitions,
    flat_item,
    of_one_text,
)

PICTURES = "Pictures that the tool results above refer to:"

OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "stream_options": ("stream_options", "include_usage"),
    "parallel_tool_calls": ("parallel_tool_calls",),
    "reasoning_effort": ("reasoning_effort",),
    "service_tier": ("service_tier", "service tier"),
    "tool_choice": ("tool_choice",),
}
"""Keys that a request can do without, and the words by which a refusal means them."""


def body_of(request: ModelRequest, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The request without the optional keys that this server refuses."""
    schema = request.output_schema
    asked = None if schema is None or "response_format" not in without else schema
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages_of(request.instructions, request.input, schema=asked),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools := functions_of(request.tools):
        body["tools"] = tools
        body["tool_choice"] = "auto"
        body["parallel_tool_calls"] = True
    if request.effort:
        body["reasoning_effort"] = request.effort
    if request.service_tier:
        body["service_tier"] = request.service_tier
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "output_schema", "strict": True, "schema": dict(schema)},
        }
    return {key: value for key, value in body.items() if key not in without}


def refused_keys(message: str, body: Mapping[str, Any]) -> frozenset[str]:
    """The optional keys of that body which a refusal speaks of."""
    said = message.lower()
    return frozenset(
        key
        for key, words in OPTIONAL.items()
        if key in body and any(word in said for word in words)
    )


def messages_of(
    instructions: str, items: Sequence[Item], *, schema: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The conversation as messages, the standing rules first.

    A schema that the server does not enforce is asked for in words; the answer is checked anyway.
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": instructions}]
    pictures: list[dict[str, Any]] = []
    for message in (one for item in items for one in _messages(flat_item(item), pictures)):
        if pictures and message["role"] != "tool":
            _add(messages, _shown(pictures))
        _add(messages, message)
    if pictures:
        _add(messages, _shown(pictures))
    if schema is not None:
        told = json.dumps(schema, ensure_ascii=False)
        messages[0]["content"] += f"\n\nAnswer with one JSON object of this schema only:\n{told}"
    return messages


def functions_of(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools that this API knows: functions, and free-form tools as functions of one text."""
    functions: list[dict[str, Any]] = []
    for tool in flat_definitions(tools):
        if tool.get("type") == "function":
            given = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
            functions.append({"type": "function", "function": given})
        elif tool.get("type") == "custom":
            functions.append({"type": "function", "function": of_one_text(tool)})
    return functions


def _messages(item: Item, pictures: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages of one item; pictures that have no place in them are put aside."""
    match item.get("type"):
        case "message":
            yield _spoken(item)
        case "function_call":
            yield _called(item, str(item.get("arguments") or "{}"))
        case "custom_tool_call":
            arguments = json.dumps({FREE_FORM_ARGUMENT: item.get("input", "")})
            yield _called(item, arguments)
        case "function_call_output" | "custom_tool_call_output":
            text, shown = _parts(item.get("output"))
            pictures.extend(shown)
            yield {"role": "tool", "tool_call_id": str(item.get("call_id", "")), "content": text}
        case _:
            return  # reasoning and hosted tools stay with the provider that made them


def _spoken(item: Item) -> dict[str, Any]:
    role = {"developer": "system"}.get(str(item.get("role")), str(item.get("role")))
    text, shown = _parts(item.get("content"))
    if not shown:
        return {"role": role, "content": text}
    return {"role": role, "content": [{"type": "text", "text": text}, *shown]}


def _called(item: Item, arguments: str) -> dict[str, Any]:
    call = {
        "id": str(item.get("call_id", "")),
        "type": "function",
        "function": {"name": str(item.get("name", "")), "arguments": arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _parts(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """The text of a content list, and its pictures in this API's shape."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    shown: list[dict[str, Any]] = []
    for part in content or ():
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "input_image":
            image = {"url": str(part.get("image_url", ""))}
            if isinstance(part.get("detail"), str):
                image["detail"] = part["detail"]
            shown.append({"type": "image_url", "image_url": image})
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
    return "\n\n".join(texts), shown


def _shown(pictures: list[dict[str, Any]]) -> dict[str, Any]:
    content = [{"type": "text", "text": PICTURES}, *pictures]
    pictures.clear()
    return {"role": "user", "content": content}


def _add(messages: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Put a message behind the others, as part of the last one where both are of one voice."""
    last = messages[-1]
    if last["role"] != message["role"] or message["role"] == "tool":
        messages.append(message)
        return
    if calls := message.get("tool_calls"):
        last["tool_calls"] = [*last.get("tool_calls", ()), *calls]
    if "tool_calls" in last and message.get("content") is not None:
        # Words behind a call that nobody answered: they stand before it.
        last["content"] = _joined(last.get("content"), message["content"])
    elif message.get("content") is not None:
        last["content"] = _joined(last["content"], message["content"])


def _joined(first: Any, second: Any) -> Any:
    if first is None:
        return second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_listed(first), *_listed(second)]


def _listed(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
