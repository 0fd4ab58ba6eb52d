"""A summary of a thread keeps no word that memory alone said, whatever the model writes."""

import asyncio
import json
from pathlib import Path

import pytest

from server.agent.errors import ProviderFailed
from server.agent.inputs import Admitted, ForkOptions
from server.agent.live_thread import LiveThread
from server.agent.models.base import TokenUse
from state.rollouts.history import read_history
from state.rollouts.prefix import Cut
from state.rollouts.recalled import ECHOES_CUT
from tests.support.scripted_model import Bench, call, done, message

FULL = TokenUse(input_tokens=95_000, output_tokens=20, total_tokens=95_020)
OVERFLOW = ProviderFailed("contextWindowExceeded", "too long")
TOLD = "The user keeps a grey heron as a pet."
FOUND = "The staging host is called kestrel."
TYPED = "please never touch the release branch"
SUMMARY = f"Memory says: {TOLD}\n- {FOUND}\n- The user said: {TYPED}.\n- The parser is ported."
KEPT = f"- The user said: {TYPED}.\n- The parser is ported.\n{ECHOES_CUT}"


def publish(bench: Bench, summary: str, handbook: str = "") -> None:
    """Put this into the memory folder."""
    folder = bench.state.home.memories("v1")
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "memory_summary.md").write_text(summary)
    (folder / "MEMORY.md").write_text(handbook)


def sent(bench: Bench) -> str:
    """The last request as text."""
    return json.dumps(bench.provider.requests[-1].input, ensure_ascii=False)


async def recalling(bench: Bench) -> LiveThread:
    """A thread that was told of memory, looked into it, and repeated both."""
    publish(bench, f"- {TOLD}\n- {TYPED}\n", f"- {FOUND}\n")
    thread = await bench.thread()
    look = call("read", '{"path":"MEMORY.md"}', namespace="memories")
    answer = [*message(f"I know this. {TOLD} {FOUND}"), done()]
    bench.provider.script([look, done()], answer)
    await bench.say(thread, TYPED)
    return thread


async def ordered(bench: Bench, thread: LiveThread) -> None:
    """Compact by order."""
    bench.provider.script([*message(SUMMARY), done()])
    admitted = thread.ordered("compact")
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.until_ended(admitted.turn_id)


async def full_window(bench: Bench, thread: LiveThread) -> None:
    """Compact because the window is full."""
    bench.provider.script(
        [*message("ok"), done(FULL)], [*message(SUMMARY), done()], [*message("ok"), done()]
    )
    await bench.say(thread, "one")
    await bench.say(thread, "two")


async def overflow(bench: Bench, thread: LiveThread) -> None:
    """Compact because the provider refused the request."""
    bench.provider.script([OVERFLOW], [*message(SUMMARY), done()], [*message("ok"), done()])
    await bench.say(thread, "one")


@pytest.mark.requirement("MW-F-forgotten-now", "FR-F4")
@pytest.mark.parametrize("compact", [ordered, full_window, overflow])
async def test_what_was_recalled_is_neither_asked_for_nor_kept_in_a_summary(
    bench: Bench, compact: object
) -> None:
    """By order, by the window, after an overflow; then withdrawn: in no request, also of a fork."""
    assert callable(compact)
    thread = await recalling(bench)
    await compact(bench, thread)
    asked = next(one for one in bench.provider.requests if one.purpose == "compaction")
    request = json.dumps(asked.input, ensure_ascii=False)
    assert "heron" not in request and "kestrel" not in request
    assert TYPED in request and ECHOES_CUT in request
    lines = [json.loads(line) for line in bench.recorded(thread).splitlines()]
    (compacted,) = [line["payload"] for line in lines if line["type"] == "compacted"]
    assert compacted["message"] == KEPT
    publish(bench, "- nothing else\n")
    thread.memory.forget()
    await bench.say(thread, "and now")
    assert "heron" not in sent(bench) and "kestrel" not in sent(bench)
    assert "The parser is ported." in sent(bench)
    fork = await bench.live.fork(thread.draft, ForkOptions(cut=Cut()))
    await bench.live.unload(thread.id)
    again = await bench.live.resume(thread.id)
    for one in (fork, again):
        await bench.say(one, "go on")
        assert "heron" not in sent(bench) and "kestrel" not in sent(bench)
        assert "The parser is ported." in sent(bench)


@pytest.mark.requirement("MW-F-forgotten-now")
async def test_a_section_that_was_told_after_a_resume_is_known_after_the_next_one(
    bench: Bench,
) -> None:
    """It stands in the file, so what the model repeated of it is cut there as well."""
    publish(bench, "- likes tabs\n")
    thread = await bench.thread()
    await bench.say(thread, "hello")
    for change in (True, False):
        if change:
            publish(bench, f"- {TOLD}\n")
        await bench.live.unload(thread.id)
        thread = await bench.live.resume(thread.id)
        await bench.say(thread, "again")
    assert bench.recorded(thread).count("heron") == 1  # once, though it was told twice
    publish(bench, "- likes tabs\n")
    await bench.live.unload(thread.id)
    thread = await bench.live.resume(thread.id)
    await ordered(bench, thread)
    await bench.say(thread, "and now")
    assert "heron" not in sent(bench) and "likes tabs" in sent(bench)


@pytest.mark.requirement("MW-F-forgotten-now")
async def test_a_summary_of_another_program_is_cleared_when_it_is_read(
    bench: Bench, tmp_path: Path
) -> None:
    """As it stands in an imported file: the message, and the history that replaces."""
    thread = await recalling(bench)
    await ordered(bench, thread)
    path = bench.state.home.root / thread.draft.rollout_path
    text = await asyncio.to_thread(path.read_text, "utf-8")
    kept, made = (json.dumps(one)[1:-1] for one in (KEPT, SUMMARY))
    assert kept in text
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text(text.replace(kept, made))
    history = json.dumps(read_history(foreign).response_items)
    assert kept in history and "heron" not in history and "kestrel" not in history


async def test_a_summary_of_nothing_but_memory_says_so(bench: Bench) -> None:
    """The thread goes on; nothing is left but the word that something was left out."""
    thread = await recalling(bench)
    bench.provider.script([*message(f"{TOLD} {FOUND}"), done()])
    admitted = thread.ordered("compact")
    assert isinstance(admitted, Admitted)
    admitted.begin()
    await bench.until_ended(admitted.turn_id)
    publish(bench, "")
    thread.memory.forget()
    await bench.say(thread, "and now")
    assert ECHOES_CUT in sent(bench) and "heron" not in sent(bench)
