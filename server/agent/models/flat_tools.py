"""Namespaced tools as flat functions, for servers that know no namespaces. Pure.

`search` of the namespace `memories` is sent as the function `memories__search`; calls of that name
come back as what they mean, so that history and tools look the same whatever the server is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.models.base import Item

SEPARATOR = "__"


def has_namespaces(tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any tool is a namespace."""
    return any(tool.get("type") == "namespace" for tool in tools)


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
