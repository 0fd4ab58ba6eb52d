"""What the server asks of a client before it acts, and what clients answer."""

from typing import Any, Literal

from pydantic import Field

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


class FileChangeApprovalParams(WireModel):
    """May these files change? What changes stands in the item of that id."""

    thread_id: str
    turn_id: str
    item_id: str
    started_at_ms: int
    reason: str | None = None
    grant_root: str | None = None


class ApprovalAnswer(RequestParams):
    """`accept`, `acceptForSession`, `decline`, `cancel`, or an object with an amendment."""

    decision: str | dict[str, Any]


class PermissionsApprovalParams(WireModel):
    """May the agent have these further permissions?"""

    thread_id: str
    turn_id: str
    item_id: str
    environment_id: str | None = None
    started_at_ms: int
    cwd: str
    reason: str | None = None
    permissions: dict[str, Any]


class PermissionsAnswer(RequestParams):
    """What of them is granted, and for how long."""

    permissions: dict[str, Any]
    scope: Literal["turn", "session"] | None = None


class UserInputOption(WireModel):
    """One choice of a question."""

    label: str
    description: str


class UserInputQuestion(WireModel):
    """One question to the user."""

    id: str
    header: str
    question: str
    is_other: bool = False
    is_secret: bool = False
    options: list[UserInputOption] | None = None


class UserInputParams(WireModel):
    """Questions of the agent to the user."""

    thread_id: str
    turn_id: str
    item_id: str
    questions: list[UserInputQuestion]
    is_blocking: bool = True
    auto_resolution_ms: int | None = None


class QuestionAnswer(RequestParams):
    """What the user chose or wrote."""

    answers: list[str]


class UserInputAnswer(RequestParams):
    """The answers by the ids of their questions."""

    answers: dict[str, QuestionAnswer]


class ElicitationParams(WireModel):
    """A question of an MCP server; which fields there are depends on the mode."""

    thread_id: str
    turn_id: str | None = None
    environment_id: str | None = None
    server_name: str
    mode: Literal["form", "url"]
    message: str
    requested_schema: dict[str, Any] | None = None
    url: str | None = None
    elicitation_id: str | None = None
    meta: Any = Field(default=None, alias="_meta")


class ElicitationAnswer(RequestParams):
    """What the user said to it."""

    action: Literal["accept", "decline", "cancel"]
    content: Any = None
    meta: Any = Field(default=None, alias="_meta")


class ClientToolCallParams(WireModel):
    """Run a tool that the client itself offers."""

    thread_id: str
    turn_id: str
    call_id: str
    namespace: str | None = None
    tool: str
    arguments: Any = None


class ClientToolAnswer(RequestParams):
    """What the client's tool gave."""

    content_items: list[dict[str, Any]]
    success: bool


class ServerRequestResolved(WireModel):
    """A question of the server needs no answer any more."""

    thread_id: str
    request_id: int | str
