"""What a rollout holds, as values: its lines, its identity, its turns and items, its transcript.

Lines come from many releases of several programs, so reading is tolerant: an optional field of
the wrong shape counts as absent, and fields we do not know are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from state.ids import ThreadId

LINE_TYPES = frozenset(
    {
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    }
)

TurnStatus = Literal["inProgress", "completed", "interrupted", "failed"]
TranscriptKind = Literal[
    "user",
    "assistant",
    "commentary",
    "tool_call",
    "tool_output",
    "web_search",
    "agent",
    "context",
]


class RolloutLine(BaseModel):
    """One good line of a rollout."""

    # Built at the first line that is read: it takes a thirtieth of a second.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    timestamp: str = ""
    ordinal: int | None = None
    type: str
    payload: dict[str, Any]
    metadata: dict[str, Any] | None = None
    line_number: int = Field(default=0, exclude=True)
    """Counted from 1; blank and bad lines count too."""
    size: int = Field(default=0, exclude=True)
    """Bytes of the line as it was read."""
    offset: int = Field(default=0, exclude=True)
    """Where it begins in its file, uncompressed."""

    @classmethod
    def parse(
        cls, value: Mapping[str, Any], *, line_number: int, size: int, offset: int = 0
    ) -> "RolloutLine | None":
        """The line in a decoded JSON object; None when it is none."""
        place = {"line_number": line_number, "size": size, "offset": offset}
        try:
            return cls.model_validate({**value, **place})
        except ValidationError:
            return None


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that could not be used; the rest of the file was."""

    line_number: int
    reason: str


class GitState(BaseModel):
    """The repository a thread started in."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    commit_hash: str | None = None
    branch: str | None = None
    repository_url: str | None = None


class HistoryBase(BaseModel):
    """Where a forked history begins: a prefix of another thread's file."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    thread_id: str
    end_ordinal_exclusive: int
    end_byte_offset: int | None = None
    """Where the prefix ended when the fork was made; a hint, since a file may be written anew."""


class SessionMeta(BaseModel):
    """The identity of a thread, from the first `session_meta` line of its file."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    id: ThreadId
    session_id: str | None = None
    timestamp: str = ""
    cwd: str = ""
    originator: str | None = None
    cli_version: str = ""
    source: str | dict[str, Any] = "vscode"
    thread_source: str | None = None
    model_provider: str | None = None
    base_instructions: dict[str, Any] | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    memory_mode: str | None = None
    memory_use: bool | None = None
    """A key of ours: whether the thread sees memory; the original leaves it out."""
    history_mode: Literal["legacy", "paginated"] = "legacy"
    history_base: HistoryBase | None = None
    copied_lines: int | None = None
    """How many lines behind the first one are copies of another thread's, and so not its own."""
    git: GitState | None = None

    @classmethod
    def parse(cls, payload: Mapping[str, Any]) -> "SessionMeta | None":
        """The identity in the payload of a line; None when it has no usable id."""
        try:
            return cls.model_validate(payload)
        except ValidationError:
            return None

    @field_validator("id")
    @classmethod
    def _is_a_uuid(cls, value: str) -> ThreadId:
        return ThreadId(str(UUID(value)))

    @field_validator("*", mode="wrap")
    @classmethod
    def _absent_when_odd(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        if info.field_name == "id":
            return handler(value)
        try:
            return handler(value)
        except ValidationError:
            return cls.model_fields[str(info.field_name)].get_default()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedItem:
    """One thing that happened in a turn, its body in the shape that clients get."""

    item_id: str
    turn_id: str
    type: str
    """`userMessage`, `agentMessage`, `reasoning`, `commandExecution`, …"""
    body: Mapping[str, Any]
    """Everything but `id` and `type`."""
    started_at_ms: int | None = None
    completed_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """One exchange as it was recorded."""

    turn_id: str
    status: TurnStatus
    items: Sequence[RecordedItem] = ()
    error: Mapping[str, Any] | None = None
    started_at_s: int | None = None
    completed_at_s: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptItem:
    """One piece of evidence; its text and its raw form are redacted."""

    kind: TranscriptKind
    """`user` means typed by the user, and nothing else."""
    text: str
    line: int
    turn_id: str | None = None
    at_ms: int | None = None
    raw: Mapping[str, Any]
    """The response item, as far as it was kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What may be learned from a thread."""

    thread_id: ThreadId
    cwd: str
    git_branch: str | None
    items: tuple[TranscriptItem, ...]
    service_tier: str | None = None
    """Under which its last turn ran."""
    skipped_lines: tuple[int, ...] = ()
