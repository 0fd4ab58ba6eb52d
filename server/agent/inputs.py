"""What callers put into a live thread, and what they get back: plain values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from state.ids import ThreadId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSettings:
    """How a thread works; a change holds for the next turns."""

    provider: str
    model: str
    cwd: str
    effort: str | None = None
    summary: str | None = None
    approval_policy: Any = "on-request"
    """The wire's value: a name, or an object with granular rules."""
    sandbox_policy: Mapping[str, Any] = field(default_factory=lambda: {"type": "readOnly"})
    use_memories: bool = True
    dedicated_tools: bool = True
    memory_version: str = "v1"
    """Frozen when the thread is loaded: section, tools and citations are of one folder."""
    instructions: str | None = None
    developer_instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """Overrides that come with a turn or a resume; None keeps what is there."""

    provider: str | None = None
    model: str | None = None
    cwd: str | None = None
    effort: str | None = None
    summary: str | None = None
    approval_policy: Any = None
    sandbox_policy: Mapping[str, Any] | None = None
    use_memories: bool | None = None
    dedicated_tools: bool | None = None
    memory_version: str | None = None
    instructions: str | None = None
    developer_instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """How a new thread begins."""

    cwd: str
    change: SettingsChange = SettingsChange()
    ephemeral: bool = False
    source: Any = "vscode"
    """The wire's source value, stored as JSON."""
    thread_source: str | None = None
    originator: str | None = None
    memory_mode: Literal["enabled", "disabled"] = "enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """One message of the user."""

    content: tuple[Mapping[str, Any], ...]
    """The wire's `UserInput` objects, checked, in camelCase as they came."""
    client_id: str | None = None
    output_schema: Mapping[str, Any] | None = None
    change: SettingsChange = SettingsChange()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The input is in the thread's inbox.

    `started` is False when it joined the running turn. Nothing of a started turn is told before
    `begin` was called; calling it twice, or for a joined turn, does nothing.
    """

    turn_id: TurnId
    started: bool
    begin: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The input was not taken; nothing changed."""

    reason: Literal["busy", "full", "closing", "no active turn", "other turn"]
    active_turn_id: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptOutcome:
    """Whether the running turn was told to stop."""

    accepted: bool
    reason: Literal["no active turn", "other turn"] | None = None
    active_turn_id: TurnId | None = None


Nudge = Callable[[ThreadId], None]
"""Tells the memory scheduler that a turn with input began; returns at once."""
