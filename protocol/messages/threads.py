"""Threads: begin, resume, list, read, rename, delete, and who listens to them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from protocol.base import U32, HistoryMode, RequestParams, SortDirection, WireModel
from protocol.decoding import sentence_error
from protocol.messages.items import ThreadItem
from protocol.messages.turns import (
    ApprovalPolicy,
    ApprovalsReviewer,
    ItemsView,
    SandboxPolicy,
    Turn,
)
from protocol.words import AbsoluteRoots, PathText, Word

SandboxMode = Literal["read-only", "workspace-write", "danger-full-access"]
ActiveFlag = Literal["waitingOnApproval", "waitingOnUserInput"]
SourceKind = Literal[
    "cli",
    "vscode",
    "exec",
    "appServer",
    "subAgent",
    "subAgentReview",
    "subAgentCompact",
    "subAgentThreadSpawn",
    "subAgentOther",
    "unknown",
]
UnsubscribeStatus = Literal["unsubscribed", "notSubscribed", "notLoaded"]
SessionSource = str | dict[str, Any]
"""A plain word, or an object of one key for custom sources and sub-agents."""


def _text_or_list(value: object) -> object:
    """One folder or several."""
    one_or_more = isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, str) for part in value)
    )
    if not one_or_more:
        raise sentence_error("data did not match any variant of untagged enum ThreadListCwdFilter")
    return value


class InactiveStatus(WireModel):
    """No turn runs."""

    type: Literal["notLoaded", "idle", "systemError"]


class ActiveStatus(WireModel):
    """A turn runs; the flags say what it waits for."""

    type: Literal["active"] = "active"
    active_flags: list[ActiveFlag]


ThreadStatus = InactiveStatus | ActiveStatus


class GitInfo(WireModel):
    """The state of the project's repository when the thread began."""

    sha: str | None
    branch: str | None
    origin_url: str | None


class ThreadEnvironment(WireModel):
    """Where the thread works."""

    environment_id: str
    cwd: str
    runtime_workspace_roots: list[str]


class Thread(WireModel):
    """A conversation; `turns` is empty unless asked for."""

    id: str
    session_id: str
    forked_from_id: str | None = None
    attached_to_thread_id: str | None = None
    parent_thread_id: str | None = None
    preview: str
    ephemeral: bool
    section: dict[str, Any] | None = None
    section_entered_at: int | None = None
    project_id: str | None = None
    history_mode: HistoryMode
    model_provider: str
    model: str | None
    reasoning_effort: str | None = None
    created_at: int
    updated_at: int
    recency_at: int | None
    status: ThreadStatus
    path: str | None
    cwd: str
    cli_version: str
    originator: str | None
    source: SessionSource
    can_accept_direct_input: bool | None
    thread_source: str | None
    agent_nickname: str | None = None
    agent_role: str | None = None
    git_info: GitInfo | None
    name: str | None
    daybreak_enabled: bool | None = None
    environments: list[ThreadEnvironment] | None
    extra: dict[str, Any] | None = None
    turns: list[Turn]


class ThreadOverrides(RequestParams):
    """Settings that start and resume have in common."""

    cwd: PathText | None = None
    model: Word | None = None
    model_provider: Word | None = None
    approval_policy: ApprovalPolicy | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    config: dict[str, Any] | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    runtime_workspace_roots: AbsoluteRoots | None = None
    service_tier: Word | None = None
    permissions: Word | None = None


class ThreadStartParams(ThreadOverrides):
    """Begin a conversation."""

    ephemeral: bool | None = None
    history_mode: HistoryMode | None = None
    session_start_source: Literal["startup", "clear"] | None = None
    service_name: Word | None = None
    dynamic_tools: list[dict[str, Any]] | None = None
    thread_source: Word | None = None
    project_id: Word | None = None
    memory_mode: Literal["enabled", "disabled"] | None = None
    """A field of ours: whether the thread becomes memory."""
    memory_use: bool | None = None
    """A field of ours: whether the thread sees memory; with both off it is private."""


class ThreadSettingsResult(WireModel):
    """A thread and the settings it runs with."""

    thread: Thread
    model: str
    model_provider: str
    service_tier: str | None = None
    disabled_plugin_ids: list[str] = Field(default=[])
    cwd: str
    runtime_workspace_roots: list[str]
    instruction_sources: list[str] = Field(default=[])
    approval_policy: ApprovalPolicy
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxPolicy
    active_permission_profile: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    multi_agent_mode: str = "explicitRequestOnly"


class ThreadStartResult(ThreadSettingsResult):
    """The new thread."""


class InitialTurnsPageParams(RequestParams):
    """Which turns a resume brings along."""

    limit: U32 | None = None
    sort_direction: SortDirection | None = None
    items_view: ItemsView | None = None


