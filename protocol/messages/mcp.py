"""MCP servers as clients see them."""

from typing import Any, Literal

from pydantic import Field

from protocol.base import RequestParams, WireModel

ConnectionStatus = Literal[
    "notStarted", "starting", "connected", "authenticationRequired", "failed", "cancelled",
    "disabled",
]  # fmt: skip


class McpServerStatusListParams(RequestParams):
    """Which servers to tell of; with a thread, as they stand there."""

    cursor: str | None = None
    limit: int | None = None
    server_name: str | None = None
    thread_id: str | None = None
    detail: Literal["full", "toolsAndAuthOnly"] | None = None


class McpServerInfo(WireModel):
    """What a server says of itself."""

    name: str
    version: str
    title: str | None = None


class McpServerStatus(WireModel):
    """One configured server."""

    name: str
    auth_status: Literal["unknown", "unsupported", "notLoggedIn", "bearerToken", "oAuth"]
    tools: dict[str, dict[str, Any]]
    resources: list[dict[str, Any]] = Field(default=[])
    resource_templates: list[dict[str, Any]] = Field(default=[])
    server_info: McpServerInfo | None = None
    tools_error: str | None = None
    runtime_status: ConnectionStatus | None = None
    http_origin: str | None = None


class McpServerStatusListResult(WireModel):
    """A page of servers."""

    data: list[McpServerStatus]
    next_cursor: str | None = None


class McpServerStatusUpdated(WireModel):
    """A server of a thread began to start, is ready, or is not."""

    thread_id: str | None = None
    name: str
    status: Literal["starting", "ready", "failed", "cancelled"]
    error: str | None = None
