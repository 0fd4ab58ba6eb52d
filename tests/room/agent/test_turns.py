"""Turns of live threads on real files and a real database, with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.agent.conversation import IDLE, SYSTEM_ERROR
from server.agent.errors import ProviderFailed
from server.agent.events import (
    ErrorTold,
    ItemCompleted,
    ItemStarted,
    StatusChanged,
    TextDelta,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from server.agent.inputs import Admitted, Refused, SettingsChange
from server.agent.limits import AgentLimits
from server.agent.models.base import OutputItem, ReasoningDelta, ReasoningStarted
from tests.support.scripted_model import Bench, call, done, live_bench, message, said


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with live_bench(tmp_path / "home") as made:
        yield made


async def test_a_turn_tells_its_events_in_the_order_of_the_protocol(bench: Bench) -> None:
    thread = await bench.thread()
    await bench.say(thread, "hello")
    assert bench.kinds() == [
        "StatusChanged",
        "TurnStarted",
        "ItemStarted",
        "ItemCompleted",
        "ItemStarted",
        "TextDelta",
        "TextDelta",
        "ItemCompleted",
        "TokenUsage",
        "RateLimits",
        "StatusChanged",
        "TurnCompleted",
    ]
    statuses = [one.status.type for one in bench.events if isinstance(one, StatusChanged)]
    assert statuses == ["active", "idle"]
    assert bench.nudged == [thread.id]


async def test_nothing_is_told_or_asked_before_begin(bench: Bench) -> None:
    thread = await bench.thread()
    admitted = await thread.admit(said("hello"))
    assert isinstance(admitted, Admitted)
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.events == [] and bench.provider.requests == []
    assert thread.status.type == "active"
    admitted.begin()
    await bench.until_ended(admitted.turn_id)


@pytest.mark.requirement("T9")
async def test_of_two_simultaneous_starts_one_begins_and_the_other_joins(bench: Bench) -> None:
    thread = await bench.thread(ephemeral=True)
    for round_ in range(500):
        gate = asyncio.Event()
        bench.provider.script([gate, *message("late"), done()])
        first, second = await asyncio.gather(
            thread.admit(said(f"a{round_}")), thread.admit(said(f"b{round_}"))
        )
        assert isinstance(first, Admitted) and isinstance(second, Admitted)
        assert [first.started, second.started] == [True, False]
        assert first.turn_id == second.turn_id
        first.begin()
        second.begin()
        gate.set()
        ended = await bench.until_ended(first.turn_id)
        assert isinstance(ended, TurnCompleted)
        sent = json.dumps(bench.provider.requests[-1].input)
        assert f"a{round_}" in sent and f"b{round_}" in sent
        bench.events.clear()


@pytest.mark.requirement("T9")
async def test_a_start_that_wants_an_idle_thread_is_refused_without_effect(bench: Bench) -> None:
    thread = await bench.thread()
    gate = asyncio.Event()
    bench.provider.script([gate, *message("one"), done()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.provider.asked.wait()
    told = len(bench.events)
    refused = await thread.admit(said("second"), require_idle=True)
    assert refused == Refused(reason="busy", active_turn_id=admitted.turn_id)
    assert len(bench.events) == told
    gate.set()
    await bench.until_ended(admitted.turn_id)
    assert len(bench.provider.requests) == 1
    assert "second" not in json.dumps(bench.provider.requests[0].input)
    assert "second" not in _rollout(bench, thread.draft.rollout_path)


async def test_what_the_user_adds_cuts_the_answer_and_is_in_the_next_request(bench: Bench) -> None:
    thread = await bench.thread()
    gate = asyncio.Event()
    start, first, *rest = message("one two three four")
    bench.provider.script([start, first, gate, *rest, done()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.until_delta()
    joined = await thread.admit(said("be brief"))
    assert isinstance(joined, Admitted) and joined.turn_id == admitted.turn_id
    gate.set()
    await bench.until_ended(admitted.turn_id)
    sent = json.dumps(bench.provider.requests[1].input)
    assert "be brief" in sent and "one two th" in sent
    assert _started_turns(bench) == _ended_turns(bench) == 1


async def test_deltas_add_up_to_the_completed_text_and_hide_citations(bench: Bench) -> None:
    thread = await bench.thread()
    block = (
        "<oai-mem-citation><citation_entries>MEMORY.md:1-2|note=[x]</citation_entries>"
        "<rollout_ids>01a22885-a458-7772-84ef-b9c21f9b3d17</rollout_ids></oai-mem-citation>"
    )
    bench.provider.script([*message(f"Use tabs.{block} Bye.", deltas=20), done()])
    await bench.say(thread, "hello")
    item = _completed(bench, "agentMessage")[-1]
    deltas = "".join(one.delta for one in bench.events if isinstance(one, TextDelta))
    assert item.item.body["text"] == deltas == "Use tabs. Bye."
    citation = item.item.body["memoryCitation"]
    assert citation["threadIds"] == ["01a22885-a458-7772-84ef-b9c21f9b3d17"]
    await bench.say(thread, "again")
    assert block in json.dumps(bench.provider.requests[-1].input)


async def test_an_item_is_recorded_before_it_is_told(tmp_path: Path) -> None:
    async with live_bench(tmp_path / "home") as bench:
        thread = await bench.thread()
        missing = []

        def check(event: object) -> None:
            if isinstance(event, ItemCompleted):
                recorded = _rollout(bench, thread.draft.rollout_path)
                if event.item.item_id not in recorded:
                    missing.append(event.item)

        bench.watch = check
        await bench.say(thread, "hello")
        assert missing == [] and _completed(bench, "agentMessage")


async def test_an_interrupt_ends_the_turn_and_is_recorded(bench: Bench) -> None:
    thread = await bench.thread()
    start, first, *rest = message("one two three four")
    bench.provider.script([start, first, asyncio.Event(), *rest, done()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.until_delta()
    assert thread.interrupt("other").reason == "other turn"
    assert thread.interrupt(admitted.turn_id).accepted
    assert not thread.interrupt(admitted.turn_id).accepted
    ended = await bench.until_ended(admitted.turn_id)
    assert isinstance(ended, TurnCompleted) and ended.status == "interrupted"
    assert '"turn_aborted"' in _rollout(bench, thread.draft.rollout_path)
    assert thread.interrupt(admitted.turn_id).reason == "no active turn"
    # The thread goes on as if nothing had happened.
    assert isinstance(await bench.say(thread, "next"), TurnCompleted)


async def test_an_interrupt_stops_a_turn_whose_model_says_nothing_yet(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script([asyncio.Event()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.provider.asked.wait()
    thread.interrupt(admitted.turn_id)
    ended = await bench.until_ended(admitted.turn_id)
    assert isinstance(ended, TurnCompleted) and ended.status == "interrupted"


async def test_a_failure_is_told_in_order_and_ends_the_turn_once(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script([ProviderFailed("other", "broken")])
    ended = await bench.say(thread, "hello")
    assert isinstance(ended, TurnFailed) and ended.error.message == "broken"
    assert bench.kinds()[-3:] == ["StatusChanged", "ErrorTold", "TurnFailed"]
    assert thread.status == SYSTEM_ERROR
    assert isinstance(await bench.say(thread, "again"), TurnCompleted)
    assert thread.status == IDLE


async def test_a_passing_failure_is_tried_again_and_told(bench: Bench) -> None:
    thread = await bench.thread()
    down = ProviderFailed("serverOverloaded", "busy", retryable=True, http_status=503)
    bench.provider.script([down], [down])
    assert isinstance(await bench.say(thread, "hello"), TurnCompleted)
    told = [one for one in bench.events if isinstance(one, ErrorTold)]
    assert [one.will_retry for one in told] == [True, True]


async def test_a_stream_cut_after_output_is_not_tried_again(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script(message("half")[:2])
    ended = await bench.say(thread, "hello")
    assert isinstance(ended, TurnFailed)
    assert len(bench.provider.requests) == 1
    # What clients saw of the answer is a completed item of its own.
    assert _completed(bench, "agentMessage")[0].item.body["text"] == "ha"


async def test_a_mistake_of_ours_ends_the_turn_with_an_incident(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script([RuntimeError("secret detail")])
    ended = await bench.say(thread, "hello")
    assert isinstance(ended, TurnFailed)
    assert "incident" in ended.error.message and "secret" not in ended.error.message


async def test_the_memory_tools_are_offered_and_run(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script(
        [call("list", "{}", namespace="memories"), done()], [*message("empty"), done()]
    )
    await bench.say(thread, "what do you know")
    [namespace] = bench.provider.requests[0].tools
    assert namespace["name"] == "memories"
    names = [tool["name"] for tool in namespace["tools"]]
    assert names == ["add_ad_hoc_note", "list", "read", "search"]
    outputs = [
        item for item in bench.provider.requests[1].input if item["type"] == "function_call_output"
    ]
    assert len(outputs) == 1 and outputs[0]["call_id"] == "call_1"
    kinds = {one.item.type for one in bench.events if isinstance(one, ItemStarted)}
    assert kinds == {"userMessage", "agentMessage"}


async def test_an_unknown_tool_is_answered_in_words(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script([call("rm", "{}"), done()], [*message("sorry"), done()])
    assert isinstance(await bench.say(thread, "delete it"), TurnCompleted)
    assert "unsupported call: rm" in json.dumps(bench.provider.requests[1].input)


async def test_a_turn_that_never_stops_calling_tools_is_capped(tmp_path: Path) -> None:
    limits = AgentLimits(rounds_per_turn_max=3)
    async with live_bench(tmp_path / "home", limits=limits) as bench:
        thread = await bench.thread()
        for _ in range(9):
            bench.provider.script([call("list", "{}"), done()])
        ended = await bench.say(thread, "loop")
        assert isinstance(ended, TurnFailed)
        assert len(bench.provider.requests) == 3


async def test_a_stored_thread_goes_on_with_what_was_recorded(tmp_path: Path) -> None:
    async with live_bench(tmp_path / "home") as bench:
        memories = bench.state.home.memories("v1")
        memories.mkdir(mode=0o700)
        summary = memories / "memory_summary.md"
        summary.write_text("## User\n- likes tabs\n")
        thread = await bench.thread()
        await bench.say(thread, "remembered question")
        first = bench.provider.requests[-1]
        assert "likes tabs" in json.dumps(first.input[0])
        summary.write_text("## User\n- likes spaces\n")
        await bench.live.close(0)
        again = bench.rebuild()
        bench.live = again
        resumed = await again.resume(thread.id)
        assert await again.resume(thread.id) is resumed
        assert [turn.status for turn in resumed.history()] == ["completed"]
        await bench.say(resumed, "next question")
        sent = json.dumps(bench.provider.requests[-1].input)
        assert "likes tabs" in sent and "likes spaces" not in sent
        assert "remembered question" in sent
        assert list(bench.provider.requests[-1].input[: len(first.input)]) == list(first.input)
        assert resumed.token_total.total_tokens == 240


async def test_a_new_thread_leaves_nothing_behind_before_its_first_turn(bench: Bench) -> None:
    thread = await bench.thread()
    assert thread.row is None
    assert not (bench.state.home.root / thread.draft.rollout_path).exists()
    await bench.say(thread, "hello world")
    assert thread.row is not None and thread.row.preview == "hello world"
    async with bench.state.database.reading() as read:
        row = await bench.state.threads.get(read, thread.id)
    assert row == thread.row


async def test_an_ephemeral_thread_leaves_nothing_at_all(bench: Bench) -> None:
    thread = await bench.thread(ephemeral=True)
    await bench.say(thread, "hello")
    assert thread.row is None and list(bench.state.home.sessions.rglob("*.jsonl")) == []
    assert bench.nudged == []


async def test_a_turn_that_cannot_be_recorded_fails_and_the_next_one_starts_afresh(
    bench: Bench,
) -> None:
    sessions = bench.state.home.sessions
    sessions.rmdir()
    sessions.write_text("in the way")
    thread = await bench.thread()
    ended = await bench.say(thread, "lost")
    assert isinstance(ended, TurnFailed) and "could not be recorded" in ended.error.message
    assert bench.provider.requests == [] and thread.row is None
    sessions.unlink()
    assert isinstance(await bench.say(thread, "kept"), TurnCompleted)
    recorded = _rollout(bench, thread.draft.rollout_path)
    assert "<environment_context>" in recorded and "kept" in recorded and "lost" not in recorded


async def test_reasoning_is_told_part_by_part_and_kept(bench: Bench) -> None:
    thread = await bench.thread()
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "first"}, {"text": "second"}],
        "encrypted_content": "x",
    }
    bench.provider.script(
        [
            ReasoningStarted(item_id="rs_1"),
            ReasoningDelta(item_id="rs_1", summary_index=0, text="first"),
            ReasoningDelta(item_id="rs_1", summary_index=1, text="second"),
            OutputItem(item=item),
            *message("answer"),
            done(),
        ]
    )
    await bench.say(thread, "think")
    assert bench.kinds()[4:10] == [
        "ItemStarted",
        "ReasoningPartAdded",
        "ReasoningSummaryDelta",
        "ReasoningPartAdded",
        "ReasoningSummaryDelta",
        "ItemCompleted",
    ]
    [told] = _completed(bench, "reasoning")
    assert told.item.body["summary"] == ["first", "second"]
    await bench.say(thread, "more")
    sent = [one for one in bench.provider.requests[-1].input if one["type"] == "reasoning"]
    assert sent and sent[0]["encrypted_content"] == "x" and "id" not in sent[0]


async def test_other_settings_come_with_a_turn_and_stay(bench: Bench) -> None:
    thread = await bench.thread()
    change = SettingsChange(model="other", effort="high", cwd="/elsewhere")
    admitted = await thread.admit(said("hello", change=change))
    assert isinstance(admitted, Admitted)
    assert thread.settings.model == "scripted-model"
    admitted.begin()
    await bench.until_ended(admitted.turn_id)
    await bench.say(thread, "again")
    assert [(one.model, one.effort) for one in bench.provider.requests] == [("other", "high")] * 2
    assert "/elsewhere" in json.dumps(bench.provider.requests[0].input)
    await bench.live.unload(thread.id)
    resumed = await bench.live.resume(thread.id)
    assert (resumed.settings.model, resumed.settings.effort) == ("other", "high")
    assert resumed.settings.cwd == "/elsewhere"


async def test_closing_stops_what_runs_and_still_tells_its_end(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script([asyncio.Event()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.provider.asked.wait()
    await bench.live.close(0)
    assert isinstance(bench.events[-1], TurnCompleted)
    assert bench.events[-1].status == "interrupted"
    assert await thread.admit(said("late")) == Refused(reason="closing")


def _rollout(bench: Bench, path: str) -> str:
    return (bench.state.home.root / path).read_text()


def _completed(bench: Bench, type_: str) -> list[ItemCompleted]:
    return [
        one for one in bench.events if isinstance(one, ItemCompleted) and one.item.type == type_
    ]


def _started_turns(bench: Bench) -> int:
    return sum(isinstance(one, TurnStarted) for one in bench.events)


def _ended_turns(bench: Bench) -> int:
    return sum(isinstance(one, TurnCompleted | TurnFailed) for one in bench.events)
