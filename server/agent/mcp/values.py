"""What is known of MCP servers, as plain values; nothing here imports the client library."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

StartState = Literal["starting", "ready", "failed", "cancelled"]
Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """Bounds of one server of one thread."""

    tools_max: int = 256
    pages_max: int = 32
    description_characters_max: int = 4_000
    schema_bytes_max: int = 65_536
    result_bytes_max: int = 4 * 1_048_576
    """A larger result is refused, not cut: half a picture is none."""
    starts_max: int = 3
    """How often a server that went away is started again for one thread."""
    stderr_bytes_kept: int = 2_000
    stop_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """A tool that a server offers."""

    name: str
    title: str | None
    description: str
    schema: Mapping[str, Any]
    reads_only: bool | None = None
    destroys: bool | None = None
    open_world: bool | None = None
    as_told: Mapping[str, Any] = field(default_factory=dict)
    """The whole definition, for clients that list tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerInfo:
    """What a server said of itself."""

    name: str
    version: str
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResult:
    """What a call gave."""

    content: tuple[Part, ...]
    """In the protocol's shape, keys in camelCase."""
    structured: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class McpFailed:
    """A call that gave nothing, and why."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class McpStatus:
    """How one server of one thread stands."""

    name: str
    state: StartState
    error: str | None = None
    info: McpServerInfo | None = None
    tools: tuple[McpTool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a server wants to know of the user, in the wire's shape."""

    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the user said."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


AskUser = Callable[[str, Asked], Awaitable[Answered]]
"""Asks the user for the server of that name; without a turn under way the answer is `cancel`."""
Told = Callable[[McpStatus], None]
"""Hears of each change of a server's state."""
Progress = Callable[[str], None]
