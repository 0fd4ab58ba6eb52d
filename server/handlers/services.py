"""What the handlers work with, joined once by the assembly and passed by value."""

from collections.abc import Callable
from dataclasses import dataclass

from memory_write.controls.agent_memories import AgentMemoryImport
from memory_write.controls.pause import MemoryPause
from memory_write.controls.reset import MemoryReset
from memory_write.controls.transfer import SessionImport
from memory_write.lanes import Lanes
from server.agent.background_quota import ProviderQuota
from server.agent.live_threads import LiveThreads
from server.agent.providers import Providers
from server.handlers.identity import ServerIdentity
from server.handlers.orders import Orders
from server.settings import Settings
from server.wire.hub import Hub
from state.clock import Clock
from state.recovery import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything a handler may reach."""

    state: State
    clock: Clock
    settings: Settings
    live: LiveThreads
    providers: Providers
    hub: Hub
    lanes: Lanes
    importer: SessionImport
    agent_memories: AgentMemoryImport
    reset: MemoryReset
    pause: MemoryPause
    quota: ProviderQuota
    identity: ServerIdentity
    orders: Orders
    default_cwd: str
    """Where a thread works whose client names no folder."""
    draining: Callable[[], bool] = lambda: False
    """True once the server starts nothing new."""
