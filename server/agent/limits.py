"""Every bound and default of the agent wing as a value; the settings fill them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.agent.instruction_files import InstructionSettings
from server.switches import Switches


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """Bounds of one thread and one turn."""

    rounds_per_turn_max: int = 50
    """Model calls of one turn; a turn that wants more fails."""
    tool_calls_per_response_max: int = 64
    tool_output_bytes_max: int = 12_000
    """What of a tool's result goes to the model; more is cut so that JSON stays JSON."""
    tool_seconds_max: int = 60
    tool_stop_s: float = 5.0
    """What a stopped tool has to let go of what it holds; then it is left behind."""
    inbox_items_max: int = 64
    """Inputs that may wait for the running turn."""
    answer_bytes_max: int = 8 * 1_048_576
    """Output of one model response, all items together."""
    turn_seconds_max: int = 3_600
    begin_wait_s: int = 5
    """After that a turn begins even if nobody called `begin`."""
    recorded_wait_s: int = 10
    """How long a request about a thread waits for its first turn to be in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionLimits:
    """When a history is replaced by a summary, and what is kept of it."""

    percent_of_window: int = 90
    """Of the model's window: when that much is taken, the history is replaced."""
    typed_tokens_max: int = 20_000
    """What the user typed last and stays in their own words."""
    summary_tokens_max: int = 8_000
    shrinks_max: int = 6
    """How often the oldest third is left out where even the summary's own call is too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """How often, and how long apart, a model call is tried again."""

    attempts_max: int = 5
    wait_first_s: float = 0.2
    wait_max_s: float = 30.0
    retry_after_max_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """Bounds of one model call over the network."""

    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 300.0
    """Silence after which a stream counts as lost."""
    event_bytes_max: int = 16 * 1_048_576
    delta_bytes_max: int = 8_192
    """Deltas that came in one read are joined up to this size."""
    retry: RetryLimits = RetryLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundLimits:
    """Bounds of model calls for learning, beside those that each request brings."""

    reply_bytes_max: int = 8 * 1_048_576
    tool_output_bytes_max: int = 48_000
    tool_seconds_max: int = 60
    tool_calls_per_response_max: int = 64
    context_window: int | None = None
    """Of the model, where the settings say it; else its provider is asked."""
    remaining_percent_min: int = 0
    """Below that much of the provider's limits left, learning waits."""
    retry: RetryLimits = RetryLimits(attempts_max=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """What the settings say about threads; a thread's own overrides win."""

    provider: str = "offline"
    model: str | None = None
    model_fallbacks: tuple[str, ...] = ()
    """Models of the same provider that are asked in this order where the own one is overloaded."""
    effort: str | None = None
    approval_policy: Any = "on-request"
    sandbox_policy: Mapping[str, Any] = field(default_factory=lambda: {"type": "readOnly"})
    instructions: str | None = None
    """Replaces the built-in standing rules."""
    developer_instructions: str | None = None
    use_memories: bool = True
    dedicated_tools: bool = True
    memory_version: str = "v1"
    memory_enabled: bool = True
    """The feature `memories` as a whole."""
    pollutable: bool = False
    """Whether outside context bars a thread from being learned from."""
    instruction_files: InstructionSettings = field(default_factory=InstructionSettings)
    projects: Mapping[str, Switches] = field(default_factory=dict)
    """Switches of single projects, by the folder that they hold for."""
    shell: str = "bash"
    timezone: str = "Etc/UTC"
    cli_version: str = "0.171.0"
    limits: AgentLimits = AgentLimits()
    compaction: CompactionLimits = CompactionLimits()
    context_window: int | None = None
    """Of the model, where the settings say it; else its provider is asked."""
    auto_compact_tokens: int | None = None
    """When to compact by itself, where the settings say it; by the window at the latest."""
