"""Namespaced and free-form tools as flat functions, for servers that know only those. Pure.

`search` of the namespace `memories` is sent as the function `memories__search`; calls of that name
come back as what they mean, so that history and tools look the same whatever the server is.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.models.base import Item

SEPARATOR = "__"


FREE_FORM_ARGUMENT = "input"
_FUNCTION_ITEMS = {
    "custom_tool_call": "function_call",
    "custom_tool_call_output": "function_call_output",
}


def needs_more_than_functions(tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any tool is a namespace, free-form, or run by the server itself."""
    return any(tool.get("type") != "function" for tool in tools)


def plain_functions(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same tools as functions alone; what a server would run itself is left out."""
    functions: list[Mapping[str, Any]] = []
    for tool in flat_definitions(tools):
        if tool.get("type") == "function":
            functions.append(tool)
        elif tool.get("type") == "custom":
            functions.append({"type": "function", "strict": False, **of_one_text(tool)})
    return functions


def of_one_text(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A free-form tool as a function of one text, its grammar told in words."""
    grammar = (tool.get("format") or {}).get("definition")
    description = str(tool.get("description") or "")
    if isinstance(grammar, str):
        description = f"{description}\n\nThe text follows this grammar:\n{grammar}".strip()
    return {
        "name": str(tool.get("name")),
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {FREE_FORM_ARGUMENT: {"type": "string"}},
            "required": [FREE_FORM_ARGUMENT],
            "additionalProperties": False,
        },
    }


def plain_item(item: Item) -> Item:
    """A recorded item as a server that knows functions alone expects to see it again."""
    kind = _FUNCTION_ITEMS.get(str(item.get("type")))
    if kind is None:
        return flat_item(item)
    if kind == "function_call_output":
        return {**item, "type": kind}
    kept = {key: value for key, value in item.items() if key != "input"}
    arguments = json.dumps({FREE_FORM_ARGUMENT: item.get("input", "")}, ensure_ascii=False)
    return {**kept, "type": kind, "arguments": arguments}


def flat_definitions(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same tools without namespaces."""
    flat: list[Mapping[str, Any]] = []
    for tool in tools:
        if tool.get("type") != "namespace":
            flat.append(tool)
            continue
        prefix = f"{tool['name']}{SEPARATOR}"
        flat.extend({**inner, "name": f"{prefix}{inner['name']}"} for inner in tool["tools"])
    return flat


def flat_item(item: Item) -> Item:
    """A recorded call as such a server expects to see it again."""
    namespace = item.get("namespace")
    if item.get("type") != "function_call" or not namespace:
        return item
    plain = {key: value for key, value in item.items() if key != "namespace"}
    return {**plain, "name": f"{namespace}{SEPARATOR}{item.get('name', '')}"}


def meant_item(item: Item, tools: Sequence[Mapping[str, Any]]) -> Item:
    """A call of a flat name as the namespaced one it means."""
    name = str(item.get("name", ""))
    if item.get("type") != "function_call" or item.get("namespace"):
        return item
    for tool in tools:
        if tool.get("type") == "namespace":
            prefix = f"{tool['name']}{SEPARATOR}"
            if name.startswith(prefix):
                return {**item, "name": name.removeprefix(prefix), "namespace": tool["name"]}
    return item
