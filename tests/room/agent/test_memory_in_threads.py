"""How a live thread meets memory: told once, told anew, never told again what was withdrawn."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.agent.events import ItemCompleted, ReasoningSummaryDelta, TextDelta, Warned
from server.agent.inputs import InstructionChange, MemoryChange, SettingsChange
from server.agent.models.base import (
    MessageStarted,
    ModelEvent,
    OutputItem,
    Phase,
    ReasoningDelta,
)
from state.database import Transaction
from state.ids import ThreadId
from state.rollouts.history import read_history
from state.rollouts.recalled import NOT_KEPT
from state.stores.threads import MemoryMode, ThreadRow, ThreadStore
from state.stores.withdrawal import OutsideSource
from tests.support.rows import an_output, thread_id
from tests.support.scripted_model import Bench, call, done, live_bench, message

ONE, TWO = thread_id(1), thread_id(2)
OPEN, CLOSE = "<oai-mem-citation>", "</oai-mem-citation>"


def publish(bench: Bench, text: str, handbook: str = "") -> None:
    """Put this summary into the memory folder."""
    folder = bench.state.home.memories("v1")
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "memory_summary.md").write_text(text)
    (folder / "MEMORY.md").write_text(handbook)


def sent(bench: Bench) -> str:
    """The last request as text."""
    return json.dumps(bench.provider.requests[-1].input, ensure_ascii=False)


def cites(*ids: str) -> str:
    """Markup that cites these threads."""
    listed = "\n".join(ids)
    return f"{OPEN}<rollout_ids>\n{listed}\n</rollout_ids>{CLOSE}"


async def uses(bench: Bench, of: ThreadId) -> int:
    """How often an output was used."""
    async with bench.state.database.reading() as read:
        output = await bench.state.outputs.get(read, "v1", of)
    assert output is not None
    return output.usage_count


@pytest.mark.requirement("MW-F-forgotten-now")
async def test_a_resumed_thread_is_told_of_memory_as_it_is_now(bench: Bench) -> None:
    """Neither the recorded section nor a recorded look-up brings back what was withdrawn."""
    publish(bench, "- likes tabs\n- SECTION-CANARY\n", "LOOKUP-CANARY " + ONE)
    thread = await bench.thread()
    look = call("read", '{"path":"MEMORY.md"}', namespace="memories")
    bench.provider.script([look, done()])
    await bench.say(thread, "what do you know")
    assert "LOOKUP-CANARY" in sent(bench) and "SECTION-CANARY" in sent(bench)
    publish(bench, "- likes tabs\n", "")
    await bench.live.unload(thread.id)
    resumed = await bench.live.resume(thread.id)
    await bench.say(resumed, "and now")
    assert "CANARY" not in sent(bench)
    assert "likes tabs" in sent(bench) and NOT_KEPT in sent(bench)
    assert sent(bench).count("MEMORY_SUMMARY BEGINS") == 1


async def test_a_thread_that_goes_on_keeps_its_bytes_until_something_is_withdrawn(
    bench: Bench,
) -> None:
    """A change of the file alone reaches new threads; a withdrawal reaches loaded ones too."""
    publish(bench, "- first\n")
    thread = await bench.thread()
    await bench.say(thread, "one")
    begin = bench.provider.requests[-1].input[0]
    publish(bench, "- second\n")
    await bench.say(thread, "two")
    assert bench.provider.requests[-1].input[0] == begin
    bench.live.forget_recalled("v2")
    await bench.say(thread, "three")
    assert bench.provider.requests[-1].input[0] == begin
    bench.live.forget_recalled("v1")
    await bench.say(thread, "four")
    assert "- second" in sent(bench) and "- first" not in sent(bench)


async def test_a_section_that_did_not_change_is_the_same_bytes_after_a_resume(
    bench: Bench,
) -> None:
    """So that the prefix cache of a provider goes on; the report says so by its digest."""
    publish(bench, "- steady\n")
    thread = await bench.thread(change=SettingsChange(developer_instructions="Be brief."))
    await bench.say(thread, "one")
    first = bench.provider.requests[-1].input
    digest = thread.memory.report
    await bench.live.unload(thread.id)
    resumed = await bench.live.resume(thread.id)
    await bench.say(resumed, "two")
    assert list(bench.provider.requests[-1].input[: len(first)]) == list(first)
    assert resumed.memory.report == digest and digest is not None and digest.injected


@pytest.mark.requirement("FR-R10", "MR-9-10")
async def test_only_what_the_thread_saw_in_memory_is_counted_once_a_message(bench: Bench) -> None:
    """Ids of its section and of its look-ups, also after a resume; made-up ones change nothing."""
    async with bench.state.database.writing() as tx:
        for number in (1, 2, 3):
            await bench.state.outputs.put(tx, an_output(number))
    publish(bench, f"- a thing (thread_id={ONE})\n", f"more of {TWO}")
    thread = await bench.thread()
    unseen = thread_id(3)
    bench.provider.script([*message("a" + cites(ONE, ONE.upper(), TWO, unseen)), done()])
    await bench.say(thread, "one")
    assert [await uses(bench, one) for one in (ONE, TWO, unseen)] == [1, 0, 0]
    look = call("read", '{"path":"MEMORY.md"}', namespace="memories")
    bench.provider.script([look, done()], [*message("b" + cites(TWO, unseen)), done()])
    await bench.say(thread, "two")
    assert [await uses(bench, one) for one in (ONE, TWO, unseen)] == [1, 1, 0]
    publish(bench, "- nothing named\n")
    await bench.live.unload(thread.id)
    resumed = await bench.live.resume(thread.id)
    bench.provider.script([*message("c" + cites(ONE, TWO, unseen)), done()])
    await bench.say(resumed, "three")
    assert [await uses(bench, one) for one in (ONE, TWO, unseen)] == [2, 2, 0]


@pytest.mark.requirement("FR-R10", "MR-9-10", "MR-9-11")
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 13])
async def test_commentary_and_answer_of_one_response_are_stripped_and_counted_each(
    bench: Bench, size: int
) -> None:
    """Markup that one message leaves open hides nothing of the next; one use for each message."""
    async with bench.state.database.writing() as tx:
        await bench.state.outputs.put(tx, an_output(1))
    publish(bench, f"- CANARY {ONE}\n")
    thread = await bench.thread()
    texts = (f"I look. {cites(ONE, ONE)} <oai-mem", f"second {OPEN}<rollout_ids>{ONE}", "last")
    events: list[ModelEvent] = []
    for number, text in enumerate(texts):
        phase: Phase = "commentary" if number == 0 else "final_answer"
        for event in message(text, item_id=f"msg_{number}", deltas=-(-len(text) // size)):
            match event:
                case MessageStarted():
                    event = replace(event, phase=phase)
                case OutputItem(item=item):
                    event = OutputItem(item={**item, "phase": phase})
            events.append(event)
    bench.provider.script([*events, done()])
    await bench.say(thread, "hello")
    shown = [one.item.body["text"] for one in bench.completed("agentMessage")]
    assert shown == ["I look.  <oai-mem", "second ", "last"]
    deltas = "".join(one.delta for one in bench.events if isinstance(one, TextDelta))
    assert deltas == "".join(shown)
    # The second message names no id: its list is not closed.
    assert await uses(bench, ONE) == 1
    phases = [one.item.body.get("phase") for one in bench.completed("agentMessage")]
    assert phases == ["commentary", "final_answer", "final_answer"]


@pytest.mark.requirement("FR-F15")
async def test_a_private_thread_counts_nothing_and_has_no_tools(bench: Bench) -> None:
    """Also when its model knows ids from elsewhere; and it stays private over a resume."""
    async with bench.state.database.writing() as tx:
        await bench.state.outputs.put(tx, an_output(1))
    publish(bench, f"- CANARY {ONE}\n")
    thread = await bench.thread(memory_use=False, memory_mode="disabled")
    for _ in range(2):
        bench.provider.script([*message("x" + cites(ONE)), done()])
        await bench.say(thread, f"cite {ONE}")
        assert "CANARY" not in sent(bench) and bench.provider.requests[-1].tools == ()
        assert await uses(bench, ONE) == 0
        assert thread.settings.memory_off == "thread_off"
        await bench.live.unload(thread.id)
        # A client that turns memory on for every thread it opens does not lift it.
        change = SettingsChange(memory=MemoryChange(use=True))
        thread = await bench.live.resume(thread.id, change)


async def test_the_use_of_memory_can_be_turned_in_a_loaded_thread(bench: Bench) -> None:
    """Off: it leaves the next request; on: the thread is told again."""
    publish(bench, "- CANARY\n")
    thread = await bench.thread()
    await bench.say(thread, "one")
    await thread.memory.set_use(False)
    await bench.say(thread, "two")
    assert "CANARY" not in sent(bench)
    await thread.memory.set_use(True)
    await bench.say(thread, "three")
    assert "CANARY" in sent(bench)


@pytest.mark.requirement("FR-F15")
@pytest.mark.parametrize(("mode", "use"), [("disabled", True), ("enabled", False)])
async def test_what_is_set_while_the_first_turn_is_stored_is_stored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, mode: MemoryMode, use: bool
) -> None:
    """Mode, use and name were acknowledged then: they are in the row, and survive its loss."""
    thread = await bench.thread()
    put, puts = ThreadStore.put, list[str]()

    async def put_and_set(store: ThreadStore, tx: Transaction, row: ThreadRow) -> None:
        await put(store, tx, row)
        puts.append(row.memory_mode)
        if len(puts) == 1:
            await thread.memory.set_mode(mode)
            await thread.memory.set_use(use)
            await thread.rename("a name")

    monkeypatch.setattr(ThreadStore, "put", put_and_set)
    await bench.say(thread, "hello")
    assert puts == ["enabled", mode]
    async with bench.state.database.reading() as read:
        row = await bench.state.threads.get(read, thread.id)
    assert row is not None and row == thread.draft
    assert (row.memory_mode, row.use_memories, row.name) == (mode, use, "a name")
    told = (bench.state.home.root / "journal.jsonl").read_text()
    assert ('"disabled"' if use else '"use":false') in told and '"a name"' in told


@pytest.mark.requirement("FR-F15")
async def test_two_changes_that_wait_for_the_writer_both_stand(bench: Bench) -> None:
    """A note on the thread that was begun before its mode changed does not bring the mode back."""
    thread = await bench.thread()
    await bench.say(thread, "hello")
    async with bench.state.database.writing():
        changes = [
            asyncio.create_task(thread.memory.set_mode("disabled")),
            asyncio.create_task(thread.note({"git_branch": "main"})),
            asyncio.create_task(thread.memory.set_use(False)),
            asyncio.create_task(thread.note({"git_sha": "abc"})),
        ]
        await asyncio.sleep(0)
    await asyncio.gather(*changes)
    async with bench.state.database.reading() as read:
        row = await bench.state.threads.get(read, thread.id)
    assert row is not None and row == thread.draft
    assert (row.memory_mode, row.use_memories) == ("disabled", False)
    assert (row.git_branch, row.git_sha) == ("main", "abc")


@pytest.mark.requirement("FR-F16", "FR-R10", "MR-9-12")
async def test_no_piece_of_markup_reaches_a_listener_in_text_or_thought(bench: Bench) -> None:
    """With every switch off the same holds, for citations and for echoed sections."""
    block = f"{OPEN}<citation_entries>\nx/../../etc:9-2|note=[CANARY]\n</citation_entries>{CLOSE}"
    echo = "========= MEMORY_SUMMARY BEGINS =========\nCANARY\n"
    for use in (True, False):
        bench.events.clear()
        thread = await bench.thread(memory_use=use)
        text = f"- a list\n  ```\n  {block}\n  ```\n> quoted {block} end {echo}"
        thought = f"I saw {block} there"
        item = {"type": "reasoning", "id": "r", "encrypted_content": "e", "summary": []}
        bench.provider.script(
            [
                *(ReasoningDelta(item_id="r", summary_index=0, text=one) for one in thought),
                OutputItem(item={**item, "summary": [{"type": "summary_text", "text": thought}]}),
                *message(text, deltas=len(text)),
                done(),
            ]
        )
        ended = await bench.say(thread, "hello")
        told = [one for one in bench.events if isinstance(one, TextDelta | ReasoningSummaryDelta)]
        assert told and not any("<" in one.delta or "CANARY" in one.delta for one in told)
        [said] = bench.completed("agentMessage")
        assert said.item.body["text"] == "- a list\n  ```\n  \n  ```\n> quoted  end "
        [thinks] = bench.completed("reasoning")
        assert thinks.item.body["summary"] == ["I saw  there"]
        items: list[Any] = [said, thinks, ended, *thread.history()[-1].items]
        for one in items:
            body = one.item.body if isinstance(one, ItemCompleted) else one
            assert OPEN not in str(body) and "BEGINS" not in str(body)
        complete = [line for line in bench.recorded(thread).splitlines() if "last_agent" in line]
        assert "CANARY" not in complete[-1]


@pytest.mark.requirement("MR-9-15", "MR-9-16")
@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"type": "web_search_call", "id": "w", "action": {"query": "x"}}, "web_search"),
        ({"type": "tool_search_call", "id": "t"}, "tool_search"),
        ({"type": "tool_search_output", "id": "t"}, "tool_search"),
        ({"type": "function_call_output", "output": "ran elsewhere"}, "other"),
        ({"type": "function_call_output", "call_id": "c", "output": "x"}, None),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": "x"}, None),
        ({"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}}, None),
    ],
)
@pytest.mark.parametrize("asked", [True, False])
async def test_items_from_outside_bar_the_thread_where_that_is_asked_for(
    tmp_path: Path, item: dict[str, Any], kind: str | None, asked: bool
) -> None:
    """Once, with what it was; a shell, functions and tools of one's own do not."""
    barred: list[tuple[ThreadId, OutsideSource]] = []

    async def bar(thread: ThreadId, source: OutsideSource) -> None:
        barred.append((thread, source))

    async with live_bench(tmp_path / "home", bar=bar) as bench:
        thread = await bench.thread(change=SettingsChange(memory=MemoryChange(pollutable=asked)))
        bench.provider.script([OutputItem(item=item), OutputItem(item=item), *message("y"), done()])
        await bench.say(thread, "look it up")
        wanted = [(thread.id, kind)] if asked and kind else []
        assert [(one, source.kind) for one, source in barred] == wanted
        assert thread.draft.memory_mode == ("polluted" if wanted else "enabled")


