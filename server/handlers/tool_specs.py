"""The tools that a client offers with `thread/start`, checked before a model is told of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from protocol.errors import refused
from server.handlers.sizes import json_bytes

TOOLS_MAX = 64
SPECS_BYTES_MAX = 262_144
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def client_tools(
    given: Sequence[Mapping[str, Any]] | None,
) -> tuple[Mapping[str, Any], ...] | None:
    """The tools, each once and each with a name that providers take.

    Raises: WireError.
    """
    if not given:
        return None
    if json_bytes(given) > SPECS_BYTES_MAX:
        raise refused(f"dynamicTools are larger than {SPECS_BYTES_MAX} bytes")
    seen: set[tuple[str, str]] = set()
    for space, spec in _functions(given):
        name = spec.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise refused(f"invalid dynamic tool name: {str(name)[:100]}")
        if (space, name) in seen:
            raise refused(f"duplicate dynamic tool name: {name}")
        if not isinstance(spec.get("description"), str):
            raise refused(f"dynamic tool {name} has no description")
        if not isinstance(spec.get("inputSchema"), Mapping):
            raise refused(f"dynamic tool {name} has no inputSchema that is an object")
        seen.add((space, name))
    if len(seen) > TOOLS_MAX:
        raise refused(f"more than {TOOLS_MAX} dynamic tools")
    return tuple(dict(one) for one in given)


def _functions(given: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each tool with the namespace it stands in."""
    for spec in given:
        if spec.get("type", "function") == "function":
            yield "", spec
            continue
        space, tools = spec.get("name"), spec.get("tools")
        if spec.get("type") != "namespace" or not isinstance(space, str):
            raise refused("a dynamic tool is of type `function` or `namespace`")
        if not _NAME.fullmatch(space) or not isinstance(tools, list):
            raise refused(f"invalid dynamic tool namespace: {space[:100]}")
        for inner in tools:
            if not isinstance(inner, Mapping):
                raise refused(f"invalid dynamic tool in {space}")
            yield space, inner
