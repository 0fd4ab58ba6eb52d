"""The one list: what a client may call, what we tell, what we ask.

Dispatch, schemas, clients of ours and documentation are made from it; a method without a handler
stops the start of the server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from protocol import errors
from protocol.base import EmptyParams, EmptyResult, RequestParams, StrictParams, WireModel
from protocol.decoding import decode
from protocol.messages import approvals, config, handshake, items, memory, threads, turns


@dataclass(frozen=True, slots=True)
class Method:
    """A request that clients may send."""

    name: str
    params: type[RequestParams] | type[StrictParams]
    result: type[WireModel]
    summary: str
    experimental: bool = False
    experimental_fields: tuple[str, ...] = ()
    params_optional: bool = False


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request that the server sends; without an answer in time it counts as the default."""

    name: str
    params: type[WireModel]
    answer: type[RequestParams]
    summary: str
    deadline_s: int | None
    default: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NotificationType:
    """A message of the server; a lossless one is never left out for a client that listens."""

    name: str
    params: type[WireModel]
    lossless: bool
    scope: Literal["thread", "all"]
    experimental: bool = False


INITIALIZE = Method(
    "initialize",
    params=handshake.InitializeParams,
    result=handshake.InitializeResult,
    summary="Say who the client is; must come first.",
)
THREAD_START = Method(
    "thread/start",
    params=threads.ThreadStartParams,
    result=threads.ThreadStartResult,
    summary="Begin a thread and listen to it.",
    experimental_fields=(
        "historyMode",
        "environments",
        "dynamicTools",
        "experimentalRawEvents",
        "mockExperimentalField",
    ),
)
THREAD_RESUME = Method(
    "thread/resume",
    params=threads.ThreadResumeParams,
    result=threads.ThreadResumeResult,
    summary="Load a stored thread and listen to it.",
)
THREAD_LIST = Method(
    "thread/list",
    params=threads.ThreadListParams,
    result=threads.ThreadListResult,
    summary="Find stored threads, newest first.",
    experimental_fields=("parentThreadId",),
)
THREAD_LOADED_LIST = Method(
    "thread/loaded/list",
    params=threads.LoadedListParams,
    result=threads.LoadedListResult,
    summary="Ids of the threads in memory.",
)
THREAD_READ = Method(
    "thread/read",
    params=threads.ThreadReadParams,
    result=threads.ThreadReadResult,
    summary="Look at a thread without loading it.",
)
THREAD_TURNS_LIST = Method(
    "thread/turns/list",
    params=threads.TurnsListParams,
    result=threads.TurnsPage,
    summary="Page through the turns of a thread.",
)
THREAD_ITEMS_LIST = Method(
    "thread/items/list",
    params=threads.ItemsListParams,
    result=threads.ItemsPage,
    summary="Page through the items of a thread or of one turn.",
)
THREAD_NAME_SET = Method(
    "thread/name/set",
    params=threads.NameSetParams,
    result=EmptyResult,
    summary="Name a thread.",
)
THREAD_DELETE = Method(
    "thread/delete",
    params=threads.ThreadIdParams,
    result=EmptyResult,
    summary="Delete a thread with its file and what was learned from it.",
)
THREAD_UNSUBSCRIBE = Method(
    "thread/unsubscribe",
    params=threads.ThreadIdParams,
    result=threads.UnsubscribeResult,
    summary="Stop listening to a thread; its turn goes on.",
)
THREAD_MEMORY_MODE_SET = Method(
    "thread/memoryMode/set",
    params=memory.MemoryModeSetParams,
    result=EmptyResult,
    summary="Allow or forbid that a thread becomes memory.",
    experimental=True,
)
THREAD_MEMORY_READ = Method(
    "thread/memory/read",
    params=threads.ThreadIdParams,
    result=memory.MemoryReadResult,
    summary="The memory summary that a loaded thread uses, as its file is now.",
    experimental=True,
)
TURN_START = Method(
    "turn/start",
    params=turns.TurnStartParams,
    result=turns.TurnStartResult,
    summary="Say something in a loaded thread.",
    experimental_fields=("environments",),
)
TURN_INTERRUPT = Method(
    "turn/interrupt",
    params=turns.TurnInterruptParams,
    result=EmptyResult,
    summary="Stop a running turn.",
)
MEMORY_STATUS = Method(
    "memory/status",
    params=memory.MemoryStatusParams,
    result=memory.MemoryStatusResult,
    summary="Whether version 2 of memory is ready.",
    experimental=True,
)
MEMORY_RESET = Method(
    "memory/reset",
    params=memory.ResetParams,
    result=EmptyResult,
    summary="Empty memory, for good or to be learned anew; threads and their modes stay.",
    experimental=True,
    params_optional=True,
)
MEMORY_CONSOLIDATE_START = Method(
    "memory/consolidate/start",
    params=memory.ConsolidateParams,
    result=memory.ConsolidateResult,
    summary="Learn now, whatever the age of threads, and publish.",
    experimental=True,
    params_optional=True,
)
MEMORY_OVERVIEW = Method(
    "memory/overview",
    params=memory.OverviewParams,
    result=memory.OverviewResult,
    summary="State of memory: threads, jobs, what waits and why, last edition, spending.",
    experimental=True,
    params_optional=True,
)
MEMORY_PAUSE = Method(
    "memory/pause",
    params=memory.PauseParams,
    result=memory.PauseResult,
    summary="Stop all learning at once until it is lifted, also over a restart; or let it go on.",
    experimental=True,
)
THREAD_IMPORT = Method(
    "thread/import",
    params=memory.ImportParams,
    result=memory.ImportResult,
    summary="Bring in session files; they are copied and never changed.",
    experimental=True,
)
MEMORY_IMPORT = Method(
    "memory/import",
    params=memory.AgentMemoryParams,
    result=memory.AgentMemoryResult,
    summary="Bring in the memory files of another agent as an extension; they are only read.",
    experimental=True,
)
MODEL_LIST = Method(
    "model/list",
    params=config.ModelListParams,
    result=config.ModelListResult,
    summary="Models that can be chosen.",
)
CONFIG_READ = Method(
    "config/read",
    params=config.ConfigReadParams,
    result=config.ConfigReadResult,
    summary="Settings in force.",
)
CONFIG_REQUIREMENTS_READ = Method(
    "configRequirements/read",
    params=EmptyParams,
    result=config.ConfigRequirementsResult,
    summary="What an administrator demands.",
    params_optional=True,
)
ACCOUNT_READ = Method(
    "account/read",
    params=config.AccountReadParams,
    result=config.AccountReadResult,
    summary="Who is signed in; no one has to be.",
)

