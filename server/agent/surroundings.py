"""What every turn of every thread works with, as one value."""

from dataclasses import dataclass, field

from server.agent.conversation import Conversation
from server.agent.inputs import Bar, Nudge, nothing_is_barred
from server.agent.limits import AgentSettings, ModelLimits
from server.agent.memory import MemoryReader
from server.agent.providers import Providers
from server.agent.tool_parts import ToolParts
from state.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every turn of every thread works with."""

    providers: Providers
    memory: MemoryReader
    settings: AgentSettings
    model_limits: ModelLimits
    clock: Clock
    nudge: Nudge
    bar: Bar = nothing_is_barred
    tools: ToolParts = field(default_factory=ToolParts)

    def window(self, conversation: Conversation) -> int:
        """The context window that a thread goes by, in tokens."""
        settings = conversation.settings
        known = self.providers.get(settings.provider).window(settings.model)
        return conversation.filling.window(self.settings.context_window or known)
