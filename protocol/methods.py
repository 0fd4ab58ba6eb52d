"""The one list: what a client may call and what we tell; what we ask is in `server_requests.py`.

Dispatch, schemas, clients of ours and documentation are made from it; a method without a handler
stops the start of the server. Longer than the habit: it is one list, and parts of it would be
looked for in several files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from protocol import errors
from protocol.base import EmptyParams, EmptyResult, RequestParams, StrictParams, WireModel
from protocol.decoding import decode
from protocol.messages import (
    approvals,
    catalog,
    commands,
    config,
    exchange,
    handshake,
    items,
    lifecycle,
    mcp,
    memory,
    notes,
    reviews,
    search,
    threads,
    turns,
)


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
        "memoryMode",
        "memoryUse",
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
THREAD_FORK = Method(
    "thread/fork",
    params=lifecycle.ThreadForkParams,
    result=lifecycle.ThreadForkResult,
    summary="Begin a thread that goes on from a place in another one, and listen to it.",
    experimental_fields=("beforeTurnId",),
)
THREAD_REVERT = Method(
    "thread/revert",
    params=lifecycle.ThreadRevertParams,
    result=lifecycle.ThreadRevertResult,
    summary="Let a thread's history end before a turn; files of the project stay as they are.",
)
THREAD_INJECT_ITEMS = Method(
    "thread/inject_items",
    params=lifecycle.InjectItemsParams,
    result=EmptyResult,
    summary="Add items to what the model sees of a thread.",
)
THREAD_METADATA_UPDATE = Method(
    "thread/metadata/update",
    params=lifecycle.MetadataUpdateParams,
    result=lifecycle.ThreadResult,
    summary="Change what is noted of a thread's repository.",
)
THREAD_SETTINGS_UPDATE = Method(
    "thread/settings/update",
    params=lifecycle.SettingsUpdateParams,
    result=EmptyResult,
    summary="Change the settings of a loaded thread for its next turns.",
    experimental=True,
)
THREAD_SEARCH = Method(
    "thread/search",
    params=lifecycle.ThreadSearchParams,
    result=lifecycle.ThreadSearchResult,
    summary="Find stored threads by words of their name or first message.",
    experimental=True,
)
THREAD_COMPACT_START = Method(
    "thread/compact/start",
    params=threads.ThreadIdParams,
    result=EmptyResult,
    summary="Replace what the model sees of a thread by a summary, after the running turn.",
)
REVIEW_START = Method(
    "review/start",
    params=reviews.ReviewStartParams,
    result=reviews.ReviewStartResult,
    summary="Look over changes in a turn of its own, after the running one.",
)
THREAD_ARCHIVE = Method(
    "thread/archive",
    params=threads.ThreadIdParams,
    result=EmptyResult,
    summary="Put a thread and what it spawned into the archive.",
)
THREAD_UNARCHIVE = Method(
    "thread/unarchive",
    params=threads.ThreadIdParams,
    result=lifecycle.ThreadResult,
    summary="Bring a thread and what it spawned back from the archive.",
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
THREAD_MEMORY_REPORT = Method(
    "thread/memory/report",
    params=memory.MemoryReportParams,
    result=memory.MemoryReportResult,
    summary="Whether a thread was told of memory, how much, and why not; and its switches.",
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
TURN_STEER = Method(
    "turn/steer",
    params=turns.TurnSteerParams,
    result=turns.TurnSteerResult,
    summary="Add input to a running turn, and to no other.",
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
MEMORY_SEARCH = Method(
    "memory/search",
    params=search.SearchParams,
    result=search.SearchResult,
    summary="Ranked search over published memory and the notes that wait.",
    experimental=True,
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
MEMORY_EXPORT = Method(
    "memory/export",
    params=exchange.MemoryExportParams,
    result=exchange.MemoryExportResult,
    summary="Write memory and notes into a folder of plain files, without paths of this machine.",
    experimental=True,
)
MEMORY_RESTORE = Method(
    "memory/restore",
    params=exchange.MemoryRestoreParams,
    result=exchange.MemoryRestoreResult,
    summary="Take in an exported memory: notes as notes, the rest for the next consolidation.",
    experimental=True,
)
MEMORY_REMEMBER = Method(
    "memory/remember",
    params=notes.RememberParams,
    result=notes.NoteReceipt,
    summary="Keep a note of the user, word for word; it is in force for the next thread.",
    experimental=True,
)
MEMORY_CORRECT = Method(
    "memory/correct",
    params=notes.CorrectParams,
    result=notes.NoteReceipt,
    summary="Put right what a note or a line of memory says; it stands above every use at once.",
    experimental=True,
)
MCP_SERVER_STATUS_LIST = Method(
    "mcpServerStatus/list",
    params=mcp.McpServerStatusListParams,
    result=mcp.McpServerStatusListResult,
    summary="The configured MCP servers and what they offer.",
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
SKILLS_LIST = Method(
    "skills/list",
    params=catalog.ByFolderParams,
    result=catalog.SkillsListResult,
    summary="Skills by folder; there are none.",
    params_optional=True,
)
HOOKS_LIST = Method(
    "hooks/list",
    params=catalog.ByFolderParams,
    result=catalog.HooksListResult,
    summary="Hooks by folder; there are none.",
    params_optional=True,
)
PLUGIN_INSTALLED = Method(
    "plugin/installed",
    params=catalog.PluginsParams,
    result=catalog.PluginInstalledResult,
    summary="Plugins; there are none.",
    params_optional=True,
)
PLUGIN_LIST = Method(
    "plugin/list",
    params=catalog.PluginsParams,
    result=catalog.PluginListResult,
    summary="Plugins to be had; there are none.",
    params_optional=True,
)
APP_LIST = Method(
    "app/list",
    params=catalog.PageParams,
    result=catalog.EmptyPage,
    summary="Apps; there are none.",
    params_optional=True,
)
COLLABORATION_MODE_LIST = Method(
    "collaborationMode/list",
    params=EmptyParams,
    result=catalog.CollaborationModesResult,
    summary="How agent and person can work together; there is one way.",
    experimental=True,
    params_optional=True,
)
PERMISSION_PROFILE_LIST = Method(
    "permissionProfile/list",
    params=catalog.PageParams,
    result=catalog.PermissionProfilesResult,
    summary="Named sets of permissions.",
    params_optional=True,
)
EXPERIMENTAL_FEATURE_LIST = Method(
    "experimentalFeature/list",
    params=catalog.PageParams,
    result=catalog.FeaturesResult,
    summary="Switches of the program.",
    params_optional=True,
)
THREAD_GOAL_GET = Method(
    "thread/goal/get",
    params=threads.ThreadIdParams,
    result=catalog.GoalResult,
    summary="The goal of a thread; threads have none.",
)
THREAD_GOAL_CLEAR = Method(
    "thread/goal/clear",
    params=threads.ThreadIdParams,
    result=catalog.GoalClearResult,
    summary="Forget the goal of a thread; threads have none.",
)
ACCOUNT_RATE_LIMITS_READ = Method(
    "account/rateLimits/read",
    params=EmptyParams,
    result=catalog.RateLimitsResult,
    summary="What the provider last told about its limits.",
    params_optional=True,
)
ACCOUNT_BEDROCK_CHECK = Method(
    "account/bedrock/checkGovCloudRequirements",
    params=EmptyParams,
    result=catalog.GovCloudResult,
    summary="Whether a special region is in use; none is.",
    params_optional=True,
)
CONFIG_VALUE_WRITE = Method(
    "config/value/write",
    params=config.ConfigValueWriteParams,
    result=config.ConfigWriteResult,
    summary="Change one key of the configuration file.",
)
CONFIG_BATCH_WRITE = Method(
    "config/batchWrite",
    params=config.ConfigBatchWriteParams,
    result=config.ConfigWriteResult,
    summary="Change several keys of the configuration file at once, or none.",
)
THREAD_SHELL_COMMAND = Method(
    "thread/shellCommand",
    params=commands.ShellCommandParams,
    result=EmptyResult,
    summary="Run a line of shell that the user typed, with the user's own rights.",
)
THREAD_BACKGROUND_TERMINALS_LIST = Method(
    "thread/backgroundTerminals/list",
    params=commands.BackgroundTerminalsListParams,
    result=commands.BackgroundTerminalsPage,
    summary="Commands that a thread left running.",
    experimental=True,
)
THREAD_BACKGROUND_TERMINALS_TERMINATE = Method(
    "thread/backgroundTerminals/terminate",
    params=commands.BackgroundTerminalParams,
    result=commands.BackgroundTerminalTerminated,
    summary="End one of them.",
    experimental=True,
)
THREAD_BACKGROUND_TERMINALS_CLEAN = Method(
    "thread/backgroundTerminals/clean",
    params=threads.ThreadIdParams,
    result=EmptyResult,
    summary="End all of them.",
    experimental=True,
)
COMMAND_EXEC = Method(
    "command/exec",
    params=commands.CommandExecParams,
    result=commands.CommandExecResult,
    summary="Run one command under the server's sandbox, without a thread.",
)
COMMAND_EXEC_WRITE = Method(
    "command/exec/write",
    params=commands.CommandExecWriteParams,
    result=EmptyResult,
    summary="Give such a command something to read.",
)
COMMAND_EXEC_RESIZE = Method(
    "command/exec/resize",
    params=commands.CommandExecResizeParams,
    result=EmptyResult,
    summary="Change the size of its terminal.",
)
COMMAND_EXEC_TERMINATE = Method(
    "command/exec/terminate",
    params=commands.CommandExecProcessParams,
    result=EmptyResult,
    summary="End it.",
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
    THREAD_FORK,
    THREAD_SEARCH,
    THREAD_REVERT,
    THREAD_INJECT_ITEMS,
    THREAD_METADATA_UPDATE,
    THREAD_SETTINGS_UPDATE,
    THREAD_COMPACT_START,
    REVIEW_START,
    THREAD_ARCHIVE,
    THREAD_UNARCHIVE,
    THREAD_DELETE,
    THREAD_UNSUBSCRIBE,
    THREAD_MEMORY_MODE_SET,
    THREAD_MEMORY_READ,
    THREAD_MEMORY_REPORT,
    THREAD_IMPORT,
    TURN_START,
    TURN_STEER,
    TURN_INTERRUPT,
    MEMORY_STATUS,
    MEMORY_RESET,
    MEMORY_CONSOLIDATE_START,
    MEMORY_OVERVIEW,
    MEMORY_SEARCH,
    MEMORY_PAUSE,
    MEMORY_IMPORT,
    MEMORY_EXPORT,
    MEMORY_RESTORE,
    MEMORY_REMEMBER,
    MEMORY_CORRECT,
    MODEL_LIST,
    MCP_SERVER_STATUS_LIST,
    CONFIG_READ,
    CONFIG_REQUIREMENTS_READ,
    ACCOUNT_READ,
    SKILLS_LIST,
    HOOKS_LIST,
    PLUGIN_INSTALLED,
    PLUGIN_LIST,
    APP_LIST,
    COLLABORATION_MODE_LIST,
    PERMISSION_PROFILE_LIST,
    EXPERIMENTAL_FEATURE_LIST,
    THREAD_GOAL_GET,
    THREAD_GOAL_CLEAR,
    ACCOUNT_RATE_LIMITS_READ,
    ACCOUNT_BEDROCK_CHECK,
    CONFIG_VALUE_WRITE,
    CONFIG_BATCH_WRITE,
    THREAD_SHELL_COMMAND,
    THREAD_BACKGROUND_TERMINALS_LIST,
    THREAD_BACKGROUND_TERMINALS_TERMINATE,
    THREAD_BACKGROUND_TERMINALS_CLEAN,
    COMMAND_EXEC,
    COMMAND_EXEC_WRITE,
    COMMAND_EXEC_RESIZE,
    COMMAND_EXEC_TERMINATE,
)
METHODS_BY_NAME: Mapping[str, Method] = {method.name: method for method in CLIENT_METHODS}
METHOD_NAMES: tuple[str, ...] = tuple(METHODS_BY_NAME)

INITIALIZED = "initialized"
"""What clients send after the handshake; it is accepted and not needed."""

CANCEL_REQUEST = "$/cancelRequest"
"""Takes a request back by its `id`: what has not begun does not begin, and it gets one error."""

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
THREAD_ARCHIVED = NotificationType("thread/archived", threads.ThreadIdNotice, True, "all")
THREAD_UNARCHIVED = NotificationType("thread/unarchived", threads.ThreadIdNotice, True, "all")
THREAD_REVERTED = NotificationType("thread/reverted", threads.ThreadIdNotice, True, "thread")
THREAD_DELETED = NotificationType("thread/deleted", threads.ThreadIdNotice, True, "all")
THREAD_CLOSED = NotificationType("thread/closed", threads.ThreadIdNotice, True, "all")
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
COMMAND_OUTPUT_DELTA = NotificationType(
    "item/commandExecution/outputDelta", items.CommandOutputDelta, False, "thread"
)
FILE_CHANGE_PATCH_UPDATED = NotificationType(
    "item/fileChange/patchUpdated", items.FileChangePatchUpdated, False, "thread"
)
TERMINAL_INTERACTION = NotificationType(
    "item/commandExecution/terminalInteraction", items.TerminalInteraction, True, "thread"
)
MCP_TOOL_PROGRESS = NotificationType(
    "item/mcpToolCall/progress", items.McpToolProgress, False, "thread"
)
MCP_SERVER_STATUS_UPDATED = NotificationType(
    "mcpServer/startupStatus/updated", mcp.McpServerStatusUpdated, True, "thread"
)
TURN_DIFF_UPDATED = NotificationType("turn/diff/updated", items.TurnDiffUpdated, True, "thread")
TURN_PLAN_UPDATED = NotificationType("turn/plan/updated", items.TurnPlanUpdated, True, "thread")
ERROR = NotificationType("error", turns.TurnFailure, True, "thread")
RATE_LIMITS_UPDATED = NotificationType(
    "account/rateLimits/updated", turns.RateLimitsUpdated, True, "thread"
)
SERVER_REQUEST_RESOLVED = NotificationType(
    "serverRequest/resolved", approvals.ServerRequestResolved, True, "thread"
)
WARNING = NotificationType("warning", handshake.Warning, True, "thread")
CONFIG_WARNING = NotificationType("configWarning", handshake.ConfigWarning, True, "all")
DEPRECATION_NOTICE = NotificationType("deprecationNotice", handshake.DeprecationNotice, True, "all")
MEMORY_PROGRESS = NotificationType(
    "memory/progress", memory.MemoryProgress, False, "all", experimental=True
)
COMMAND_EXEC_OUTPUT_DELTA = NotificationType(
    "command/exec/outputDelta", commands.CommandExecOutputDelta, True, "all"
)
SERVER_LAGGED = NotificationType("server/lagged", handshake.ServerLagged, True, "all")

NOTIFICATIONS: tuple[NotificationType, ...] = (
    THREAD_STARTED,
    THREAD_STATUS_CHANGED,
    THREAD_NAME_UPDATED,
    THREAD_SETTINGS_UPDATED,
    THREAD_ARCHIVED,
    THREAD_UNARCHIVED,
    THREAD_REVERTED,
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
    COMMAND_OUTPUT_DELTA,
    FILE_CHANGE_PATCH_UPDATED,
    TERMINAL_INTERACTION,
    MCP_TOOL_PROGRESS,
    MCP_SERVER_STATUS_UPDATED,
    TURN_DIFF_UPDATED,
    TURN_PLAN_UPDATED,
    ERROR,
    RATE_LIMITS_UPDATED,
    SERVER_REQUEST_RESOLVED,
    WARNING,
    CONFIG_WARNING,
    DEPRECATION_NOTICE,
    MEMORY_PROGRESS,
    COMMAND_EXEC_OUTPUT_DELTA,
    SERVER_LAGGED,
)


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
