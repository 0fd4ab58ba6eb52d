"""What is acknowledged is in the thread's file first, wherever the thread is just then."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from server.agent.errors import ThreadClosing
from server.agent.forking import stored_history
from server.agent.inputs import Admitted, ForkOptions
from server.agent.live_thread import LiveThread
from server.agent.loop import TurnRun
from state.rollouts.history import read_history
from state.rollouts.items import RecordedTurn
from state.rollouts.prefix import Cut, boundary_of, cut_back
from state.rollouts.store import RolloutWriter
from tests.support.scripted_model import Bench, call, done, message, said


def _path(bench: Bench, thread: LiveThread) -> Path:
    return bench.state.home.root / thread.draft.rollout_path


def _words(bench: Bench, thread: LiveThread) -> list[tuple[str, str]]:
    """What a process that begins now would show as said: the turn and the words."""
    return _said_in(read_history(_path(bench, thread)).turns)


def _said_in(turns: Sequence[RecordedTurn]) -> list[tuple[str, str]]:
    return [
        (turn.turn_id, item.body["content"][0]["text"])
        for turn in turns
        for item in turn.items
        if item.type == "userMessage"
    ]


def _for_model(bench: Bench, thread: LiveThread) -> str:
    return str(read_history(_path(bench, thread)).response_items)


async def _admitted(thread: LiveThread, text: str) -> Admitted:
    admitted = await thread.admit(said(text))
    assert isinstance(admitted, Admitted)
    return admitted


async def _behind_a_compaction(
    bench: Bench, thread: LiveThread, text: str
) -> tuple[Admitted, Admitted, asyncio.Event]:
    """A compaction, a turn that is kept and waits for it, and what lets the first one end."""
    gate = asyncio.Event()
    bench.provider.script([gate, *message("NOTES"), done()])
    bench.provider.asked.clear()
    compaction = thread.ordered("compact")
    assert isinstance(compaction, Admitted)
    compaction.begin()
    await bench.provider.asked.wait()
    behind = await _admitted(thread, text)
    await behind.kept()
    return compaction, behind, gate


class _SlowDisk:
    """Holds back every write until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = threading.Event()
        self.reached = threading.Event()
        append = RolloutWriter.append

        def held(writer: RolloutWriter, lines: Sequence[Any]) -> None:
            self.reached.set()
            assert self.free.wait(20)
            append(writer, lines)

        monkeypatch.setattr(RolloutWriter, "append", held)


