"""What the server asks of a client before it acts, and what clients answer."""

from typing import Any, Literal

from protocol.base import RequestParams, WireModel


class CommandApprovalParams(WireModel):
    """May this command run?"""

    kind: Literal["command"] = "command"
    thread_id: str
    turn_id: str
    item_id: str
    started_at_ms: int
    environment_id: str | None = None
    reason: str | None = None
    command: str | None
    cwd: str | None
    command_actions: list[dict[str, Any]] | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    available_decisions: list[str | dict[str, Any]] | None = None


class ApprovalAnswer(RequestParams):
    """`accept`, `acceptForSession`, `decline`, `cancel`, or an object with an amendment."""

    decision: str | dict[str, Any]


class ServerRequestResolved(WireModel):
    """A question of the server needs no answer any more."""

    thread_id: str
    request_id: int | str
