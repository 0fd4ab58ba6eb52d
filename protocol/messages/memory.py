"""Memory: what a thread would be told, whether it is learned from, and learning on request."""

from typing import Any, Literal

from protocol.base import U32, RequestParams, StrictParams, WireModel
from protocol.messages.load import LoadView

MemoryMode = Literal["enabled", "disabled"]


class MemoryReadResult(WireModel):
    """The summary file of the thread's memory version as it is now, unchanged and whole."""

    summary: str | None


class MemoryModeSetParams(RequestParams):
    """Allow or forbid that a thread becomes memory; with `memoryUse`, of ours, that it sees it."""

    thread_id: str
    mode: MemoryMode
    memory_use: bool | None = None


class MemoryReportParams(StrictParams):
    """A thread, loaded or stored."""

    thread_id: str


class PollutionView(WireModel):
    """What brought outside context into a thread."""

    kind: str
    name: str


class MemoryReportResult(WireModel):
    """How a thread meets memory: no word of memory itself.

    `reason` says why nothing was told: `feature_off`, `use_off`, `thread_off`, `private`,
    `no_turn` where none ran yet, or what the files said: `no_summary`, `blank`, `unreadable`.
    Tokens are estimates, four bytes each; `digest` is the same for the same bytes.
    """

    thread_id: str
    loaded: bool
    memory_mode: Literal["enabled", "disabled", "polluted"]
    memory_use: bool
    polluted_by: PollutionView | None
    version: str
    injected: bool
    reason: str | None
    tokens: int
    parts: int
    notes: int
    """Notes that no consolidation has taken in."""
    withheld: int
    """Lines left out because they posed as somebody else's voice."""
    corrections: int
    """Notes among them that correct the summary."""
    dated_lines: int
    """Lines that were confirmed long ago, which they say."""
    doubtful_pointers: int
    """Files and symbols that memory names and the workspace does not have as named."""
    digest: str | None
    tools_offered: bool
    instruction_sources: list[str]


class CounterView(WireModel):
    """One counter of this process, with labels out of a fixed few words."""

    name: str
    labels: dict[str, str]
    count: int


class MemoryStatusParams(RequestParams):
    """Is version 2 far enough to be used?"""

    min_consolidated_threads: U32 | None = None


class MemoryStatusResult(WireModel):
    """How many threads version 2 has learned from, and whether that is enough."""

    v2_consolidated_threads: int
    v2_ready: bool


class ImportParams(StrictParams):
    """Bring in session files: a file, a folder, or the home of the program that wrote them."""

    path: str
    format: Literal["codex", "claude"] | None = None
    since: str | None = None
    dry_run: bool | None = None


class ImportFailure(WireModel):
    """A file that could not be brought in, and why."""

    path: str
    reason: str


class ImportResult(WireModel):
    """What was brought in."""

    found: int
    imported: int
    updated: int
    unchanged: int
    older: int
    empty: int
    barred: int
    conflicts: list[ImportFailure]
    failed: list[ImportFailure]
    skipped_lines: int
    unreadable: list[ImportFailure]
    dry_run: bool


class AgentMemoryParams(StrictParams):
    """Bring in the memory files that another agent keeps in its home."""

    path: str
    dry_run: bool | None = None


class AgentMemoryResult(WireModel):
    """What was brought in, by project; `files` are those that the source holds."""

    found: int
    files: int
    imported: int
    updated: int
    unchanged: int
    removed: int
    failed: list[ImportFailure]
    left_out: list[ImportFailure]
    dry_run: bool


class ImportProgress(WireModel):
    """How far an import is."""

    path: str
    done: int
    total: int


class ResetParams(RequestParams):
    """Forget all; with `relearn` the sessions that are still there may be learned from anew."""

    relearn: bool | None = None


class ConsolidateParams(StrictParams):
    """Learn now: from one thread or from all that are allowed and not in a turn."""

    thread_id: str | None = None
    wait: bool | None = None


class Phase1Counts(WireModel):
    """What became of the threads that were looked at."""

    claimed: int
    succeeded: int
    empty: int
    failed: dict[str, int]
    skipped: dict[str, int]
    stopped_by: str | None


class Phase2Outcome(WireModel):
    """What became of the memory folder."""

    status: Literal["published", "unchanged", "skipped", "failed"]
    reason: str | None
    edition_id: int | None


class VersionLearned(WireModel):
    """What became of one memory version."""

    version: str
    extraction: Phase1Counts
    consolidation: Phase2Outcome