@pytest.mark.requirement("FR-U3", "FR-E4")
async def test_instruction_files_are_told_with_the_surroundings_and_again_elsewhere(
    bench: Bench, tmp_path: Path
) -> None:
    """Without memory as with it; a fault once; and off by a switch of their own."""
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "AGENTS.md").write_bytes(b"rules of " + name.encode() + b" \xff\n")
    change = SettingsChange(cwd=str(tmp_path / "a"))
    thread = await bench.thread(memory_use=False, change=change)
    await bench.say(thread, "one")
    [context, _] = bench.provider.requests[-1].input
    assert [part["text"].split("\n")[0] for part in context["content"]] == [
        f"# AGENTS.md instructions for {tmp_path}/a",
        "<environment_context>",
    ]
    await bench.say(thread, "two")
    assert sent(bench).count("rules of a") == 1
    await bench.live.unload(thread.id)
    thread = await bench.live.resume(thread.id)
    await bench.say(thread, "three")
    assert sent(bench).count("rules of a") == 1
    path = bench.state.home.root / thread.draft.rollout_path
    assert "agents_md.instructions" in path.read_text()
    assert len(read_history(path).turns) == 3
    warned = [one for one in bench.events if isinstance(one, Warned)]
    assert len(warned) == 1 and "UTF-8" in warned[0].message and "rules" not in warned[0].message
    off = SettingsChange(
        cwd=str(tmp_path / "b"), instruction_files=InstructionChange(enabled=False)
    )
    other = await bench.thread(change=off)
    await bench.say(other, "hello")
    assert "rules of" not in sent(bench)
