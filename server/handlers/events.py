"""From what live threads and background work tell to notifications, in the same order."""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from memory_write.ports import Announcement
from protocol import methods
from protocol.base import WireModel
from protocol.messages.handshake import Warning
from protocol.messages.items import (
    AgentMessageDelta,
    CommandOutputDelta,
    FileChangePatchUpdated,
    ItemCompleted,
    ItemStarted,
    McpToolProgress,
    ReasoningSummaryPartAdded,
    ReasoningSummaryTextDelta,
    TerminalInteraction,
    TurnDiffUpdated,
    TurnPlanUpdated,
)
from protocol.messages.mcp import McpServerStatusUpdated
from protocol.messages.memory import MemoryProgress
from protocol.messages.threads import (
    ThreadIdNotice,
    ThreadSettingsUpdated,
    ThreadStatusChanged,
)
from protocol.messages.turns import (
    RateLimitSnapshot,
    RateLimitsUpdated,
    RateLimitWindow,
    ThreadTokenUsage,
    TokenUsageBreakdown,
    TokenUsageUpdated,
    Turn,
    TurnCompleted,
    TurnError,
    TurnFailure,
    TurnStarted,
    TurnStatus,
)
from protocol.methods import NotificationType
from server.agent import events
from server.agent.events import ThreadEvent
from server.agent.inputs import ThreadSettings
from server.agent.models.base import TokenUse
from server.handlers.settings_views import settings_view
from server.handlers.sizes import (
    DELTA_CHARACTERS_MAX,
    PAGE_BYTES_MAX,
    shortened,
    shortened_text,
)
from server.handlers.views import fault_view, item_view, item_views, running_turn, status_view
from server.wire.hub import Hub
from state.clock import Clock
from state.ids import ThreadId
from state.rollouts.items import RecordedItem

Told = tuple[NotificationType, WireModel]
SettingsOf = Callable[[ThreadId], ThreadSettings | None]


