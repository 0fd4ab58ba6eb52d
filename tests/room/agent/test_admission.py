"""Who may start, join and stop a turn, with a scripted model."""

import asyncio
import json

import pytest

from server.agent.events import (
    ItemCompleted,
    TurnCompleted,
)
from server.agent.inputs import Admitted, Refused, SettingsChange
from tests.support.scripted_model import Bench, done, message, said


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


@pytest.mark.requirement("FR-T9")
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


@pytest.mark.requirement("FR-T9")
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
    assert "second" not in bench.recorded(thread)


async def test_what_the_user_adds_cuts_the_answer_and_is_in_the_next_request(bench: Bench) -> None:
    thread = await bench.thread()
    start, first, *rest = message("one two three four")
    bench.provider.script([start, first, asyncio.Event(), *rest, done()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.until_delta()
    joined = await thread.admit(said("be brief"))
    assert isinstance(joined, Admitted) and joined.turn_id == admitted.turn_id
    await bench.until_ended(admitted.turn_id)
    sent = json.dumps(bench.provider.requests[1].input)
    assert "be brief" in sent and "one two" not in sent
    assert bench.kinds().count("TurnStarted") == bench.kinds().count("TurnCompleted") == 1
    [turn] = thread.history()
    kinds = [item.type for item in turn.items]
    assert kinds == ["userMessage", "userMessage", "agentMessage"]


async def test_what_the_user_adds_after_a_whole_answer_waits_for_its_end(bench: Bench) -> None:
    thread = await bench.thread()
    gate = asyncio.Event()
    bench.provider.script([*message("whole answer"), gate, done()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.until(
        lambda one: isinstance(one, ItemCompleted) and one.item.type == "agentMessage"
    )
    await thread.admit(said("and more"))
    gate.set()
    await bench.until_ended(admitted.turn_id)
    sent = json.dumps(bench.provider.requests[1].input)
    assert "whole answer" in sent and "and more" in sent
    assert bench.kinds().count("TokenUsage") == 2


async def test_an_interrupt_and_new_input_in_one_moment_end_the_turn_once(bench: Bench) -> None:
    thread = await bench.thread()
    bench.provider.script([asyncio.Event()])
    admitted = await thread.admit(said("first"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.provider.asked.wait()
    await thread.admit(said("second"))
    thread.interrupt(admitted.turn_id)
    ended = await bench.until_ended(admitted.turn_id)
    assert isinstance(ended, TurnCompleted) and ended.status == "interrupted"
    assert "second" in bench.recorded(thread)
    assert isinstance(await bench.say(thread, "next"), TurnCompleted)


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
    assert '"turn_aborted"' in bench.recorded(thread)
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
