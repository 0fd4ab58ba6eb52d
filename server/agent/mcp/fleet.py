"""The MCP servers of every thread: started with its first turn, ended when it is unloaded.

Each thread has connections of its own, as in the original: a server may work in the thread's
folder, and its questions go to the people of that thread.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from server.agent.approvals import policy_of
from server.agent.errors import McpServerMissing
from server.agent.mcp.connection import McpConnection
from server.agent.mcp.tool import McpStagedTool, namespace_of, tool_names
from server.agent.mcp.values import (
    Answered,
    Asked,
    McpLimits,
    McpStatus,
)
from server.agent.tools.base import ToolSet
from server.agent.tools.stage import Elicitation, Stage
from server.mcp_settings import McpLeftOut, McpServerSettings
from state.ids import ThreadId

TellStatus = Callable[[ThreadId, McpStatus], None]


@dataclass(slots=True)
class _Crew:
    """The servers of one thread."""

    connections: dict[str, McpConnection] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    """The calls under way; the last one is whom a server's question belongs to."""


class McpFleet:
    """Used on the event loop only."""

    def __init__(
        self,
        servers: Sequence[McpServerSettings],
        *,
        left_out: Sequence[McpLeftOut] = (),
        limits: McpLimits | None = None,
        tell: TellStatus,
    ) -> None:
        """`left_out` are those that are wanted and cannot be started; each thread is told."""
        self.servers: Mapping[str, McpServerSettings] = {one.name: one for one in servers}
        self._left_out = tuple(left_out)
        self._limits = limits or McpLimits()
        self._tell = tell
        self._crews: dict[ThreadId, _Crew] = {}

    async def prepare(self, thread_id: ThreadId, *, cwd: str) -> None:
        """Start what does not run yet, and wait until each is ready or has failed.

        Raises: McpServerMissing.
        """
        if not self.servers and not self._left_out:
            return
        if thread_id not in self._crews:
            self._crews[thread_id] = _Crew()
            for one in self._left_out:
                self._tell(thread_id, McpStatus(name=one.name, state="failed", error=one.reason))
        crew = self._crews[thread_id]
        for one in self._left_out:
            if one.required:
                raise McpServerMissing(one.name, one.reason)
        for name, settings in self.servers.items():
            known = crew.connections.get(name)
            again = known is None or (known.status.state == "ready" and not known.alive)
            if again and crew.starts.get(name, 0) < self._limits.starts_max:
                crew.starts[name] = crew.starts.get(name, 0) + 1
                crew.connections[name] = self._started(thread_id, crew, settings, cwd)
        settled = await asyncio.gather(*(one.settled() for one in crew.connections.values()))
        for status in settled:
            if status.state != "ready" and self.servers[status.name].required:
                raise McpServerMissing(status.name, status.error or status.state)

    def sets(self, thread_id: ThreadId) -> Sequence[ToolSet]:
        """The tools of a thread's servers that are ready."""
        crew = self._crews.get(thread_id)
        if crew is None:
            return ()
        return tuple(
            ToolSet(
                namespace=namespace_of(name),
                staged=tuple(
                    McpStagedTool(one, tool, connection, crew.stages)
                    for one, tool in tool_names(connection.status.tools).items()
                ),
            )
            for name, connection in crew.connections.items()
            if connection.alive and connection.status.tools
        )

    def statuses(self, thread_id: ThreadId) -> Mapping[str, McpStatus]:
        """How the servers of a loaded thread stand; empty before its first turn."""
        crew = self._crews.get(thread_id)
        return {} if crew is None else {n: one.status for n, one in crew.connections.items()}

    @property
    def running(self) -> int:
        """How many servers are alive, over all threads."""
        crews = self._crews.values()
        return sum(one.alive for crew in crews for one in crew.connections.values())

    def any_status(self, name: str) -> McpStatus | None:
        """How that server stands in a thread where it is ready; None where it is in none."""
        for crew in self._crews.values():
            known = crew.connections.get(name)
            if known is not None and known.status.state == "ready":
                return known.status
        return None

    async def look(self, name: str, *, cwd: str) -> McpStatus:
        """Start a server only to see what it offers, and end it again."""
        connection = McpConnection(
            self.servers[name], cwd=cwd, limits=self._limits, ask=_nobody, told=_unheard
        )
        connection.start()
        try:
            return await connection.settled()
        finally:
            await connection.close()

    async def release(self, thread_id: ThreadId) -> None:
        """End the servers of a thread."""
        crew = self._crews.pop(thread_id, None)
        if crew is not None:
            await asyncio.gather(*(one.close() for one in crew.connections.values()))

    async def close(self) -> None:
        """End all servers."""
        await asyncio.gather(*(self.release(thread_id) for thread_id in list(self._crews)))

    def _started(
        self, thread_id: ThreadId, crew: _Crew, settings: McpServerSettings, cwd: str
    ) -> McpConnection:
        async def ask(name: str, asked: Asked) -> Answered:
            if not crew.stages or not _may_ask(crew.stages[-1]):
                return Answered(action="cancel")
            elicitation = Elicitation(server_name=name, request=asked.request)
            answer = await crew.stages[-1].elicit(elicitation)
            content = answer.content if isinstance(answer.content, dict) else None
            return Answered(action=answer.action, content=content)

        connection = McpConnection(
            settings,
            cwd=cwd,
            limits=self._limits,
            ask=ask,
            told=lambda status: self._tell(thread_id, status),
        )
        connection.start()
        return connection


def _may_ask(stage: Stage) -> bool:
    policy = policy_of(stage.settings.approval_policy)
    return policy.asks and policy.mcp_elicitations


async def _nobody(name: str, asked: Asked) -> Answered:
    return Answered(action="cancel")


def _unheard(status: McpStatus) -> None:
    """A look at a server is no event of a thread."""
