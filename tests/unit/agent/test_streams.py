"""Server-sent events and what is made of them, without a network."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.agent.errors import ProviderFailed
from server.agent.models.base import Completed, MessageDelta, ModelEvent
from server.agent.models.flat_tools import flat_definitions, flat_item, meant_item
from server.agent.models.quota import duration_s, from_headers, remaining_percent
from server.agent.models.response_events import asked_wait_s, model_events, status_failed, token_use
from server.agent.models.sse import EventTooLong, SseReader

EVENTS: list[dict[str, Any]] = [
    {"type": "a", "text": "x\ny"},
    {"type": "b"},
    {"type": "c", "n": [1, 2]},
]


def wire(end: str) -> bytes:
    lines = [f"event: {one['type']}{end}data: {json.dumps(one)}{end}{end}" for one in EVENTS]
    return f": hello{end}{end}{''.join(lines)}data: [DONE]{end}{end}".encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(cuts=st.lists(st.integers(0, 200), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(end: str, cuts: list[int]) -> None:
    data = wire(end)
    reader, got = SseReader(event_bytes_max=10_000), []
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, stop in pairwise(places):
        got += reader.feed(data[start:stop])
    assert got + reader.finish() == EVENTS


def test_a_last_event_without_its_empty_line_still_counts() -> None:
    reader = SseReader(event_bytes_max=100)
    assert reader.feed(b'data: {"a":\ndata: 1}\n') == []
    assert reader.finish() == [{"a": 1}]


def test_an_event_without_end_is_refused_at_its_bound() -> None:
    reader = SseReader(event_bytes_max=100)
    reader.feed(b"data: " + b"x" * 90)
    with pytest.raises(EventTooLong):
        reader.feed(b"x" * 20)


def events(*raw: dict[str, Any], delta_bytes_max: int = 8) -> list[ModelEvent]:
    return list(model_events(raw, tools=(), rate_limits=None, delta_bytes_max=delta_bytes_max))


def delta(text: str, item_id: str = "m") -> dict[str, Any]:
    return {"type": "response.output_text.delta", "item_id": item_id, "delta": text}


def test_deltas_are_joined_within_one_message_and_up_to_the_bound() -> None:
    got = events(delta("abc"), delta("def"), delta("ghi"), delta("j", "n"), {"type": "new.thing"})
    assert got == [
        MessageDelta(item_id="m", text="abcdef"),
        MessageDelta(item_id="m", text="ghi"),
        MessageDelta(item_id="n", text="j"),
    ]


def test_what_is_unknown_or_odd_is_passed_over() -> None:
    assert events({"type": "response.future", "x": 1}, {"no": "type"}) == []
    assert events({"type": "response.output_item.done", "item": "no object"}) == []


def test_counts_that_are_missing_or_odd_are_zero() -> None:
    use = token_use({"input_tokens": 10, "output_tokens": "many", "output_tokens_details": None})
    assert (use.input_tokens, use.output_tokens, use.total_tokens) == (10, 0, 10)
    assert token_use(None).total_tokens == 0
    [done] = events({"type": "response.completed", "response": {}})
    assert isinstance(done, Completed)


def test_a_failure_in_the_stream_is_raised_with_its_wait() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Please try again in 250ms."}
    with pytest.raises(ProviderFailed) as caught:
        events({"type": "response.failed", "response": {"error": error}})
    assert caught.value.retryable and caught.value.retry_after_s == 0.25


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("try again in 1.5s", 1.5), ("Try again in 20ms now", 0.02), ("try later", None)],
)
def test_a_wait_is_read_out_of_a_sentence(text: str, seconds: float | None) -> None:
    assert asked_wait_s(text) == seconds


def test_a_long_body_is_cut() -> None:
    failed = status_failed(418, "x" * 10_000, {}, retry_after_s=None, rate_limits=None)
    assert len(failed.message) < 2_100


TOOLS: list[dict[str, Any]] = [
    {"type": "namespace", "name": "memories", "tools": [{"type": "function", "name": "read"}]},
    {"type": "function", "name": "plain"},
]


def test_a_namespace_and_its_flat_form_mean_each_other() -> None:
    assert [tool["name"] for tool in flat_definitions(TOOLS)] == ["memories__read", "plain"]
    call = {"type": "function_call", "name": "read", "namespace": "memories", "call_id": "c"}
    assert meant_item(flat_item(call), TOOLS) == call
    other = {"type": "function_call", "name": "plain", "call_id": "c"}
    assert flat_item(other) == other and meant_item(other, TOOLS) == other


def test_limits_of_a_minute_are_shown_as_windows() -> None:
    told = from_headers(
        {
            "x-ratelimit-limit-requests": "100",
            "x-ratelimit-remaining-requests": "25",
            "x-ratelimit-reset-requests": "1m30s",
            "x-ratelimit-limit-tokens": "nan",
        },
        now_ms=1_000_000,
    )
    assert told is not None
    assert told["primary"] == {"usedPercent": 75, "windowDurationMins": 1, "resetsAt": 1_090}
    assert told["secondary"] is None
    assert remaining_percent(told, now_s=1_000) == 25
    assert remaining_percent(told, now_s=1_090) is None
    assert from_headers({}, now_ms=0) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360),
        ("1.5s", 1.5),
        ("20ms", 0.02),
        ("7", 7),
        ("1h2m", 3_720),
        ("soon", None),
        ("", None),
        ("5x", None),
    ],
)
def test_spans_of_time_are_read(text: str, seconds: float | None) -> None:
    assert duration_s(text) == pytest.approx(seconds) if seconds else duration_s(text) is None