class ConsolidateResult(WireModel):
    """`finished` with what was done, or `running` with the id that progress carries.

    `extraction` and `consolidation` are those of the version that threads read; `versions` has all
    that are written, that one first. Tokens are those of all.
    """

    status: Literal["finished", "running"]
    job_id: str
    extraction: Phase1Counts | None
    consolidation: Phase2Outcome | None
    versions: list[VersionLearned]
    input_tokens: int
    output_tokens: int


class PauseParams(StrictParams):
    """Stop learning until it is asked for again, or let it go on."""

    paused: bool


class PauseResult(WireModel):
    """What holds now; with `paused` no background work runs any more."""

    paused: bool


class OverviewParams(StrictParams):
    """Everything a person may want to know about the state of memory."""


class ThreadCounts(WireModel):
    """How many threads there are, by what they are to memory."""

    stored: int
    enabled: int
    disabled: int
    polluted: int
    archived: int
    imported: int
    loaded: int
    busy: int


class JobCounts(WireModel):
    """How many jobs there are, by state."""

    pending: int
    running: int
    done: int
    failed: int
    exhausted: int


class JobView(WireModel):
    """One job that waits or failed, and why."""

    kind: str
    key: str
    status: str
    reason: str | None
    retry_at_ms: int | None
    lease_until_ms: int | None
    attempts_left: int | None
    outcome: str | None


class WaitView(WireModel):
    """Things of one kind that wait for one reason, and when the first of them may go on.

    Without a time they wait for something else: `ready` for the next wake, `capped` for a free
    place, `paused` and `off` for a person, `exhausted`, `disabled`, `polluted`, `archived`,
    `too_old` and `reset` for a change of the thread itself or for an order.
    """

    what: str
    """`thread` or `consolidation`."""
    why: str
    count: int
    until_ms: int | None


class Counters(WireModel):
    """How the last extraction of each thread ended, and what became of it."""

    claimed: int
    succeeded: int
    empty: dict[str, int]
    """Heard without anything worth keeping, by reason."""
    failed: dict[str, int]
    """By reason."""
    editions: int
    notes_pending: int
    """Notes and imported files that no consolidation has seen."""


class QuotaView(WireModel):
    """Why background work leaves the rest of the provider's limits alone."""

    reason: str
    until_ms: int | None


class EditionView(WireModel):
    """The last published state of the memory folder."""

    edition_id: int
    commit_id: str
    published_at_ms: int | None
    added: int
    changed: int
    removed: int


class SpendingView(WireModel):
    """Model tokens of background work on one day of UTC."""

    day: str
    extraction_tokens: int
    consolidation_tokens: int
    extraction_budget_tokens: int | None
    consolidation_budget_tokens: int | None


class ServerView(WireModel):
    """The process that answers."""

    version: str
    instance_id: str
    pid: int
    home: str
    provider: str
    model: str | None
    load: LoadView


class FolderSizeView(WireModel):
    """What a memory folder holds, nested files counted, neither its private git nor links."""

    files: int
    bytes: int


class VersionView(WireModel):
    """One memory version that is written, or that left something behind."""

    version: str
    folder: str
    is_read: bool
    """Whether threads that name no version read this one."""
    is_written: bool
    jobs: JobCounts
    waiting: list[JobView]
    waits: list[WaitView]
    """Every thing that waits, also what has no job yet."""
    counters: Counters
    outputs: int
    outputs_used: int
    """Of them, those that the last edition rests on."""
    outputs_displaced: int
    """Those that would be used if there were room for them."""
    last_edition: EditionView | None
    size: FolderSizeView
    withdrawal_pending: str | None
    """Why what a deleted or barred thread gave may still stand there; it is tried until it is out.

    Null when nothing of that kind is known.
    """


class OverviewResult(WireModel):
    """The state of memory and of the work on it.

    What stands beside `versions` is of the version that threads read.
    """

    server: ServerView
    enabled: bool
    generates: bool
    paused: bool
    quota: QuotaView | None
    version: str
    folder: str
    threads: ThreadCounts
    jobs: JobCounts
    waiting: list[JobView]
    outputs: int
    last_edition: EditionView | None
    versions: list[VersionView]
    spending: SpendingView
    reads: list[CounterView]
    """How memory was used since the server started."""
    notes: list[str]


class MemoryProgress(WireModel):
    """A step of background work; ids and counts, never memory text."""

    what: str
    version: str
    data: dict[str, Any]