class EventFan:
    """Publishes the events of live threads and the steps of background work."""

    def __init__(self, hub: Hub, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock
        self._settings_of: SettingsOf | None = None

    def knows(self, settings_of: SettingsOf) -> None:
        """Say where a thread's settings are found; threads are made after this, and need it."""
        self._settings_of = settings_of

    def __call__(self, event: ThreadEvent) -> None:
        """Tell a thread's listeners, or everyone, of an event."""
        if isinstance(event, events.SettingsChanged):
            told = self._settings(event)
        else:
            told = notification_of(event, now_ms=self._clock.now_ms())
        if told is not None:
            notification, params = told
            self._hub.publish(notification, params, thread_id=event.thread_id)

    def _settings(self, event: events.SettingsChanged) -> Told | None:
        settings = self._settings_of(event.thread_id) if self._settings_of else None
        if settings is None:
            return None
        return methods.THREAD_SETTINGS_UPDATED, ThreadSettingsUpdated(
            thread_id=event.thread_id, thread_settings=settings_view(settings)
        )

    def announce(self, announcement: Announcement) -> None:
        """Tell whoever watches of a step of background work."""
        progress = MemoryProgress(
            what=announcement.what, version=announcement.version, data=dict(announcement.data)
        )
        self._hub.publish(methods.MEMORY_PROGRESS, progress, thread_id=None)


def notification_of(event: ThreadEvent, *, now_ms: int) -> Told | None:
    """The notification for an event; None for one that clients cannot see."""
    match event:
        case events.StatusChanged():
            return methods.THREAD_STATUS_CHANGED, ThreadStatusChanged(
                thread_id=event.thread_id, status=status_view(event.status)
            )
        case events.SettingsChanged():
            return None
        case events.Warned():
            return methods.WARNING, Warning(thread_id=event.thread_id, message=event.message)
        case events.TurnStarted():
            turn = running_turn(event.turn_id, started_at_s=event.started_at_s)
            return methods.TURN_STARTED, TurnStarted(thread_id=event.thread_id, turn=turn)
        case events.ItemStarted() | events.ItemCompleted():
            return _item(event, now_ms)
        case events.TextDelta():
            return methods.AGENT_MESSAGE_DELTA, AgentMessageDelta(
                thread_id=event.thread_id,
                turn_id=event.turn_id,
                item_id=event.item_id,
                delta=event.delta,
            )
        case events.ReasoningPartAdded() | events.ReasoningSummaryDelta():
            return _reasoning(event)
        case events.OutputDelta() | events.StdinWritten():
            return _output(event)
        case events.DiffChanged() | events.PlanChanged():
            return _work(event)
        case events.TokenUsage():
            return methods.THREAD_TOKEN_USAGE_UPDATED, usage_view(event)
        case events.RateLimits():
            limits = RateLimitsUpdated(rate_limits=limits_view(event.rate_limits))
            return methods.RATE_LIMITS_UPDATED, limits
        case events.ErrorTold():
            return methods.ERROR, TurnFailure(
                error=fault_view(event.error),
                will_retry=event.will_retry,
                thread_id=event.thread_id,
                turn_id=event.turn_id,
            )
        case events.TurnCompleted() | events.TurnFailed():
            ended = TurnCompleted(thread_id=event.thread_id, turn=_ended_turn(event))
            return methods.TURN_COMPLETED, ended
        case events.PatchUpdated():
            return methods.FILE_CHANGE_PATCH_UPDATED, FileChangePatchUpdated(
                thread_id=event.thread_id,
                turn_id=event.turn_id,
                item_id=event.item_id,
                changes=[dict(one) for one in event.changes],
            )
        case events.McpServerChanged():
            return methods.MCP_SERVER_STATUS_UPDATED, McpServerStatusUpdated(
                thread_id=event.thread_id, name=event.name, status=event.state, error=event.error
            )
        case events.ThreadClosed():
            return methods.THREAD_CLOSED, ThreadIdNotice(thread_id=event.thread_id)
        case _:
            assert_never(event)


def usage_view(event: events.TokenUsage) -> TokenUsageUpdated:
    """The model tokens of a thread."""
    return TokenUsageUpdated(
        thread_id=event.thread_id,
        turn_id=event.turn_id,
        token_usage=ThreadTokenUsage(
            total=breakdown(event.total),
            last=breakdown(event.last),
            model_context_window=event.context_window,
        ),
    )


def breakdown(use: TokenUse) -> TokenUsageBreakdown:
    """Model tokens as clients see them."""
    return TokenUsageBreakdown(
        total_tokens=use.total_tokens,
        input_tokens=use.input_tokens,
        cached_input_tokens=use.cached_input_tokens,
        cache_write_input_tokens=use.cache_write_input_tokens,
        output_tokens=use.output_tokens,
        reasoning_output_tokens=use.reasoning_output_tokens,
    )


def _item(event: events.ItemStarted | events.ItemCompleted, now_ms: int) -> Told | None:
    item = item_view(event.item)
    if item is None:
        return None
    match event:
        case events.ItemStarted():
            return methods.ITEM_STARTED, ItemStarted(
                item=item,
                thread_id=event.thread_id,
                turn_id=event.turn_id,
                started_at_ms=event.item.started_at_ms or now_ms,
            )
        case events.ItemCompleted():
            return methods.ITEM_COMPLETED, ItemCompleted(
                item=item,
                thread_id=event.thread_id,
                turn_id=event.turn_id,
                completed_at_ms=event.item.completed_at_ms or now_ms,
            )


def _reasoning(event: events.ReasoningPartAdded | events.ReasoningSummaryDelta) -> Told:
    match event:
        case events.ReasoningPartAdded():
            return methods.REASONING_SUMMARY_PART_ADDED, ReasoningSummaryPartAdded(
                thread_id=event.thread_id,
                turn_id=event.turn_id,
                item_id=event.item_id,
                summary_index=event.summary_index,
            )
        case events.ReasoningSummaryDelta():
            return methods.REASONING_SUMMARY_TEXT_DELTA, ReasoningSummaryTextDelta(
                thread_id=event.thread_id,
                turn_id=event.turn_id,
                item_id=event.item_id,
                delta=event.delta,
                summary_index=event.summary_index,
            )


def _output(event: events.OutputDelta | events.StdinWritten) -> Told:
    of_item: dict[str, Any] = {
        "thread_id": event.thread_id,
        "turn_id": event.turn_id,
        "item_id": event.item_id,
    }
    if isinstance(event, events.StdinWritten):
        stdin = shortened_text(event.stdin, characters_max=DELTA_CHARACTERS_MAX)
        return methods.TERMINAL_INTERACTION, TerminalInteraction(
            **of_item, process_id=event.process_id, stdin=stdin
        )
    delta = shortened_text(event.delta, characters_max=DELTA_CHARACTERS_MAX)
    if event.item_type == "mcpToolCall":
        return methods.MCP_TOOL_PROGRESS, McpToolProgress(**of_item, message=delta)
    return methods.COMMAND_OUTPUT_DELTA, CommandOutputDelta(**of_item, delta=delta)


def _work(event: events.DiffChanged | events.PlanChanged) -> Told:
    """What the turn has done, and what it means to do."""
    of_turn: dict[str, Any] = {"thread_id": event.thread_id, "turn_id": event.turn_id}
    if isinstance(event, events.DiffChanged):
        diff = shortened({"diff": event.diff})["diff"]
        return methods.TURN_DIFF_UPDATED, TurnDiffUpdated(**of_turn, diff=diff)
    steps = [{"step": step, "status": status} for step, status in event.steps]
    plan = shortened({"plan": steps, "explanation": event.explanation})
    return methods.TURN_PLAN_UPDATED, TurnPlanUpdated.model_validate({**of_turn, **plan})


def _ended_turn(event: events.TurnCompleted | events.TurnFailed) -> Turn:
    """The turn with its last answer, so that a client that missed the rest still shows it."""
    error: TurnError | None = None
    final: RecordedItem | None = None
    status: TurnStatus = "failed"
    match event:
        case events.TurnFailed():
            error = fault_view(event.error)
        case events.TurnCompleted():
            status = event.status
            # Of a turn that was stopped the original repeats nothing.
            final = event.final_item if status == "completed" else None
    items = item_views([final] if final is not None else [])
    if items and len(items[0].to_json()) > PAGE_BYTES_MAX:
        items = []
    return Turn(
        id=event.turn_id,
        root_turn_id=event.turn_id,
        items=items,
        items_view="summary" if items else "notLoaded",
        status=status,
        error=error,
        started_at=event.started_at_s,
        completed_at=event.completed_at_s,
        duration_ms=event.duration_ms,
    )


def limits_view(given: Mapping[str, Any]) -> RateLimitSnapshot:
    """What the provider says about its limits; what does not fit counts as not said."""
    return RateLimitSnapshot(
        limit_id=_text(given.get("limitId")) or "codex",
        limit_name=_text(given.get("limitName")),
        primary=_window(given.get("primary")),
        secondary=_window(given.get("secondary")),
        plan_type=_text(given.get("planType")),
    )


def _window(window: object) -> RateLimitWindow | None:
    match window:
        case {"usedPercent": int(used) | float(used), **rest}:
            minutes, resets_at = rest.get("windowDurationMins"), rest.get("resetsAt")
            return RateLimitWindow(
                used_percent=round(used),
                window_duration_mins=minutes if isinstance(minutes, int) else None,
                resets_at=resets_at if isinstance(resets_at, int) else None,
            )
        case _:
            return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
