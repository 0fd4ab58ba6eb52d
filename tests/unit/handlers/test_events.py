"""Events of threads as notifications."""

from typing import Any

import pytest

from protocol import methods
from server.agent import events
from server.agent.events import ThreadStatus, TurnFault
from server.agent.models.base import TokenUse
from server.handlers.events import limits_view, notification_of
from state.ids import ThreadId, TurnId
from state.rollouts.items import RecordedItem

THREAD, TURN = ThreadId("thread"), TurnId("turn")
ANSWER = RecordedItem(
    item_id="i",
    turn_id="turn",
    type="agentMessage",
    body={"text": "done", "phase": "final_answer"},
    started_at_ms=5,
    completed_at_ms=9,
)


def _told(event: events.ThreadEvent) -> tuple[str, dict[str, Any]]:
    told = notification_of(event, now_ms=7)
    assert told is not None
    notification, params = told
    assert isinstance(params, notification.params)
    return notification.name, params.to_wire()


def test_the_end_of_a_turn_repeats_the_last_answer() -> None:
    """A client that missed the rest still shows it."""
    name, params = _told(
        events.TurnCompleted(
            thread_id=THREAD,
            turn_id=TURN,
            status="completed",
            final_item=ANSWER,
            started_at_s=1,
            completed_at_s=2,
            duration_ms=3,
        )
    )
    assert name == "turn/completed"
    assert params["turn"]["itemsView"] == "summary"
    assert params["turn"]["items"][0]["text"] == "done"


def test_the_end_of_a_stopped_turn_repeats_nothing() -> None:
    """As the original."""
    _, params = _told(
        events.TurnCompleted(
            thread_id=THREAD,
            turn_id=TURN,
            status="interrupted",
            final_item=ANSWER,
            started_at_s=1,
            completed_at_s=2,
            duration_ms=3,
        )
    )
    turn = params["turn"]
    assert (turn["status"], turn["items"], turn["itemsView"]) == ("interrupted", [], "notLoaded")


def test_a_failure_is_told_with_the_words_of_the_protocol() -> None:
    """In the error and at the end of the turn alike."""
    fault = TurnFault(message="no", error_info="usageLimitExceeded")
    name, params = _told(
        events.ErrorTold(thread_id=THREAD, turn_id=TURN, error=fault, will_retry=True)
    )
    assert (name, params["willRetry"]) == ("error", True)
    assert params["error"]["codexErrorInfo"] == "usageLimitExceeded"
    _, ended = _told(
        events.TurnFailed(
            thread_id=THREAD,
            turn_id=TURN,
            error=fault,
            started_at_s=1,
            completed_at_s=2,
            duration_ms=3,
        )
    )
    assert ended["turn"]["error"] == params["error"]


def test_items_carry_their_times_and_a_missing_one_is_now() -> None:
    """The key is required."""
    begun = RecordedItem(item_id="i", turn_id="turn", type="agentMessage", body={"text": ""})
    name, params = _told(events.ItemStarted(thread_id=THREAD, turn_id=TURN, item=begun))
    assert (name, params["startedAtMs"]) == ("item/started", 7)
    name, params = _told(events.ItemCompleted(thread_id=THREAD, turn_id=TURN, item=ANSWER))
    assert (name, params["completedAtMs"], params["contentTokenCount"]) == (
        "item/completed",
        9,
        None,
    )


def test_an_item_without_a_view_is_not_told() -> None:
    """Instead of breaking a client."""
    odd = RecordedItem(item_id="i", turn_id="turn", type="hologram", body={})
    assert (
        notification_of(events.ItemStarted(thread_id=THREAD, turn_id=TURN, item=odd), now_ms=1)
        is None
    )


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (
            events.StatusChanged(thread_id=THREAD, status=ThreadStatus("idle")),
            "thread/status/changed",
        ),
        (events.Warned(thread_id=THREAD, message="m"), "warning"),
        (events.TurnStarted(thread_id=THREAD, turn_id=TURN, started_at_s=1), "turn/started"),
        (
            events.TextDelta(thread_id=THREAD, turn_id=TURN, item_id="i", delta="d"),
            "item/agentMessage/delta",
        ),
        (
            events.ReasoningPartAdded(thread_id=THREAD, turn_id=TURN, item_id="i", summary_index=0),
            "item/reasoning/summaryPartAdded",
        ),
        (
            events.ReasoningSummaryDelta(
                thread_id=THREAD, turn_id=TURN, item_id="i", summary_index=0, delta="d"
            ),
            "item/reasoning/summaryTextDelta",
        ),
        (
            events.TokenUsage(
                thread_id=THREAD,
                turn_id=TURN,
                total=TokenUse(),
                last=TokenUse(),
                context_window=None,
            ),
            "thread/tokenUsage/updated",
        ),
        (
            events.RateLimits(thread_id=THREAD, turn_id=TURN, rate_limits={}),
            "account/rateLimits/updated",
        ),
        (events.ThreadClosed(thread_id=THREAD), "thread/closed"),
    ],
)
def test_every_event_has_its_notification(event: events.ThreadEvent, name: str) -> None:
    """By name and with its own parameters."""
    assert _told(event)[0] == name


def test_limits_that_a_provider_told_oddly_count_as_not_told() -> None:
    """One malformed notification kills a client's connection."""
    limits = limits_view(
        {"primary": {"usedPercent": 12.6, "resetsAt": "soon"}, "secondary": 5, "planType": 1}
    )
    assert limits.primary is not None
    assert (limits.primary.used_percent, limits.primary.resets_at) == (13, None)
    assert limits.secondary is None and limits.plan_type is None


def test_all_notifications_that_events_make_are_in_the_list() -> None:
    """Nothing is sent that has no schema."""
    assert methods.THREAD_SETTINGS_UPDATED in methods.NOTIFICATIONS
