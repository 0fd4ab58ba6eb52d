"""Turns: one exchange of a thread, how it begins, goes and ends."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from protocol.base import Reader, RequestParams, WireModel
from protocol.decoding import sentence_error, unexpected
from protocol.errors import unknown_variant
from protocol.messages.items import ThreadItem, UserInput
from protocol.words import AbsoluteRoots, PathText, Roots, Word

ItemsView = Literal["notLoaded", "summary", "full"]
TurnStatus = Literal["inProgress", "completed", "interrupted", "failed"]
_APPROVAL_WORDS = ("untrusted", "on-request", "granular", "never")


class GranularRules(RequestParams):
    """Which kinds of question a person wants to be asked."""

    sandbox_approval: bool = Field(alias="sandbox_approval")
    rules: bool
    skill_approval: bool = Field(default=False, alias="skill_approval")
    request_permissions: bool = Field(default=False, alias="request_permissions")
    mcp_elicitations: bool = Field(alias="mcp_elicitations")


class GranularApproval(RequestParams):
    """Ask for some kinds only."""

    granular: GranularRules


def _approval(value: object) -> object:
    """Tell an unknown word in the sentence that clients know."""
    if isinstance(value, str):
        if value not in _APPROVAL_WORDS or value == "granular":
            raise sentence_error(unknown_variant(value, _APPROVAL_WORDS))
    elif not isinstance(value, dict | GranularApproval):
        raise sentence_error(f"invalid type: {unexpected(value)}, expected string or map")
    return value


ApprovalPolicy = Annotated[
    Literal["untrusted", "on-request", "never"] | GranularApproval, BeforeValidator(_approval)
]
ApprovalsReviewer = Literal["user", "auto_review", "guardian_subagent"]


class DangerFullAccess(RequestParams):
    """No sandbox."""

    type: Literal["dangerFullAccess"] = "dangerFullAccess"


class ReadOnly(RequestParams):
    """Nothing may be written."""

    type: Literal["readOnly"] = "readOnly"
    network_access: bool = False


class ExternalSandbox(RequestParams):
    """The whole server runs in a sandbox of its user's."""

    type: Literal["externalSandbox"] = "externalSandbox"
    network_access: Literal["restricted", "enabled"] = "restricted"


class WorkspaceWrite(RequestParams):
    """The project may be written."""

    type: Literal["workspaceWrite"] = "workspaceWrite"
    writable_roots: Roots = Field(default=[])
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


SandboxPolicy = Annotated[
    DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite, Field(discriminator="type")
]
SANDBOX_POLICY: Reader[SandboxPolicy] = Reader(SandboxPolicy)
APPROVAL_POLICY: Reader[ApprovalPolicy] = Reader(ApprovalPolicy)


class TurnError(WireModel):
    """Why a turn failed."""

    message: str
    codex_error_info: str | dict[str, Any] | None = None
    additional_details: str | None = None
    misalignment: dict[str, Any] | None = None


class Turn(WireModel):
    """One exchange; `items` holds as much as `items_view` says."""

    id: str
    root_turn_id: str | None
    items: list[ThreadItem]
    items_view: ItemsView
    status: TurnStatus
    error: TurnError | None = None
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None


class TurnStartParams(RequestParams):
    """Say something in a thread; while a turn runs, it joins that turn."""

    thread_id: str
    input: list[UserInput]
    client_user_message_id: Word | None = None
    model: Word | None = None
    effort: Word | None = None
    service_tier: Word | None = None
    summary: Literal["auto", "concise", "detailed", "none"] | None = None
    cwd: PathText | None = None
    runtime_workspace_roots: AbsoluteRoots | None = None
    permissions: Word | None = None
    approval_policy: ApprovalPolicy | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_policy: SandboxPolicy | None = None
    output_schema: Any = None
    require_idle: bool | None = None


class TurnStartResult(WireModel):
    """The turn that now runs."""

    turn: Turn


class TurnSteerParams(RequestParams):
    """Add input to the turn of that id."""

    thread_id: str
    input: list[UserInput]
    expected_turn_id: str
    client_user_message_id: Word | None = None


class TurnSteerResult(WireModel):
    """The turn that took the input."""

    turn_id: str


class TurnInterruptParams(RequestParams):
    """Stop a running turn."""

    thread_id: str
    turn_id: str


class TurnStarted(WireModel):
    """A turn runs."""

    thread_id: str
    turn: Turn


class TurnCompleted(WireModel):
    """A turn ended; it comes exactly once for each that began."""

    thread_id: str
    turn: Turn


class TurnFailure(WireModel):
    """The model's side failed; with `will_retry` the turn goes on."""

    error: TurnError
    will_retry: bool
    thread_id: str
    turn_id: str


class TokenUsageBreakdown(WireModel):
    """Model tokens as the provider counted them."""

    total_tokens: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_input_tokens: int = 0
    output_tokens: int
    reasoning_output_tokens: int


class ThreadTokenUsage(WireModel):
    """Model tokens of a thread."""

    total: TokenUsageBreakdown
    last: TokenUsageBreakdown
    model_context_window: int | None


class TokenUsageUpdated(WireModel):
    """A model answer was counted."""

    thread_id: str
    turn_id: str
    token_usage: ThreadTokenUsage


class RateLimitWindow(WireModel):
    """How much of a limit is used."""

    used_percent: int
    window_duration_mins: int | None = None
    resets_at: int | None = None


class RateLimitSnapshot(WireModel):
    """What the provider says about its limits."""

    limit_id: str | None = None
    limit_name: str | None = None
    normal_model_slug: str | None = None
    primary: RateLimitWindow | None = None
    secondary: RateLimitWindow | None = None
    credits: dict[str, Any] | None = None
    individual_limit: dict[str, Any] | None = None
    spend_control_reached: bool | None = None
    plan_type: str | None = None
    rate_limit_reached_type: str | None = None


class RateLimitsUpdated(WireModel):
    """The provider's limits after a model answer."""

    rate_limits: RateLimitSnapshot
