"""What becomes of a thread: forks, the archive, compaction, going back, and what is noted of it."""

from typing import Any, Literal

from protocol.base import U32, RequestParams, SortDirection, WireModel
from protocol.messages.threads import (
    SourceKind,
    Thread,
    ThreadOverrides,
    ThreadSettingsResult,
)
from protocol.messages.turns import ApprovalPolicy, ApprovalsReviewer, SandboxPolicy
from protocol.words import PathText, Word


class ThreadForkParams(ThreadOverrides):
    """Go on from a place in another thread, in a thread of its own."""

    thread_id: str
    path: PathText | None = None
    last_turn_id: str | None = None
    before_turn_id: str | None = None
    ephemeral: bool | None = None
    exclude_turns: bool | None = None
    thread_source: Word | None = None


class ThreadForkResult(ThreadSettingsResult):
    """The new thread."""


class ThreadResult(WireModel):
    """The thread as it is now."""

    thread: Thread


class ThreadRevertParams(RequestParams):
    """Let a thread's history end before a turn."""

    thread_id: str
    before_turn_id: str


class ThreadRevertResult(WireModel):
    """The thread, and from where its turns and items are paged backwards."""

    thread: Thread
    turns_backwards_cursor: str | None
    items_backwards_cursor: str | None


class InjectItemsParams(RequestParams):
    """Add items of the Responses API to what the model sees of a thread."""

    thread_id: str
    items: list[Any]


class GitInfoUpdate(RequestParams):
    """What to note of the repository: a text sets, null clears, what is left out stays."""

    sha: str | None = None
    branch: str | None = None
    origin_url: str | None = None


class MetadataUpdateParams(RequestParams):
    """Change what is noted of a thread."""

    thread_id: str
    git_info: GitInfoUpdate | None = None
    project_id: str | None = None
    daybreak_enabled: bool | None = None


class SettingsUpdateParams(RequestParams):
    """Change the settings of a loaded thread for its next turns."""

    thread_id: str
    model: Word | None = None
    effort: Word | None = None
    summary: Word | None = None
    cwd: PathText | None = None
    permissions: Word | None = None
    approval_policy: ApprovalPolicy | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_policy: SandboxPolicy | None = None
    collaboration_mode: dict[str, Any] | None = None


class ThreadSearchParams(RequestParams):
    """Find threads by words."""

    search_term: str
    cursor: str | None = None
    limit: U32 | None = None
    archived: bool | None = None
    sort_key: Literal["created_at", "updated_at", "recency_at"] | None = None
    sort_direction: SortDirection | None = None
    source_kinds: list[SourceKind] | None = None


class ThreadSearchHit(WireModel):
    """A thread, and where in it the words stand."""

    thread: Thread
    snippet: str


class ThreadSearchResult(WireModel):
    """One page of threads found."""

    data: list[ThreadSearchHit]
    next_cursor: str | None
    backwards_cursor: str | None
