"""What the handlers work with, joined once by the assembly and passed by value."""

from collections.abc import Callable
from dataclasses import dataclass

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from memory_read.withheld import ReadGate
from memory_write.controls.agent_memories import AgentMemoryImport
from memory_write.controls.notes import NoteKeeper
from memory_write.controls.pause import MemoryPause
from memory_write.controls.reset import MemoryReset
from memory_write.controls.restore import MemoryRestore
from memory_write.controls.transfer import SessionImport
from memory_write.lanes import Lanes
from server.agent.background_quota import ProviderQuota
from server.agent.live_threads import LiveThreads
from server.agent.mcp.fleet import McpFleet
from server.agent.memory import MemoryReader
from server.agent.providers import Providers
from server.config_writing import ConfigWriter
from server.handlers.identity import ServerIdentity
from server.handlers.orders import Orders
from server.in_force import SettingsInForce
from server.loop_lag import LoopLag
from server.machine import Machine
from server.searching import SemanticSearch
from server.settings import Settings
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from state.clock import Clock
from state.recovery import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything a handler may reach."""

    state: State
    clock: Clock
    config: ConfigWriter
    in_force: SettingsInForce
    live: LiveThreads
    machine: Machine
    providers: Providers
    mcp: McpFleet
    hub: Hub
    lanes: Lanes
    importer: SessionImport
    agent_memories: AgentMemoryImport
    restore: MemoryRestore
    notes: NoteKeeper
    reset: MemoryReset
    gate: ReadGate
    """What may be read while a withdrawal is not carried out in the files yet."""
    search: MemorySearch
    index: SearchIndex
    semantic: SemanticSearch | None
    """Search by meaning, where there is any."""
    pause: MemoryPause
    read: MemoryReader
    quota: ProviderQuota
    identity: ServerIdentity
    orders: Orders
    loop_lag: LoopLag
    wire: WireLimits
    default_cwd: str
    """Where a thread works whose client names no folder."""
    draining: Callable[[], bool] = lambda: False
    """True once the server starts nothing new."""

    @property
    def settings(self) -> Settings:
        """The settings in force now."""
        return self.in_force.settings
