"""Compaction: by order, when the window is full, when it overflowed, and when it goes wrong."""

import asyncio
import json
from typing import Any

import pytest

from memory_write.phase1.transcript import hear
from server.agent.errors import ProviderFailed
from server.agent.events import ItemCompleted, ItemStarted, TokenUsage, TurnCompleted, TurnFailed
from server.agent.inputs import Admitted, Refused
from server.agent.live_thread import LiveThread
from server.agent.models.base import ModelRequest, TokenUse
from tests.support.scripted_model import Bench, done, message, said

FULL = TokenUse(input_tokens=95_000, output_tokens=20, total_tokens=95_020)
OVERFLOW = ProviderFailed("contextWindowExceeded", "too long")


def _texts(request: ModelRequest, role: str) -> list[str]:
    return [
        part["text"]
        for item in request.input
        if item.get("role") == role
        for part in item["content"]
        if "text" in part
    ]


def _typed(request: ModelRequest) -> list[str]:
    return [text for text in _texts(request, "user") if not text.startswith("<")]


async def _compacted(bench: Bench, thread: LiveThread) -> TurnCompleted | TurnFailed:
    admitted = thread.ordered("compact")
    assert isinstance(admitted, Admitted)
    admitted.begin()
    return await bench.until_ended(admitted.turn_id)


def _summary_line(bench: Bench, thread: LiveThread) -> dict[str, Any]:
    lines = [json.loads(line) for line in bench.recorded(thread).splitlines()]
    (found,) = [line["payload"] for line in lines if line["type"] == "compacted"]
    return dict(found)


async def test_a_summary_takes_the_place_of_the_history(bench: Bench) -> None:
    """The model sees the context anew, what was typed, and the summary; turns stay to be read."""
    thread = await bench.thread()
    await bench.say(thread, "we use tabs here")
    bench.provider.script([*message("NOTES: tabs"), done()])
    ended = await _compacted(bench, thread)
    assert isinstance(ended, TurnCompleted) and ended.final_item is None
    order = bench.provider.requests[-1]
    assert order.purpose == "compaction" and order.tools == ()
    await bench.say(thread, "and now")
    last = bench.provider.requests[-1]
    assert _typed(last) == ["we use tabs here", "and now"]
    assert _texts(last, "assistant") == []
    summaries = [text for text in _texts(last, "user") if "NOTES: tabs" in text]
    assert len(summaries) == 1 and summaries[0].startswith("<conversation_summary>")
    assert sum("<environment_context>" in text for text in _texts(last, "user")) == 1
    assert len(thread.history()) == 3
    assert _summary_line(bench, thread)["message"] == "NOTES: tabs"


async def test_clients_see_the_item_and_what_the_window_then_holds(bench: Bench) -> None:
    """Item begun, use of the call, the new use, item done; the sum of the thread only grows."""
    thread = await bench.thread()
    await bench.say(thread, "hello")
    before = thread.token_total
    seen = len(bench.events)
    await _compacted(bench, thread)
    events = bench.events[seen:]
    kinds = [
        type(one).__name__
        for one in events
        if isinstance(one, ItemStarted | ItemCompleted | TokenUsage)
    ]
    assert kinds == ["ItemStarted", "TokenUsage", "TokenUsage", "ItemCompleted"]
    usage = [one for one in events if isinstance(one, TokenUsage)]
    assert usage[1].last.input_tokens == 0 < usage[1].last.total_tokens
    assert usage[1].total == thread.token_total
    assert thread.token_total.total_tokens > before.total_tokens


async def test_a_resume_goes_on_with_the_summary(bench: Bench) -> None:
    """From the file alone, in another process."""
    thread = await bench.thread()
    await bench.say(thread, "we use tabs here")
    bench.provider.script([*message("NOTES: tabs"), done()])
    await _compacted(bench, thread)
    await bench.live.close(0)
    bench.live = bench.rebuild()
    again = await bench.live.resume(thread.id)
    await bench.say(again, "and now")
    last = bench.provider.requests[-1]
    assert _typed(last) == ["we use tabs here", "and now"]
    assert any("NOTES: tabs" in text for text in _texts(last, "user"))
    assert _texts(last, "assistant") == []
    assert [turn.status for turn in again.history()] == ["completed"] * 3


async def test_a_full_window_is_compacted_before_the_next_call_and_only_once(
    bench: Bench,
) -> None:
    """Inside the turn that needed the room, though the summary's own use was as high."""
    thread = await bench.thread()
    bench.provider.script([*message("first"), done(FULL)], [*message("NOTES"), done(FULL)])
    await bench.say(thread, "one")
    await bench.say(thread, "two")
    purposes = [one.purpose for one in bench.provider.requests]
    assert purposes == ["turn", "compaction", "turn"]
    assert _typed(bench.provider.requests[-1]) == ["one", "two"]
    assert len(bench.completed("contextCompaction")) == 1
    await bench.say(thread, "three")
    assert [one.purpose for one in bench.provider.requests[3:]] == ["turn"]