CLIENT_METHODS: tuple[Method, ...] = (
    INITIALIZE,
    THREAD_START,
    THREAD_RESUME,
    THREAD_LIST,
    THREAD_LOADED_LIST,
    THREAD_READ,
    THREAD_TURNS_LIST,
    THREAD_ITEMS_LIST,
    THREAD_NAME_SET,
    THREAD_DELETE,
    THREAD_UNSUBSCRIBE,
    THREAD_MEMORY_MODE_SET,
    THREAD_MEMORY_READ,
    THREAD_IMPORT,
    TURN_START,
    TURN_INTERRUPT,
    MEMORY_STATUS,
    MEMORY_RESET,
    MEMORY_CONSOLIDATE_START,
    MEMORY_OVERVIEW,
    MEMORY_PAUSE,
    MEMORY_IMPORT,
    MODEL_LIST,
    CONFIG_READ,
    CONFIG_REQUIREMENTS_READ,
    ACCOUNT_READ,
)
METHODS_BY_NAME: Mapping[str, Method] = {method.name: method for method in CLIENT_METHODS}
METHOD_NAMES: tuple[str, ...] = tuple(METHODS_BY_NAME)

INITIALIZED = "initialized"
"""The one notification that clients send; it is accepted and not needed."""

THREAD_STARTED = NotificationType("thread/started", threads.ThreadStarted, True, "all")
THREAD_STATUS_CHANGED = NotificationType(
    "thread/status/changed", threads.ThreadStatusChanged, True, "all"
)
THREAD_NAME_UPDATED = NotificationType(
    "thread/name/updated", threads.ThreadNameUpdated, True, "all"
)
THREAD_SETTINGS_UPDATED = NotificationType(
    "thread/settings/updated", threads.ThreadSettingsUpdated, True, "thread", experimental=True
)
THREAD_DELETED = NotificationType("thread/deleted", threads.ThreadIdNotice, True, "all")
THREAD_CLOSED = NotificationType("thread/closed", threads.ThreadIdNotice, True, "thread")
THREAD_TOKEN_USAGE_UPDATED = NotificationType(
    "thread/tokenUsage/updated", turns.TokenUsageUpdated, True, "thread"
)
THREAD_IMPORT_PROGRESS = NotificationType(
    "thread/import/progress", memory.ImportProgress, False, "all", experimental=True
)
TURN_STARTED = NotificationType("turn/started", turns.TurnStarted, True, "thread")
TURN_COMPLETED = NotificationType("turn/completed", turns.TurnCompleted, True, "thread")
ITEM_STARTED = NotificationType("item/started", items.ItemStarted, True, "thread")
ITEM_COMPLETED = NotificationType("item/completed", items.ItemCompleted, True, "thread")
AGENT_MESSAGE_DELTA = NotificationType(
    "item/agentMessage/delta", items.AgentMessageDelta, False, "thread"
)
REASONING_SUMMARY_PART_ADDED = NotificationType(
    "item/reasoning/summaryPartAdded", items.ReasoningSummaryPartAdded, False, "thread"
)
REASONING_SUMMARY_TEXT_DELTA = NotificationType(
    "item/reasoning/summaryTextDelta", items.ReasoningSummaryTextDelta, False, "thread"
)
ERROR = NotificationType("error", turns.TurnFailure, True, "thread")
RATE_LIMITS_UPDATED = NotificationType(
    "account/rateLimits/updated", turns.RateLimitsUpdated, False, "thread"
)
SERVER_REQUEST_RESOLVED = NotificationType(
    "serverRequest/resolved", approvals.ServerRequestResolved, True, "thread"
)
WARNING = NotificationType("warning", handshake.Warning, True, "thread")
CONFIG_WARNING = NotificationType("configWarning", handshake.ConfigWarning, True, "all")
DEPRECATION_NOTICE = NotificationType(
    "deprecationNotice", handshake.DeprecationNotice, False, "all"
)
MEMORY_PROGRESS = NotificationType(
    "memory/progress", memory.MemoryProgress, False, "all", experimental=True
)
SERVER_LAGGED = NotificationType("server/lagged", handshake.ServerLagged, True, "all")

