"""A tool of an MCP server as the turn plays it: approval, mark, call, item."""

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.approvals import ApprovalPolicy, policy_of
from server.agent.mcp.connection import McpConnection
from server.agent.mcp.values import McpFailed, McpResult, McpTool
from server.agent.tools.base import read_arguments
from server.agent.tools.stage import Elicitation, Stage, ToolCall, ToolResult
from server.mcp_settings import Approval

NAME_CHARACTERS_MAX = 64
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class McpStagedTool:
    """One tool of one server; calls of one response run one after the other."""

    is_parallel = False
    seconds_max = None  # the connection bounds the call; people are waited for by their own limit

    def __init__(
        self, name: str, tool: McpTool, connection: McpConnection, stages: list[Stage]
    ) -> None:
        self._name = name
        self._tool = tool
        self._connection = connection
        self._stages = stages

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self._name

    @property
    def definition(self) -> Mapping[str, Any]:
        """As the server described it."""
        return {
            "type": "function",
            "name": self._name,
            "description": self._tool.description,
            "strict": False,
            "parameters": dict(self._tool.schema),
        }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Ask where that is needed, mark the thread, call, and show it all as one item."""
        arguments = _arguments(call.text)
        if isinstance(arguments, str):
            return ToolResult(content=arguments)
        server = self._connection.settings.name
        body: dict[str, Any] = {
            "server": server,
            "tool": self._tool.name,
            "arguments": arguments,
            "status": "inProgress",
            "result": None,
            "error": None,
            "durationMs": None,
        }
        item = stage.open("mcpToolCall", body)
        refusal = await self._refusal(stage, server)
        if refusal is not None:
            await item.complete({**body, "status": "failed", "error": {"message": refusal}})
            return ToolResult(content=refusal)
        # The mark comes first: what the server says may already be in the answer's first byte.
        await stage.pollute("mcp", f"{server}.{self._tool.name}")
        began_s = time.monotonic()
        self._stages.append(stage)
        try:
            outcome = await self._connection.call(self._tool.name, arguments, item.delta)
        finally:
            self._stages.remove(stage)
        body["durationMs"] = int((time.monotonic() - began_s) * 1_000)
        match outcome:
            case McpFailed(message=message):
                await item.complete({**body, "status": "failed", "error": {"message": message}})
                return ToolResult(content=message)
            case McpResult():
                result = {
                    "content": [dict(one) for one in outcome.content],
                    "structuredContent": outcome.structured,
                }
                status = "failed" if outcome.is_error else "completed"
                await item.complete({**body, "status": status, "result": result})
                return ToolResult(content=content_of(outcome))

    async def _refusal(self, stage: Stage, server: str) -> str | None:
        """Why the call may not be made; None when it may."""
        policy = policy_of(stage.settings.approval_policy)
        key = f"mcp\0{server}\0{self._tool.name}"
        approval = self._connection.settings.approval
        if not needs_word(self._tool, policy, approval) or key in stage.grants.commands:
            return None
        if not policy.mcp_elicitations:
            return (
                f"the tool {self._tool.name} of {server} needs a person's word, and the approval "
                f"policy `{policy.name}` lets nobody be asked; it was not called"
            )
        asked = Elicitation(
            server_name=server,
            request={
                "mode": "form",
                "message": f"Allow the MCP server {server} to run the tool {self._tool.name}?",
                "requestedSchema": {"type": "object", "properties": {}},
            },
        )
        if (await stage.elicit(asked)).action != "accept":
            return f"the user did not allow the tool {self._tool.name} of {server}"
        stage.grants.add_command(key)
        return None


def needs_word(tool: McpTool, policy: ApprovalPolicy, approval: Approval) -> bool:
    """Whether a person is asked before a call.

    Hints are the server's own word, so they can only spare a question where the user trusts the
    server enough to have it asked at all: a tool that reads only, or that says it neither destroys
    nor reaches beyond its own world.
    """
    if not policy.asks or approval == "approve":
        return False
    if approval == "prompt":
        return True
    if tool.reads_only:
        return False
    harmless = tool.destroys is False and tool.open_world is False
    return policy.name == "untrusted" or not harmless


def content_of(result: McpResult) -> str | tuple[Mapping[str, Any], ...]:
    """A result for the model: its texts, its pictures, else its structure as JSON."""
    texts = [text for part in result.content if (text := _text(part)) is not None]
    pictures = [part for part in result.content if part.get("type") == "image"]
    if result.structured is not None and not texts:
        texts.append(json.dumps(result.structured, ensure_ascii=False))
    if not pictures:
        return "\n".join(texts)
    return (
        *({"type": "input_text", "text": text} for text in texts),
        *({"type": "input_image", "image_url": _data_url(part)} for part in pictures),
    )


def _text(part: Mapping[str, Any]) -> str | None:
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "resource":
            resource = part.get("resource") or {}
            text = resource.get("text")
            return text if isinstance(text, str) else f"[resource {resource.get('uri', '')}]"
        case "resource_link":
            return f"[resource {part.get('uri', '')}]"
        case "audio":
            return "[audio, not shown]"
        case _:
            return None


def _data_url(part: Mapping[str, Any]) -> str:
    return f"data:{part.get('mimeType', 'image/png')};base64,{part.get('data', '')}"


def _arguments(text: str) -> dict[str, Any] | str:
    try:
        value = read_arguments(text)
    except ValueError as error:
        return f"failed to parse function arguments: {error}"
    return value if isinstance(value, dict) else "failed to parse function arguments: no object"


def namespace_of(server: str) -> str:
    """The namespace of a server's tools; a name that providers take."""
    return _fit(f"mcp__{server}")


def tool_names(tools: Sequence[McpTool]) -> dict[str, McpTool]:
    """Each tool under a name that providers take; names that fall together are told apart."""
    named: dict[str, McpTool] = {}
    for tool in tools:
        name = _fit(tool.name)
        named[name if name not in named else _marked(tool.name)] = tool
    return named


def _fit(name: str) -> str:
    fit = _UNFIT.sub("_", name)
    return fit if fit and len(fit) <= NAME_CHARACTERS_MAX else _marked(name)


def _marked(name: str) -> str:
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{_UNFIT.sub('_', name)[: NAME_CHARACTERS_MAX - 9]}_{mark}"
