"""The items of a turn: what a person typed, what the agent said, thought and did.

Item models are what the wire shows; recorded items carry the same keys. All of them also say when
they began and ended.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from protocol.base import Reader, RequestParams, WireModel

ImageDetail = Literal["auto", "low", "high", "original"]
MessagePhase = Literal["commentary", "partial_answer", "final_answer"]
ActionStatus = Literal["inProgress", "completed", "failed", "declined"]


class ByteRange(RequestParams):
    """A part of a text, in bytes."""

    start: int
    end: int


class TextElement(RequestParams):
    """A part of the text that the client shows in its own way."""

    byte_range: ByteRange
    placeholder: str | None = None


class TextInput(RequestParams):
    """Typed text."""

    type: Literal["text"] = "text"
    text: str
    text_elements: list[TextElement] = Field(default=[], alias="text_elements")


class ImageInput(RequestParams):
    """An image by address or by the id of an uploaded file."""

    type: Literal["image"]
    url: str | None = None
    file_id: str | None = None
    detail: ImageDetail | None = None


class LocalImageInput(RequestParams):
    """An image file on this machine."""

    type: Literal["localImage"]
    path: str
    detail: ImageDetail | None = None


class AudioInput(RequestParams):
    """A recording by address or by the id of an uploaded file."""

    type: Literal["audio"]
    url: str | None = None
    file_id: str | None = None


class LocalAudioInput(RequestParams):
    """A recording on this machine."""

    type: Literal["localAudio"]
    path: str


class SkillInput(RequestParams):
    """A skill that the person named."""

    type: Literal["skill"]
    name: str
    path: str


class MentionInput(RequestParams):
    """A file or tool that the person mentioned."""

    type: Literal["mention"]
    name: str
    path: str


UserInput = Annotated[
    TextInput
    | ImageInput
    | LocalImageInput
    | AudioInput
    | LocalAudioInput
    | SkillInput
    | MentionInput,
    Field(discriminator="type"),
]


class MemoryCitationEntry(WireModel):
    """Lines of a memory file that an answer rests on."""

    path: str
    line_start: int
    line_end: int
    note: str


class MemoryCitation(WireModel):
    """What an answer takes from memory."""

    entries: list[MemoryCitationEntry]
    thread_ids: list[str]


class TimedItem(WireModel):
    """What all items carry."""

    id: str
    started_at_ms: int | None = None
    completed_at_ms: int | None = None


class UserMessageItem(TimedItem):
    """What a person sent."""

    type: Literal["userMessage"] = "userMessage"
    client_id: str | None = None
    content: list[dict[str, Any]]


class AgentMessageItem(TimedItem):
    """What the agent said."""

    type: Literal["agentMessage"] = "agentMessage"
    text: str
    phase: MessagePhase | None = None
    memory_citation: MemoryCitation | None = None
    moderation: dict[str, Any] | None = None
    delivery: str | None = None
    questions: list[dict[str, Any]] | None = None


class ReasoningItem(TimedItem):
    """What the model thought, as far as its provider shows it."""

    type: Literal["reasoning"] = "reasoning"
    summary: list[str] = Field(default=[])
    content: list[str] = Field(default=[])


class PlanItem(TimedItem):
    """A plan the agent wrote."""

    type: Literal["plan"] = "plan"
    text: str


class CommandExecutionItem(TimedItem):
    """A command the agent ran."""

    type: Literal["commandExecution"] = "commandExecution"
    plugin_id: str | None = None
    script_path: str | None = None
    command: str
    cwd: str
    process_id: str | None = None
    source: Literal["agent", "userShell", "unifiedExecStartup", "unifiedExecInteraction"] = "agent"
    status: ActionStatus
    command_actions: list[dict[str, Any]] = Field(default=[])
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class FileChangeItem(TimedItem):
    """Files the agent changed."""

    type: Literal["fileChange"] = "fileChange"
    changes: list[dict[str, Any]]
    status: ActionStatus


class McpToolCallItem(TimedItem):
    """A call of a tool of an MCP server."""

    type: Literal["mcpToolCall"] = "mcpToolCall"
    server: str
    tool: str
    arguments: Any = None
    status: Literal["inProgress", "completed", "failed"]
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    duration_ms: int | None = None


class DynamicToolCallItem(TimedItem):
    """A call of a tool that the client itself offers."""

    type: Literal["dynamicToolCall"] = "dynamicToolCall"
    namespace: str | None = None
    tool: str
    arguments: Any = None
    status: Literal["inProgress", "completed", "failed"]
    content_items: list[dict[str, Any]] | None = None
    success: bool | None = None
    duration_ms: int | None = None


class WebSearchItem(TimedItem):
    """A search of the web."""

    type: Literal["webSearch"] = "webSearch"
    query: str
    action: dict[str, Any] | None = None
    results: list[Any] | None = None


class ImageViewItem(TimedItem):
    """An image file the agent looked at."""

    type: Literal["imageView"] = "imageView"
    path: str


class SleepItem(TimedItem):
    """A pause the agent took."""

    type: Literal["sleep"] = "sleep"
    duration_ms: int


class ReviewModeItem(TimedItem):
    """The beginning or end of a review."""

    type: Literal["enteredReviewMode", "exitedReviewMode"]
    review: str


class ContextCompactionItem(TimedItem):
    """The conversation was shortened for the model."""

    type: Literal["contextCompaction"] = "contextCompaction"


ThreadItem = Annotated[
    UserMessageItem
    | AgentMessageItem
    | ReasoningItem
    | PlanItem
    | CommandExecutionItem
    | FileChangeItem
    | McpToolCallItem
    | DynamicToolCallItem
    | WebSearchItem
    | ImageViewItem
    | SleepItem
    | ReviewModeItem
    | ContextCompactionItem,
    Field(discriminator="type"),
]
THREAD_ITEM: Reader[ThreadItem] = Reader(ThreadItem)


class ItemStarted(WireModel):
    """An item began; its text comes in deltas."""

    item: ThreadItem
    thread_id: str
    turn_id: str
    started_at_ms: int


class ItemCompleted(WireModel):
    """An item ended; this is what it is."""

    item: ThreadItem
    thread_id: str
    turn_id: str
    content_token_count: int | None = None
    completed_at_ms: int


class AgentMessageDelta(WireModel):
    """The next piece of an agent message."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class ReasoningSummaryPartAdded(WireModel):
    """A new part of a summary of thought begins."""

    thread_id: str
    turn_id: str
    item_id: str
    summary_index: int


class ReasoningSummaryTextDelta(WireModel):
    """The next piece of a summary of thought."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    summary_index: int


class FileChangePatchUpdated(WireModel):
    """What a patch would change, while the model still writes it; before its item, with its id."""

    thread_id: str
    turn_id: str
    item_id: str
    changes: list[dict[str, Any]]


class CommandOutputDelta(WireModel):
    """The next piece of a command's output."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class TerminalInteraction(WireModel):
    """A running command was given something to read."""

    thread_id: str
    turn_id: str
    item_id: str
    process_id: str
    stdin: str


class McpToolProgress(WireModel):
    """What an MCP tool says of its progress."""

    thread_id: str
    turn_id: str
    item_id: str
    message: str


class TurnDiffUpdated(WireModel):
    """All that the turn changed in files so far, as one unified diff."""

    thread_id: str
    turn_id: str
    diff: str


class TurnPlanStep(WireModel):
    """One step of a plan."""

    step: str
    status: Literal["pending", "inProgress", "completed"]


class TurnPlanUpdated(WireModel):
    """The agent wrote or changed its plan."""

    thread_id: str
    turn_id: str
    explanation: str | None
    plan: list[TurnPlanStep]