NOTIFICATIONS: tuple[NotificationType, ...] = (
    THREAD_STARTED,
    THREAD_STATUS_CHANGED,
    THREAD_NAME_UPDATED,
    THREAD_SETTINGS_UPDATED,
    THREAD_DELETED,
    THREAD_CLOSED,
    THREAD_TOKEN_USAGE_UPDATED,
    THREAD_IMPORT_PROGRESS,
    TURN_STARTED,
    TURN_COMPLETED,
    ITEM_STARTED,
    ITEM_COMPLETED,
    AGENT_MESSAGE_DELTA,
    REASONING_SUMMARY_PART_ADDED,
    REASONING_SUMMARY_TEXT_DELTA,
    ERROR,
    RATE_LIMITS_UPDATED,
    SERVER_REQUEST_RESOLVED,
    WARNING,
    CONFIG_WARNING,
    DEPRECATION_NOTICE,
    MEMORY_PROGRESS,
    SERVER_LAGGED,
)

COMMAND_APPROVAL = ServerRequest(
    "item/commandExecution/requestApproval",
    params=approvals.CommandApprovalParams,
    answer=approvals.ApprovalAnswer,
    summary="May this command run?",
    deadline_s=None,
    default={"decision": "decline"},
)
SERVER_REQUESTS: tuple[ServerRequest, ...] = (COMMAND_APPROVAL,)


def find_method(name: str) -> Method:
    """The method of that name.

    Raises: WireError.
    """
    method = METHODS_BY_NAME.get(name)
    if method is None:
        raise errors.unknown_method(name[:200], METHOD_NAMES)
    return method


def decode_params(method: Method, params: Mapping[str, Any] | None) -> RequestParams | StrictParams:
    """Make the model of a request's parameters; missing ones are told where they are needed.

    Raises: WireError.
    """
    if params is None:
        if not method.params_optional:
            raise errors.invalid_params("missing field `params`")
        params = {}
    return decode(method.params, params)


def experimental_refusal(
    method: Method, params: Mapping[str, Any] | None
) -> errors.WireError | None:
    """The error for a client that did not ask for the experimental interface, else None."""
    if method.experimental:
        return errors.requires_experimental(method.name)
    given = params or {}
    for field in method.experimental_fields:
        # Null, absence and a plain false mean that the client does not use the field.
        if given.get(field) is not None and given[field] is not False:
            return errors.requires_experimental(f"{method.name}.{field}")
    policy = given.get("approvalPolicy")
    if isinstance(policy, dict) and "granular" in policy:
        return errors.requires_experimental("askForApproval.granular")
    return None
