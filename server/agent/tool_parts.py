"""What tools need beside their turn: which there are, whom to ask, the user's rules, the mark."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from server.agent.asking import Asker, NobodyAsks
from server.agent.command_rules import CommandRules
from server.agent.inputs import ThreadSettings
from server.agent.tools.base import ToolSet
from server.agent.tools.shell_run import ShellParts
from state.ids import ThreadId


def _no_sets(settings: ThreadSettings) -> Sequence[ToolSet]:
    return ()


def _nothing_hosted(settings: ThreadSettings) -> Sequence[Mapping[str, Any]]:
    return ()


async def _nothing_held(thread_id: ThreadId) -> None:
    """Without a machine there is nothing to end."""


class ThreadServers(Protocol):
    """Tools that come from servers which each thread has for itself."""

    async def prepare(self, thread_id: ThreadId, *, cwd: str) -> None:
        """Have them ready, as far as they can be.

        Raises: McpServerMissing.
        """
        ...

    def sets(self, thread_id: ThreadId) -> Sequence[ToolSet]:
        """The tools of those that are ready."""
        ...


class NoServers:
    """Where none is configured."""

    async def prepare(self, thread_id: ThreadId, *, cwd: str) -> None:
        """Nothing is started."""

    def sets(self, thread_id: ThreadId) -> Sequence[ToolSet]:
        """There are none."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParts:
    """Given once by whoever joins the server; without them a thread has the memory tools alone."""

    sets: Callable[[ThreadSettings], Sequence[ToolSet]] = _no_sets
    """The tools of a thread with these settings, beside those of memory."""
    hosted: Callable[[ThreadSettings], Sequence[Mapping[str, Any]]] = _nothing_hosted
    """Definitions of what the provider itself runs, such as its web search."""
    servers: ThreadServers = field(default_factory=NoServers)
    asker: Asker = field(default_factory=NobodyAsks)
    rules: CommandRules | None = None
    shell: ShellParts | None = None
    """With what a person's own commands run."""
    release: Callable[[ThreadId], Awaitable[None]] = _nothing_held
    """Ends what a thread left running, before it is unloaded."""