@pytest.mark.requirement("P11")
async def test_a_turn_is_acknowledged_when_its_words_are_in_the_file(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before, and its events come after."""
    thread = await bench.thread()
    await bench.say(thread, "one")
    bench.events.clear()
    disk = _SlowDisk(monkeypatch)
    admitted = await _admitted(thread, "two")
    kept = asyncio.ensure_future(admitted.kept())
    await asyncio.to_thread(disk.reached.wait, 20)
    assert not kept.done()
    disk.free.set()
    await kept
    assert _words(bench, thread)[1] == (admitted.turn_id, "two")
    assert bench.events == []
    admitted.begin()
    await bench.until_ended(admitted.turn_id)


@pytest.mark.requirement("P11")
async def test_a_first_turn_is_acknowledged_when_its_thread_can_be_found_again(
    bench: Bench,
) -> None:
    """File and row are there."""
    thread = await bench.thread()
    admitted = await _admitted(thread, "one")
    await admitted.kept()
    assert _words(bench, thread) == [(admitted.turn_id, "one")]
    async with bench.state.database.reading() as read:
        assert await bench.state.threads.get(read, thread.id) is not None
    admitted.begin()
    await bench.until_ended(admitted.turn_id)


@pytest.mark.requirement("P11")
async def test_input_that_joins_a_turn_is_in_the_file_before_the_turn_takes_it_up(
    bench: Bench,
) -> None:
    """Once for each reader, before and after; the model is told it behind the call's output."""
    thread = await bench.thread()
    gate = asyncio.Event()
    bench.provider.script([call("list", "{}", namespace="memories"), gate, done()])
    running = await _admitted(thread, "one")
    running.begin()
    await bench.provider.asked.wait()
    joined = await _admitted(thread, "two")
    await joined.kept()
    both = [(running.turn_id, "one"), (running.turn_id, "two")]
    assert _words(bench, thread) == both and "two" in _for_model(bench, thread)
    assert len(bench.completed("userMessage")) == 1
    gate.set()
    await bench.until_ended(running.turn_id)
    assert _words(bench, thread) == both
    assert _for_model(bench, thread).count("'two'") == 1
    kinds = [one.get("type") for one in bench.provider.requests[-1].input][-3:]
    assert kinds == ["function_call", "function_call_output", "message"]


@pytest.mark.requirement("P11")
async def test_a_turn_behind_a_compaction_is_in_the_file_before_it_begins(bench: Bench) -> None:
    """As a turn of its own, and still so after the compaction replaced the history."""
    thread = await bench.thread()
    await bench.say(thread, "one")
    _, behind, gate = await _behind_a_compaction(bench, thread, "two")
    assert _words(bench, thread)[-1] == (behind.turn_id, "two")
    gate.set()
    behind.begin()
    await bench.until_ended(behind.turn_id)
    assert _words(bench, thread)[-1] == (behind.turn_id, "two")
    assert _for_model(bench, thread).count("'two'") == 1


@pytest.mark.requirement("P11")
async def test_input_that_cannot_be_kept_is_refused_and_never_taken_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn goes on without it."""
    thread = await bench.thread()
    gate = asyncio.Event()
    bench.provider.script([call("list", "{}", namespace="memories"), gate, done()])
    running = await _admitted(thread, "one")
    running.begin()
    await bench.provider.asked.wait()

    def full(writer: RolloutWriter, lines: Sequence[Any]) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(RolloutWriter, "append", full)
        joined = await _admitted(thread, "two")
        with pytest.raises(OSError, match="No space"):
            await joined.kept()
    gate.set()
    await bench.until_ended(running.turn_id)
    assert _words(bench, thread) == [(running.turn_id, "one")]
    assert "two" not in str(bench.provider.requests[-1].input)


@pytest.mark.requirement("P11")
async def test_a_turn_that_will_never_run_is_not_acknowledged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread's task ended before it came to it."""

    async def broken(run: TurnRun) -> None:
        raise RuntimeError

    monkeypatch.setattr(TurnRun, "run", broken)
    admitted = await _admitted(await bench.thread(), "one")
    with pytest.raises(ThreadClosing):
        await admitted.kept()


@pytest.mark.requirement("P11")
async def test_items_put_into_a_new_thread_make_its_file(bench: Bench) -> None:
    """And its first turn, also in another process, still brings the context."""
    thread = await bench.thread()
    content = [{"type": "input_text", "text": "put in"}]
    await thread.inject([{"type": "message", "role": "user", "content": content}])
    assert "put in" in _for_model(bench, thread)
    await bench.live.unload(thread.id)
    resumed = await bench.live.resume(thread.id)
    await bench.say(resumed, "one")
    [request] = bench.provider.requests
    assert "put in" in str(request.input) and "environment_context" in str(request.input)
    again = read_history(_path(bench, resumed))
    assert [len(turn.items) for turn in again.turns] == [2]


@pytest.mark.requirement("P11")
async def test_a_turn_that_is_taken_back_takes_its_note_along(bench: Bench) -> None:
    """Out of the thread's own file, and out of forks that end before it."""
    thread = await bench.thread()
    await bench.say(thread, "one")
    compaction, behind, gate = await _behind_a_compaction(bench, thread, "two")
    behind.begin()
    gate.set()
    await bench.until_ended(behind.turn_id)
    assert thread.row is not None
    options = ForkOptions(cut=Cut(through=compaction.turn_id))
    fork = await bench.live.fork(thread.row, options)
    assert [text for _, text in _said_in(fork.history())] == ["one"]
    path = _path(bench, thread)
    boundary = boundary_of(path, Cut(before=behind.turn_id), find_base=lambda _: None)
    assert boundary is not None and len(boundary.notes) == 1
    async with bench.live.parted(thread.id):
        cut_back(path, boundary, timestamp="2026-01-01T00:00:00.000Z")
    assert [text for _, text in _words(bench, thread)] == ["one"]
    assert '"two"' not in path.read_text("utf-8")
    found = await stored_history(bench.state, fork.draft)
    assert [text for _, text in _said_in(found.turns)] == ["one"]