async def test_an_overflow_is_answered_by_one_compaction_and_one_more_call(bench: Bench) -> None:
    """A second overflow fails the turn, and the history can still be used."""
    thread = await bench.thread()
    await bench.say(thread, "one")
    bench.provider.script([OVERFLOW], [*message("NOTES"), done()], [*message("fits"), done()])
    assert isinstance(await bench.say(thread, "two"), TurnCompleted)
    assert [one.purpose for one in bench.provider.requests] == [
        "turn",
        "turn",
        "compaction",
        "turn",
    ]
    bench.provider.script([OVERFLOW], [*message("NOTES"), done()], [OVERFLOW])
    failed = await bench.say(thread, "three")
    assert isinstance(failed, TurnFailed)
    assert failed.error.error_info == "contextWindowExceeded"
    assert isinstance(await bench.say(thread, "four"), TurnCompleted)


async def test_a_summary_that_is_itself_too_long_leaves_the_oldest_out(bench: Bench) -> None:
    """Until it fits, a bounded number of times."""
    thread = await bench.thread()
    for number in range(6):
        await bench.say(thread, f"words {number}")
    bench.provider.script([OVERFLOW], [OVERFLOW], [*message("NOTES"), done()])
    assert isinstance(await _compacted(bench, thread), TurnCompleted)
    sizes = [len(one.input) for one in bench.provider.requests[-3:]]
    assert sizes[0] > sizes[1] > sizes[2]
    assert "words 5" in _texts(bench.provider.requests[-1], "user")


@pytest.mark.parametrize("said_nothing", [True, False])
async def test_a_failed_summary_leaves_the_history_as_it_was(
    bench: Bench, said_nothing: bool
) -> None:
    """Also a model that says nothing; the item is never told as done."""
    thread = await bench.thread()
    await bench.say(thread, "one")
    before = bench.provider.requests[-1].input
    step: Any = done() if said_nothing else ProviderFailed("badRequest", "no")
    bench.provider.script([step])
    assert isinstance(await _compacted(bench, thread), TurnFailed)
    assert bench.completed("contextCompaction") == []
    await bench.say(thread, "two")
    assert bench.provider.requests[-1].input[: len(before)] == before
    assert _typed(bench.provider.requests[-1]) == ["one", "two"]
    assert '"compacted"' not in bench.recorded(thread)


async def test_a_compaction_can_be_stopped_and_takes_no_input(bench: Bench) -> None:
    """Input begins a turn of its own behind it; steering it is refused."""
    thread = await bench.thread()
    await bench.say(thread, "one")
    gate = asyncio.Event()
    bench.provider.script([gate, *message("NOTES"), done()])
    bench.provider.asked.clear()
    admitted = thread.ordered("compact")
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.provider.asked.wait()
    steered = thread.steer(said("more"), expected_turn_id=admitted.turn_id)
    assert isinstance(steered, Refused) and steered.reason == "not steerable"
    refused = await thread.admit(said("more"), require_idle=True)
    assert isinstance(refused, Refused) and refused.reason == "busy"
    behind = await thread.admit(said("behind"))
    assert isinstance(behind, Admitted) and behind.started
    behind.begin()
    assert thread.interrupt(admitted.turn_id).accepted
    stopped = await bench.until_ended(admitted.turn_id)
    assert isinstance(stopped, TurnCompleted) and stopped.status == "interrupted"
    assert isinstance(await bench.until_ended(behind.turn_id), TurnCompleted)
    assert _typed(bench.provider.requests[-1]) == ["one", "behind"]
    assert "ok" in _texts(bench.provider.requests[-1], "assistant")[0]


async def test_what_was_typed_is_heard_once_from_a_compacted_session(bench: Bench) -> None:
    """Neither the summary nor the kept words in it are evidence."""
    thread = await bench.thread()
    await bench.say(thread, "we use tabs here")
    bench.provider.script([*message("NOTES: tabs"), done()])
    await _compacted(bench, thread)
    await bench.say(thread, "and now")
    path = bench.state.home.root / thread.draft.rollout_path
    heard = await asyncio.to_thread(
        hear, path, thread_id=thread.id, cwd="/tmp/project", git_branch=None
    )
    typed = [item.text for item in heard.items if item.kind == "user"]
    assert typed == ["we use tabs here", "and now"]
    assert "NOTES" not in " ".join(item.text for item in heard.items)


async def test_a_compaction_waits_for_the_turn_that_runs(bench: Bench) -> None:
    """And input meanwhile joins that turn."""
    thread = await bench.thread()
    gate = asyncio.Event()
    bench.provider.script([gate, *message("late"), done()])
    admitted = await thread.admit(said("one"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.provider.asked.wait()
    order = thread.ordered("compact")
    assert isinstance(order, Admitted)
    order.begin()
    joined = await thread.admit(said("more"))
    assert isinstance(joined, Admitted) and joined.turn_id == admitted.turn_id
    gate.set()
    await bench.until_ended(order.turn_id)
    assert bench.provider.requests[-1].purpose == "compaction"
    assert _typed(bench.provider.requests[-1])[:2] == ["one", "more"]
