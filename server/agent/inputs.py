"""What callers put into a live thread, and what they get back: plain values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from server.agent.instruction_files import InstructionSettings
from state.ids import ThreadId, TurnId
from state.rollouts.prefix import Cut
from state.stores.withdrawal import OutsideSource

MemoryOff = Literal["feature_off", "use_off", "thread_off"]
"""The switch that keeps memory from a thread: of the feature, of its use, of the thread itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """What a thread's own configuration says about memory; None keeps what the settings say."""

    feature: bool | None = None
    use: bool | None = None
    dedicated_tools: bool | None = None
    pollutable: bool | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionChange:
    """What a thread's own configuration says about instruction files."""

    enabled: bool | None = None
    bytes_max: int | None = None
    fallbacks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSettings:
    """How a thread works; a change holds for the next turns."""

    provider: str
    model: str
    cwd: str
    effort: str | None = None
    service_tier: str | None = None
    """None lets the provider choose."""
    summary: str | None = None
    approval_policy: Any = "on-request"
    """The wire's value: a name, or an object with granular rules."""
    sandbox_policy: Mapping[str, Any] = field(default_factory=lambda: {"type": "readOnly"})
    permission_profile: str | None = None
    """The name by which the sandbox was chosen, as long as this thread is loaded."""
    use_memories: bool = True
    """Whether it sees memory, all switches together."""
    memory_off: MemoryOff | None = None
    """Which switch says that it does not."""
    dedicated_tools: bool = True
    pollutable: bool = False
    """Whether outside context bars it from being learned from."""
    memory_version: str = "v1"
    """Frozen when the thread is loaded: section, tools and citations are of one folder."""
    instruction_files: InstructionSettings = field(default_factory=InstructionSettings)
    instructions: str | None = None
    developer_instructions: str | None = None
    client_tools: tuple[Mapping[str, Any], ...] = ()
    """Tools that the client offers and runs itself: the wire's `dynamicTools`, checked."""
    workspace_roots: tuple[str, ...] | None = None
    """The folders of its project in place of `cwd`: absolute paths; None where nobody said."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders that a sandbox which lets the project be written lets be written."""
        return (self.cwd,) if self.workspace_roots is None else self.workspace_roots


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """Overrides that come with a turn or a resume; None keeps what is there."""

    provider: str | None = None
    model: str | None = None
    cwd: str | None = None
    effort: str | None = None
    service_tier: str | None = None
    summary: str | None = None
    approval_policy: Any = None
    sandbox_policy: Mapping[str, Any] | None = None
    permission_profile: str | None = None
    """The name that stands for that policy, where it was chosen by one."""
    memory: MemoryChange | None = None
    instruction_files: InstructionChange | None = None
    instructions: str | None = None
    developer_instructions: str | None = None
    client_tools: tuple[Mapping[str, Any], ...] | None = None
    workspace_roots: tuple[str, ...] | None = None


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
    memory_use: bool = True
    """Whether the thread itself wants to see memory; kept with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOptions:
    """How a thread begins that goes on from a place in another one."""

    cut: Cut
    change: SettingsChange = SettingsChange()
    ephemeral: bool = False
    thread_source: str | None = None
    originator: str | None = None
    barred: bool = False
    """Whether it is not learned from though its source is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommand:
    """A line of shell that the user typed."""

    text: str
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOrder:
    """What a review is about, in a few words."""

    hint: str
    typed: bool
    """Whether the user worded it; else a program did, in the user's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """One message of the user."""

    content: tuple[Mapping[str, Any], ...]
    """The wire's `UserInput` objects, checked, in camelCase as they came."""
    client_id: str | None = None
    output_schema: Mapping[str, Any] | None = None
    change: SettingsChange = SettingsChange()
    command: UserCommand | None = None
    """Instead of content: run this, and ask no model unless more comes."""
    review: ReviewOrder | None = None
    """The content orders a review."""


NO_WORDS = TurnInput(content=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The input is in the thread's inbox.

    `started` is False when it joined the running turn. Nothing of a started turn is told before
    `begin` was called; calling it twice, or for a joined turn, does nothing. Acknowledge it only
    after `kept` returned: then its words are in the thread's file, or its turn fails of it and
    says so; for joined input it raises instead (OSError, StateError), and for a turn that will
    never run ThreadClosing.
    """

    turn_id: TurnId
    started: bool
    begin: Callable[[], None]
    kept: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The input was not taken; nothing changed."""

    reason: Literal["busy", "full", "closing", "no active turn", "other turn", "not steerable"]
    active_turn_id: TurnId | None = None
    turn_kind: "TurnKind" = "user"
    """Of the turn that did not take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptOutcome:
    """Whether the running turn was told to stop."""

    accepted: bool
    reason: Literal["no active turn", "other turn"] | None = None
    active_turn_id: TurnId | None = None


TurnKind = Literal["user", "compact", "review"]
"""Whether a turn answers the user, replaces the history by a summary, or looks over changes."""


Bar = Callable[[ThreadId, OutsideSource], Awaitable[object]]
"""Bars a stored thread from being learned from, and takes out of memory what it gave."""


async def nothing_is_barred(thread_id: ThreadId, source: OutsideSource) -> object:
    """Where there is no memory to take anything out of."""
    return None


Nudge = Callable[[ThreadId], None]
"""Tells the memory scheduler that a turn with input began; returns at once."""
