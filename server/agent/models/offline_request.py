"""What the offline responder sees of a request: the question, where it is asked, results so far.

Pure. It reads nothing but the request, as a model would.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.agent.models.base import Item, ModelRequest

NAMESPACE = "memories"
TEXT_CHARS_MAX = 20_000
_CWD = re.compile(r"<cwd>([^<]{1,4096})</cwd>")
_BEGINS = "========= MEMORY_SUMMARY BEGINS ========="
_ENDS = "========= MEMORY_SUMMARY ENDS ========="
_MARKED = re.compile(r"^\s*(?:<[A-Za-z_][\w-]*>|# AGENTS\.md instructions)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One finished call of this turn."""

    name: str
    arguments: Mapping[str, Any]
    output: str

    @property
    def value(self) -> Mapping[str, Any] | None:
        """The result as an object, or None when the tool answered with a sentence."""
        try:
            value = json.loads(self.output)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The last thing the user typed, with all that helps to answer it."""

    text: str
    cwd: str
    summary: tuple[str, ...]
    """The lines of the injected summary, the first line being line 1 of its file."""
    tools: frozenset[str]
    """The memory tools that are offered."""
    results: tuple[ToolResult, ...]

    def result(self, name: str) -> ToolResult | None:
        """The first result of that tool in this turn."""
        return next((one for one in self.results if one.name == name), None)


def asked(request: ModelRequest) -> Asked:
    """Read a request."""
    last = _last_typed(request.input)
    texts = [text for item in request.input for text in _texts(item)]
    cwds = [found for text in texts for found in _CWD.findall(text)]
    return Asked(
        text=_typed(request.input[last])[:TEXT_CHARS_MAX] if last is not None else "",
        cwd=cwds[-1].strip() if cwds else "",
        summary=_summary(texts),
        tools=_tools(request.tools),
        results=_results(request.input[last + 1 :] if last is not None else ()),
    )


def _last_typed(items: Sequence[Item]) -> int | None:
    for number in range(len(items) - 1, -1, -1):
        item = items[number]
        if item.get("type") == "message" and item.get("role") == "user" and _typed(item):
            return number
    return None


def _typed(item: Item) -> str:
    return "\n\n".join(text for text in _texts(item) if not _MARKED.match(text)).strip()


def _texts(item: Item) -> list[str]:
    content = item.get("content")
    if item.get("type") != "message" or not isinstance(content, list | tuple):
        return []
    return [
        str(part.get("text", ""))
        for part in content
        if isinstance(part, Mapping) and part.get("type") in ("input_text", "text")
    ]


def _summary(texts: Sequence[str]) -> tuple[str, ...]:
    for text in texts:
        _, begins, rest = text.partition(f"{_BEGINS}\n")
        inside, ends, _ = rest.partition(f"\n{_ENDS}")
        if begins and ends:
            return tuple(inside.split("\n"))
    return ()


def _tools(tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    names: set[str] = set()
    for tool in tools:
        if tool.get("type") == "namespace" and tool.get("name") == NAMESPACE:
            names.update(str(one.get("name")) for one in tool.get("tools", ()))
    return frozenset(names)


def _results(items: Sequence[Item]) -> tuple[ToolResult, ...]:
    calls: dict[str, Item] = {}
    found: list[ToolResult] = []
    for item in items:
        call_id = str(item.get("call_id", ""))
        if item.get("type") == "function_call" and item.get("namespace") == NAMESPACE:
            calls[call_id] = item
        elif item.get("type") == "function_call_output" and call_id in calls:
            call = calls[call_id]
            found.append(
                ToolResult(
                    name=str(call.get("name", "")),
                    arguments=_arguments(call.get("arguments")),
                    output=_output(item.get("output")),
                )
            )
    return tuple(found)


def _arguments(value: Any) -> Mapping[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _output(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, Mapping))
    return ""
