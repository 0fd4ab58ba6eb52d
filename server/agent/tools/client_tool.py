"""Tools that the client offered when it began the thread, and runs itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.tools.base import ToolSet, read_arguments
from server.agent.tools.stage import Part, Stage, ToolCall, ToolResult


class ClientTool:
    """One of them; made of the wire's `DynamicToolSpec`."""

    is_parallel = False
    seconds_max = None

    def __init__(self, spec: Mapping[str, Any], namespace: str | None) -> None:
        self._spec = spec
        self._namespace = namespace

    @property
    def name(self) -> str:
        """The name the client gave it."""
        return str(self._spec["name"])

    @property
    def definition(self) -> Mapping[str, Any]:
        """As the client described it."""
        return {
            "type": "function",
            "name": self.name,
            "description": str(self._spec.get("description", "")),
            "strict": False,
            "parameters": self._spec.get("inputSchema") or {"type": "object", "properties": {}},
        }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Let the client run it; its result is an ordinary output, as in the original."""
        try:
            arguments = read_arguments(call.text)
        except ValueError as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        body: dict[str, Any] = {
            "namespace": self._namespace,
            "tool": self.name,
            "arguments": arguments,
            "status": "inProgress",
            "contentItems": None,
            "success": None,
            "durationMs": None,
        }
        item = stage.open("dynamicToolCall", body)
        answer = await stage.call_client(self.name, arguments, namespace=self._namespace)
        body |= {
            "status": "completed" if answer.success else "failed",
            "contentItems": [dict(one) for one in answer.content_items],
            "success": answer.success,
        }
        await item.complete(body)
        return ToolResult(content=_content(answer.content_items))


def _content(items: Sequence[Mapping[str, Any]]) -> str | tuple[Part, ...]:
    """What the client gave, for the model; plain text where there is no image."""
    texts = [str(one.get("text", "")) for one in items if one.get("type") == "inputText"]
    images = [one for one in items if one.get("type") == "inputImage"]
    if not images:
        return "\n".join(texts)
    return (
        *({"type": "input_text", "text": text} for text in texts),
        *({"type": "input_image", "image_url": str(one.get("imageUrl", ""))} for one in images),
    )


def client_sets(specs: Sequence[Mapping[str, Any]]) -> tuple[ToolSet, ...]:
    """The sets of tools that these specs describe."""
    plain = [ClientTool(one, None) for one in specs if one.get("type", "function") == "function"]
    named = [
        ToolSet(
            namespace=str(one["name"]),
            staged=tuple(ClientTool(inner, str(one["name"])) for inner in one.get("tools") or ()),
        )
        for one in specs
        if one.get("type") == "namespace"
    ]
    return (*((ToolSet(staged=tuple(plain)),) if plain else ()), *named)
