"""Turns of live threads on real files and a real database, with a scripted model."""

import json
from pathlib import Path

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
)
from server.agent.limits import AgentLimits
from server.agent.models.base import OutputItem, ReasoningDelta, ReasoningStarted
from server.agent.tools.base import ABORTED
from tests.support.scripted_model import Bench, call, done, live_bench, message


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


async def test_deltas_add_up_to_the_completed_text_and_hide_citations(bench: Bench) -> None:
    thread = await bench.thread()
    block = (
        "<oai-mem-citation><citation_entries>MEMORY.md:1-2|note=[x]</citation_entries>"
        "<rollout_ids>01a22885-a458-7772-84ef-b9c21f9b3d17</rollout_ids></oai-mem-citation>"
    )
    bench.provider.script([*message(f"Use tabs.{block} Bye.", deltas=20), done()])
    await bench.say(thread, "hello")
    item = bench.completed("agentMessage")[-1]
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
                recorded = bench.recorded(thread)
                if event.item.item_id not in recorded:
                    missing.append(event.item)

        bench.watch = check
        await bench.say(thread, "hello")
        assert missing == [] and bench.completed("agentMessage")


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


async def test_an_answer_that_breaks_off_is_asked_for_anew(bench: Bench) -> None:
    """Told as an error that is tried again; of the half answer nothing stays."""
    thread = await bench.thread()
    bench.provider.script(message("half")[:2])
    assert isinstance(await bench.say(thread, "hello"), TurnCompleted)
    first, second = bench.provider.requests
    assert second.input == first.input
    told = [one for one in bench.events if isinstance(one, ErrorTold)]
    assert [one.will_retry for one in told] == [True]
    assert [one.item.body["text"] for one in bench.completed("agentMessage")] == ["ok"]


async def test_what_had_come_whole_when_an_answer_broke_off_stays(bench: Bench) -> None:
    """A call among it was not run, and the model is told so."""
    thread = await bench.thread()
    bench.provider.script([call("list", "{}", namespace="memories")])
    assert isinstance(await bench.say(thread, "hello"), TurnCompleted)
    first, second = bench.provider.requests
    made, output = second.input[len(first.input) :]
    assert made["type"] == "function_call" and output["output"] == ABORTED


async def test_what_was_said_whole_is_not_asked_for_again(bench: Bench) -> None:
    """A server that never says that it is done would be heard five times."""
    thread = await bench.thread()
    bench.provider.script(message("whole"))
    assert isinstance(await bench.say(thread, "hello"), TurnFailed)
    assert len(bench.provider.requests) == 1
    assert [one.item.body["text"] for one in bench.completed("agentMessage")] == ["whole"]


async def test_an_answer_that_always_breaks_off_fails_the_turn(bench: Bench) -> None:
    """After as many tries as a call that never begins; what cannot pass is not tried again."""
    thread = await bench.thread()
    bench.provider.script(*[message("half")[:2]] * 5)
    ended = await bench.say(thread, "hello")
    assert isinstance(ended, TurnFailed) and len(bench.provider.requests) == 5
    assert bench.completed("agentMessage") == []
    bench.provider.script([*message("half")[:2], ProviderFailed("cyberPolicy", "no")])
    assert isinstance(await bench.say(thread, "again"), TurnFailed)
    assert len(bench.provider.requests) == 6


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
    assert names == ["add_ad_hoc_note", "list", "read", "search", "recall"]
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
        assert "likes spaces" in sent and "likes tabs" not in sent
        assert "remembered question" in sent
        sent_again = list(bench.provider.requests[-1].input)
        assert sent_again[1 : len(first.input)] == list(first.input)[1:]
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
    recorded = bench.recorded(thread)
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
    [told] = bench.completed("reasoning")
    assert told.item.body["summary"] == ["first", "second"]
    await bench.say(thread, "more")
    sent = [one for one in bench.provider.requests[-1].input if one["type"] == "reasoning"]
    assert sent and sent[0]["encrypted_content"] == "x" and "id" not in sent[0]