class ThreadResumeParams(ThreadOverrides):
    """Load a stored thread and listen to it."""

    thread_id: str
    path: PathText | None = None
    history: list[Any] | None = None
    exclude_turns: bool = False
    initial_turns_page: InitialTurnsPageParams | None = None


class TurnsPage(WireModel):
    """Some turns, and where to go on."""

    data: list[Turn]
    next_cursor: str | None
    backwards_cursor: str | None


class CollaborationSettings(WireModel):
    """Model settings of a collaboration mode."""

    model_config = ConfigDict(alias_generator=None)

    model: str
    reasoning_effort: str | None = None
    developer_instructions: str | None = None


class CollaborationMode(WireModel):
    """How agent and person work together; there is one way."""

    mode: Literal["default"] = "default"
    settings: CollaborationSettings


class ThreadResumeResult(ThreadSettingsResult):
    """The loaded thread."""

    collaboration_mode: CollaborationMode | None
    initial_turns_page: TurnsPage | None = None
    turns_backwards_cursor: str | None
    items_backwards_cursor: str | None


class ThreadListParams(RequestParams):
    """Find threads."""

    cursor: str | None = None
    limit: U32 | None = None
    sort_key: Literal["created_at", "updated_at", "recency_at", "section_position"] | None = None
    sort_direction: SortDirection | None = None
    archived: bool | None = None
    model_providers: list[str] | None = None
    source_kinds: list[SourceKind] | None = None
    cwd: Annotated[str | list[str], BeforeValidator(_text_or_list)] | None = None
    search_term: str | None = None
    included_thread_ids: list[str] | None = None
    excluded_thread_ids: list[str] | None = None
    use_state_db_only: bool = False
    parent_thread_id: str | None = None
    ancestor_thread_id: str | None = None
    project_id: str | None = None
    section_id: str | None = None


class ThreadListResult(WireModel):
    """One page of threads."""

    data: list[Thread]
    next_cursor: str | None
    backwards_cursor: str | None
    read_states: dict[str, Any] | None


class LoadedListParams(RequestParams):
    """Which threads are in memory."""

    cursor: str | None = None
    limit: U32 | None = None


class LoadedListResult(WireModel):
    """One page of thread ids."""

    data: list[str]
    next_cursor: str | None


class ThreadReadParams(RequestParams):
    """Look at a thread without loading it."""

    thread_id: str
    include_turns: bool = False


class ThreadReadResult(WireModel):
    """The thread."""

    thread: Thread
    read_state: dict[str, Any] | None = None


class TurnsListParams(RequestParams):
    """Page through the turns of a thread."""

    thread_id: str
    cursor: str | None = None
    limit: U32 | None = None
    sort_direction: SortDirection | None = None
    items_view: ItemsView | None = None


class ItemsAnchor(RequestParams):
    """Go on behind this item of the asked turn, instead of at a cursor."""

    type: Literal["item"]
    item_id: str


class ItemsListParams(RequestParams):
    """Page through the items of a thread or of one turn."""

    thread_id: str
    turn_id: str | None = None
    cursor: str | ItemsAnchor | None = None
    limit: U32 | None = None
    sort_direction: SortDirection | None = None


class ItemEntry(WireModel):
    """An item and the turn it belongs to."""

    turn_id: str
    item: ThreadItem
    started_at_ms: int | None
    completed_at_ms: int | None


class ItemsPage(WireModel):
    """Some items, and where to go on."""

    data: list[ItemEntry]
    next_cursor: str | None
    backwards_cursor: str | None


class NameSetParams(RequestParams):
    """Name a thread."""

    thread_id: str
    name: str


class ThreadIdParams(RequestParams):
    """A thread."""

    thread_id: str


class UnsubscribeResult(WireModel):
    """Whether the client had listened."""

    status: UnsubscribeStatus


class ThreadStarted(WireModel):
    """A thread began."""

    thread: Thread


class ThreadStatusChanged(WireModel):
    """A thread became loaded, busy, idle or broken."""

    thread_id: str
    status: ThreadStatus


class ThreadSettings(WireModel):
    """The settings a thread runs with."""

    disabled_plugin_ids: list[str] = Field(default=[])
    cwd: str
    environments: list[ThreadEnvironment]
    approval_policy: ApprovalPolicy
    approvals_reviewer: ApprovalsReviewer
    sandbox_policy: SandboxPolicy
    active_permission_profile: dict[str, Any] | None = None
    model: str
    model_provider: str
    service_tier: str | None = None
    effort: str | None
    summary: str | None
    collaboration_mode: CollaborationMode
    multi_agent_mode: str = "explicitRequestOnly"
    personality: str | None = None


class ThreadSettingsUpdated(WireModel):
    """A turn brought other settings; they hold for the thread from now on."""

    thread_id: str
    thread_settings: ThreadSettings


class ThreadNameUpdated(WireModel):
    """A thread has a new name."""

    thread_id: str
    thread_name: str | None


class ThreadIdNotice(WireModel):
    """Something happened to a thread."""

    thread_id: str
