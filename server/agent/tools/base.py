"""Tools as an agent sees them: a set of functions, offered and called by name.

Invariant: a call always gives text for the model, whatever the tool does, and that text is within
its bound; a result that was JSON stays JSON when it is cut.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from server.agent.json_bounds import why_not_writable
from server.agent.tools.stage import StagedTool
from state.policy.budget import truncate_middle_bytes

ABORTED = "aborted"


class Tool(Protocol):
    """A function the model may call; mistakes come back as text, never raised."""

    @property
    def name(self) -> str:
        """The function's name."""
        ...

    @property
    def description(self) -> str:
        """What the model is told about it."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments."""
        ...

    async def call(self, arguments: str) -> str:
        """Run it with the model's argument text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """The tools of one thread: those of a namespace, and plain functions."""

    namespace: str | None = None
    tools: tuple[Tool, ...] = ()
    """Tools that work unseen: no items, text in and out."""
    staged: tuple[StagedTool, ...] = ()
    """Tools whose work clients can see."""

    def definitions(self) -> tuple[Mapping[str, Any], ...]:
        """As the Responses API takes them."""
        functions = (*(_function(tool) for tool in self.tools), *(
            dict(tool.definition) for tool in self.staged
        ))  # fmt: skip
        if self.namespace is None or not functions:
            return functions
        return (
            {
                "type": "namespace",
                "name": self.namespace,
                "description": f"Tools in the {self.namespace} namespace.",
                "tools": list(functions),
            },
        )

    def find(self, name: str, namespace: str | None) -> Tool | None:
        """The unseen tool that a call means; a flat name `memories__search` means the same one."""
        wanted = self._name(name, namespace)
        return next((tool for tool in self.tools if tool.name == wanted), None)

    def find_staged(self, name: str, namespace: str | None) -> StagedTool | None:
        """The tool with items that a call means."""
        wanted = self._name(name, namespace)
        return next((tool for tool in self.staged if tool.name == wanted), None)

    def _name(self, name: str, namespace: str | None) -> str | None:
        """The name inside this set; None when another set is meant."""
        if self.namespace is None:
            return name
        flat = f"{self.namespace}__"
        if namespace == self.namespace or (namespace is None and name.startswith(flat)):
            return name.removeprefix(flat)
        return None if namespace is not None else name


def _function(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "strict": False,
        "parameters": dict(tool.parameters),
    }


async def run_call(
    sets: Sequence[ToolSet],
    call: Mapping[str, Any],
    *,
    output_bytes_max: int,
    seconds_max: int,
) -> str:
    """Run one `function_call` item; the text for the model."""
    name, namespace = str(call.get("name", "")), call.get("namespace")
    tool = next((one for tools in sets if (one := tools.find(name, namespace))), None)
    if tool is None:
        return f"unsupported call: {f'{namespace}.{name}' if namespace else name}"
    arguments = call.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments or {})
    try:
        async with asyncio.timeout(seconds_max):
            output = await tool.call(arguments)
    except TimeoutError:
        return f"the tool {name} took longer than {seconds_max} seconds and was stopped"
    return fitted(output, bytes_max=output_bytes_max)


def fitted(output: str, *, bytes_max: int) -> str:
    """Cut a result to its bound; JSON is cut inside its longest texts and lists."""
    if len(output.encode()) <= bytes_max:
        return output
    try:
        value = orjson.loads(output)
    except orjson.JSONDecodeError:
        return truncate_middle_bytes(output, bytes_max=bytes_max)
    # Each round at least halves what may stay of one text or list, so the loop is short.
    share = bytes_max
    while share >= 16:
        shorter = orjson.dumps(_shortened(value, share)).decode()
        if len(shorter.encode()) <= bytes_max:
            return shorter
        share //= 2
    return orjson.dumps({"truncated": True}).decode()


def _shortened(value: Any, share: int) -> Any:
    if isinstance(value, str):
        if len(value.encode()) <= share:
            return value
        return truncate_middle_bytes(value, bytes_max=share)
    if isinstance(value, list):
        kept: list[Any] = []
        room = share
        for one in value:
            shorter = _shortened(one, share)
            room -= len(orjson.dumps(shorter)) + 1
            if room < 0 and kept:
                break
            kept.append(shorter)
        return kept
    if isinstance(value, dict):
        short = {key: _shortened(one, share) for key, one in value.items()}
        if short != value:
            short["truncated"] = True
        return short
    return value


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def read_arguments(text: str) -> Any:
    """The arguments of a call that is shown to clients as the model wrote it; {} for no text.

    Raises: ValueError for what is no JSON, and for what nobody could write as JSON again, such as
    what is nested very deeply: an item that holds it could never be sent.
    """
    try:
        value = json.loads(text, parse_constant=_no_number) if text.strip() else {}
    except RecursionError as error:
        raise ValueError(f"they cannot be written as JSON: {error}") from error
    if (reason := why_not_writable(value)) is not None:
        raise ValueError(f"they cannot be written as JSON: {reason}")
    return value
