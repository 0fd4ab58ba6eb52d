"""Tells of the configured MCP servers and their tools."""

import asyncio
from urllib.parse import urlsplit

from protocol.messages.mcp import (
    ConnectionStatus,
    McpServerInfo,
    McpServerStatus,
    McpServerStatusListParams,
    McpServerStatusListResult,
)
from server.agent.mcp.values import McpStatus
from server.handlers.pages import offset_of
from server.handlers.services import Services
from server.handlers.sizes import PAGE_BYTES_MAX, fitting_rows
from server.mcp_settings import McpServerSettings
from server.wire.dispatch import Call
from state.ids import ThreadId

SERVERS_MAX = 100
_RUNTIME: dict[str, ConnectionStatus] = {
    "starting": "starting",
    "ready": "connected",
    "failed": "failed",
    "cancelled": "cancelled",
}


class McpHandlers:
    """Answers what clients ask about MCP servers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._fleet = services.mcp

    async def status_list(
        self, call: Call, params: McpServerStatusListParams
    ) -> McpServerStatusListResult:
        """Every configured server; one that no thread runs is started to see what it offers."""
        names = sorted(self._fleet.servers)
        if params.server_name is not None:
            names = [name for name in names if name == params.server_name]
        start = offset_of(params.cursor, len(names))
        end = start + max(1, min(params.limit or SERVERS_MAX, SERVERS_MAX))
        known = {}
        if params.thread_id is not None:
            known = dict(self._fleet.statuses(ThreadId(params.thread_id)))
        cwd = self._services.default_cwd
        found = await asyncio.gather(*(self._status(name, known, cwd) for name in names[start:end]))
        rows = [_fitting(_view(self._fleet.servers[one.name], one)) for one in found]
        data = fitting_rows(rows, lambda row: len(row.to_json()))
        end = start + len(data)
        return McpServerStatusListResult(
            data=data, next_cursor=str(end) if end < len(names) else None
        )

    async def _status(self, name: str, known: dict[str, McpStatus], cwd: str) -> McpStatus:
        told = known.get(name) or self._fleet.any_status(name)
        return told if told is not None else await self._fleet.look(name, cwd=cwd)


def _view(settings: McpServerSettings, status: McpStatus) -> McpServerStatus:
    info = status.info
    return McpServerStatus(
        name=settings.name,
        auth_status="bearerToken" if settings.has_token else "unsupported",
        tools={tool.name: dict(tool.as_told) for tool in status.tools},
        server_info=None
        if info is None
        else McpServerInfo(name=info.name, version=info.version, title=info.title),
        tools_error=status.error,
        runtime_status=_RUNTIME[status.state],
        http_origin=_origin(settings.url),
    )


def _fitting(row: McpServerStatus) -> McpServerStatus:
    """The row, without the tools' schemas where one frame could not hold them."""
    if len(row.to_json()) <= PAGE_BYTES_MAX:
        return row
    names = list(row.tools)[: PAGE_BYTES_MAX // 512]
    short = {name: {"name": name, "inputSchema": {"type": "object"}} for name in names}
    return row.model_copy(update={"tools": short})


def _origin(url: str | None) -> str | None:
    """Scheme and host of an address, without what may be secret in it."""
    if url is None:
        return None
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
