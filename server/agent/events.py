"""What a live thread tells the outside, in order.

Invariant: for one thread the order of events is the order of this page: status, turn, its items
(started, deltas, completed), usage, status, completion; each started turn has one completion,
`TurnCompleted` or `TurnFailed`. An item was recorded before `ItemCompleted` tells of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from server.agent.models.base import TokenUse
from state.ids import ThreadId, TurnId
from state.rollouts.items import RecordedItem

StatusType = Literal["notLoaded", "idle", "systemError", "active"]
ActiveFlag = Literal["waitingOnApproval", "waitingOnUserInput"]


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """What a thread is doing, as clients see it."""

    type: StatusType
    active_flags: tuple[ActiveFlag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFault:
    """Why a model call or a turn failed, in the wire's words."""

    message: str
    error_info: str | Mapping[str, Any]
    additional_details: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChanged:
    """The thread's status differs from the one told before."""

    thread_id: ThreadId
    status: ThreadStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChanged:
    """A turn brought other settings, which now hold for the thread."""

    thread_id: ThreadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something a person should know and that stops nothing."""

    thread_id: ThreadId
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """A turn begins."""

    thread_id: ThreadId
    turn_id: TurnId
    started_at_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStarted:
    """An item begins; its body is empty or what is known so far."""

    thread_id: ThreadId
    turn_id: TurnId
    item: RecordedItem


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More visible text of an agent message."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPartAdded:
    """A reasoning summary gets one more part."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    summary_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningSummaryDelta:
    """More text of one part of a reasoning summary."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    summary_index: int
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCompleted:
    """The whole item, already recorded."""

    thread_id: ThreadId
    turn_id: TurnId
    item: RecordedItem


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDelta:
    """More output of a command, or news of an MCP tool; the whole comes with the item."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    item_type: str
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchUpdated:
    """What a patch would change, while the model still writes it; its item comes later."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    changes: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StdinWritten:
    """A running command was given this to read."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    process_id: str
    stdin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffChanged:
    """What the turn changed in files so far, all of it as one unified diff."""

    thread_id: ThreadId
    turn_id: TurnId
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged:
    """The agent wrote or changed its plan."""

    thread_id: ThreadId
    turn_id: TurnId
    explanation: str | None
    steps: tuple[tuple[str, str], ...]
    """Each step and its status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of the last response and of the whole thread."""

    thread_id: ThreadId
    turn_id: TurnId
    total: TokenUse
    last: TokenUse
    context_window: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """What the provider last told about its limits, in the wire's shape."""

    thread_id: ThreadId
    turn_id: TurnId
    rate_limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTold:
    """A model call failed; `will_retry` says that it is tried again by itself."""

    thread_id: ThreadId
    turn_id: TurnId
    error: TurnFault
    will_retry: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted:
    """The turn ended well or was interrupted."""

    thread_id: ThreadId
    turn_id: TurnId
    status: Literal["completed", "interrupted"]
    final_item: RecordedItem | None
    """The last agent message, where there is one."""
    started_at_s: int
    completed_at_s: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """The turn ended in an error."""

    thread_id: ThreadId
    turn_id: TurnId
    error: TurnFault
    started_at_s: int
    completed_at_s: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerChanged:
    """An MCP server of the thread began to start, is ready, or is not."""

    thread_id: ThreadId
    name: str
    state: Literal["starting", "ready", "failed", "cancelled"]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadClosed:
    """The thread is no longer loaded."""

    thread_id: ThreadId


ThreadEvent = (
    StatusChanged
    | SettingsChanged
    | Warned
    | TurnStarted
    | ItemStarted
    | TextDelta
    | ReasoningPartAdded
    | ReasoningSummaryDelta
    | ItemCompleted
    | OutputDelta
    | PatchUpdated
    | StdinWritten
    | DiffChanged
    | PlanChanged
    | TokenUsage
    | RateLimits
    | ErrorTold
    | TurnCompleted
    | TurnFailed
    | McpServerChanged
    | ThreadClosed
)
