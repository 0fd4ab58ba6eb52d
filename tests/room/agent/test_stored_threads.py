"""Resuming threads that others wrote, and one that two clients want at once."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from server.agent.events import TurnCompleted, Warned
from state.errors import RolloutMissing
from state.ids import ThreadId, uuid7
from state.rollouts.history import read_history
from state.rollouts.store import find_rollouts, read_meta
from state.stores.threads import ThreadRow
from tests.support.scripted_model import Bench
from tests.support.shared_data import needs_shared, shared


async def adopted(bench: Bench, source: Path) -> ThreadId:
    """A copy of that file in the home, with its row, as an import makes them."""
    meta = read_meta(source)
    target = bench.state.home.sessions / source.name
    await asyncio.to_thread(shutil.copyfile, source, target)
    row = ThreadRow(
        thread_id=meta.id,
        rollout_path=str(target.relative_to(bench.state.home.root)),
        created_at_ms=1,
        updated_at_ms=1,
        cwd=meta.cwd,
        preview="imported",
        name=None,
        source=json.dumps(meta.source),
        thread_source=None,
        model_provider=meta.model_provider or "mock",
        model="their-model",
        cli_version=meta.cli_version,
        originator=None,
        history_mode=meta.history_mode,
        memory_mode="enabled",
        archived=False,
        git_branch=None,
        git_sha=None,
        git_origin_url=None,
        forked_from_id=None,
        imported_from=str(source),
        imported_digest="d",
        imported_at_ms=1,
    )
    async with bench.state.database.writing() as tx:
        await bench.state.threads.put(tx, row)
    return meta.id


@needs_shared
async def test_every_recorded_session_goes_on_with_a_turn_of_ours(bench: Bench) -> None:
    for source in find_rollouts(shared("rollouts")):
        thread_id = await adopted(bench, source)
        before = read_history(bench.state.home.sessions / source.name)
        thread = await bench.live.resume(thread_id)
        assert len(thread.history()) == len(before.turns)
        assert thread.settings.provider == "scripted"
        assert isinstance(await bench.say(thread, "what was this about"), TurnCompleted)
        sent = json.dumps(bench.provider.requests[-1].input, ensure_ascii=False)
        assert "what was this about" in sent
        assert len(bench.provider.requests[-1].input) > len(before.response_items) // 2
        after = read_history(bench.state.home.sessions / source.name)
        assert len(after.turns) == len(before.turns) + 1
        types = [item.type for item in after.turns[-1].items]
        assert types == ["userMessage", "agentMessage"], source.name
        assert after.turns[-1].status == "completed"
    assert any(isinstance(event, Warned) for event in bench.events)


async def test_a_thread_that_nobody_stored_is_missing(bench: Bench) -> None:
    with pytest.raises(RolloutMissing):
        await bench.live.resume(ThreadId(uuid7(1)))


async def test_two_clients_that_resume_at_once_get_the_same_thread(bench: Bench) -> None:
    thread = await bench.thread()
    await bench.say(thread, "hello")
    await bench.live.unload(thread.id)
    assert bench.live.get(thread.id) is None
    assert bench.kinds()[-2:] == ["StatusChanged", "ThreadClosed"]
    first, second = await asyncio.gather(bench.live.resume(thread.id), bench.live.resume(thread.id))
    assert first is second and len(bench.live.loaded()) == 1


async def test_a_turn_of_a_thread_that_nobody_listens_to_runs_to_its_end(bench: Bench) -> None:
    thread = await bench.thread()
    await bench.say(thread, "hello")
    [turn] = thread.history()
    assert [item.type for item in turn.items] == ["userMessage", "agentMessage"]
    assert turn.status == "completed" and turn.duration_ms is not None


async def test_name_and_mode_given_before_the_first_turn_are_stored_with_it(bench: Bench) -> None:
    thread = await bench.thread()
    await thread.rename("my thread")
    await thread.memory.set_mode("disabled")
    await bench.say(thread, "hello")
    async with bench.state.database.reading() as read:
        row = await bench.state.threads.get(read, thread.id)
    assert row is not None and (row.name, row.memory_mode) == ("my thread", "disabled")
