"""What went is gone from published memory after the next pass, whatever the consolidator does.

The table "Forgetting" of the figures of the original, as canaries: there one disobedient run makes
a deleted fact permanent.
"""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.phase2.recover import recover
from memory_write.phase2.steps import PHASE2_STEPS
from memory_write.ports import ConsolidationRequest, ModelFailed
from state.recovery import State
from tests.support import phase2_child
from tests.support.clock import ManualClock
from tests.support.consolidators import ScriptedConsolidator, Tools
from tests.support.faults import RecordedSteps
from tests.support.forgetting import (
    CANARY,
    GOING,
    consolidator,
    deleted,
    holding,
    phase2_for,
    remembered,
    set_mode,
    stored,
    write_both,
)
from tests.support.learning import opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def state(tmp_path: Path, clock: ManualClock) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", clock) as state:
        yield state


@pytest.mark.requirement("FR-F4", "MW-9-1", "MW-9-19", "MW-9-22", "MW-F-forgotten-later")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("kind", ["obedient", "ignores", "idle", "smuggles", "down", "capped"])
@pytest.mark.parametrize("how", GOING)
async def test_nothing_of_a_thread_that_went_is_left_after_the_next_pass(
    state: State, clock: ManualClock, how: str, kind: str, version: str
) -> None:
    memory = await remembered(state, version)
    await GOING[how](state, memory.going)
    agent = consolidator(kind, memory)
    phase2 = phase2_for(state, version, agent)
    report = await phase2.run(ignore_cooldown=False)
    assert report.withdrawn, "a withdrawal waits for no cooldown"
    assert holding(memory.folder, CANARY) == []
    assert holding(memory.folder, "blue badge") == []
    assert holding(state.home.staging, CANARY) == []
    assert memory.going not in (memory.folder / "memory_summary.md").read_text()
    left = (memory.folder / "memory_summary.md").read_text()
    assert left.startswith("v1\n")
    assert "small" in left, "what the other thread supports stays"
    async with state.database.reading() as read:
        edition = await state.editions.latest(read, version)
        assert edition is not None
        assert edition.inputs.removed == (memory.going,)

    for hours in (7, 7, 35 * 24):
        clock.advance(hours * 3_600)
        await phase2.run(ignore_cooldown=True)
        assert holding(memory.folder, CANARY) == []
    if kind in ("down", "capped"):
        assert report.status == "failed"
        assert report.edition_id is not None, "the cut was published all the same"


@pytest.mark.requirement("FR-F4", "MW-9-24")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("how", GOING)
async def test_the_withdrawal_alone_needs_no_model_and_overtakes_whoever_consolidates(
    state: State, how: str, version: str
) -> None:
    """As it is done before a deletion is answered: at once, also while an agent is at work."""
    memory = await remembered(state, version)
    third = await stored(state, version, "the checks run with make check", 10)
    reports: list[object] = []

    async def overtaken(tools: Tools, request: ConsolidationRequest) -> None:
        await consolidator("ignores", memory).run(request)
        await GOING[how](state, memory.going)
        reports.append(await phase2.take_out())
        assert holding(memory.folder, CANARY) == []

    phase2 = phase2_for(state, version, ScriptedConsolidator(overtaken))
    ended = await phase2.run(ignore_cooldown=True)
    assert (ended.status, ended.reason) == ("failed", "lease_lost")
    assert holding(memory.folder, CANARY) == []
    assert await phase2.take_out() is None, "there is no more to take out"
    # What came meanwhile was not worked in and is still seen as new.
    after = await phase2_for(state, version, ScriptedConsolidator(write_both)).run(
        ignore_cooldown=False
    )
    assert after.status == "published"
    assert "make check" in (memory.folder / "memory_summary.md").read_text()
    assert third in (memory.folder / "memory_summary.md").read_text() or version == "v1"
    assert holding(memory.folder, CANARY) == []


@pytest.mark.requirement("FR-F4", "MW-9-24")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("how", GOING)
async def test_a_thread_whose_recap_a_person_deleted_is_taken_out_all_the_same(
    state: State, how: str, version: str
) -> None:
    """What was made of it stands in the artefacts, whether or not its recap still does."""
    memory = await remembered(state, version)
    recaps = (memory.folder / "rollout_summaries").glob("*.md")
    (of_it,) = (one for one in recaps if memory.going in one.read_text())
    of_it.unlink()
    (memory.folder / "raw_memories.md").unlink(missing_ok=True)
    await GOING[how](state, memory.going)
    phase2 = phase2_for(state, version, ScriptedConsolidator(write_both))
    report = await phase2.take_out()
    assert report is not None and report.withdrawn
    assert holding(memory.folder, CANARY) == []
    assert "small" in (memory.folder / "memory_summary.md").read_text()
    assert await phase2.take_out() is None, "there is no more to take out"


@pytest.mark.requirement("FR-F4", "MW-9-13")
@pytest.mark.parametrize("how", GOING)
@pytest.mark.parametrize(
    "step", ["phase2/consolidated", "phase2/committed", "phase2/swapping", "phase2/swapped"]
)
async def test_a_thread_that_goes_during_the_run_that_learns_it_is_not_published(
    state: State, how: str, step: str
) -> None:
    memory = await remembered(state, "v1")
    secret = "quartz-5512"
    late = await stored(state, "v1", f"the second host is {secret}", 10)

    async def goes() -> None:
        await GOING[how](state, late)

    steps = RecordedSteps(step, goes)
    phase2 = phase2_for(state, "v1", ScriptedConsolidator(write_both), steps=steps)
    await phase2.run(ignore_cooldown=True)
    await phase2.take_out()
    assert holding(memory.folder, secret) == []
    again = await phase2_for(state, "v1", ScriptedConsolidator(write_both)).run(
        ignore_cooldown=False
    )
    assert again.status in ("published", "unchanged"), again
    assert holding(memory.folder, secret) == []
    assert CANARY in (memory.folder / "MEMORY.md").read_text()


@pytest.mark.requirement("FR-F4", "MW-9-1", "MW-F-forgotten-later")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("how", GOING)
@pytest.mark.parametrize("restarted", [False, True])
async def test_one_that_says_it_again_in_every_later_run_is_cut_in_every_one(
    tmp_path: Path, how: str, version: str, restarted: bool
) -> None:
    """Also after a restart, when nothing but its own references tells what went."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        memory = await remembered(state, version)
        await GOING[how](state, memory.going)
        agent = consolidator("ignores", memory)
        assert (await phase2_for(state, version, agent).run(ignore_cooldown=True)).withdrawn
    async with opened(tmp_path / "home", clock, owner="second") as state:
        phase2 = phase2_for(state, version, consolidator("ignores", memory))
        for number in range(3):
            if restarted:
                phase2 = phase2_for(state, version, consolidator("ignores", memory))
            await stored(state, version, f"the checks of part {number} are quick", 9 - number)
            await phase2.run(ignore_cooldown=True)
            assert holding(memory.folder, CANARY) == []
            assert holding(memory.folder, "blue badge") == []
            assert "small" in (memory.folder / "memory_summary.md").read_text()


@pytest.mark.requirement("MW-9-24")
async def test_a_thread_that_may_be_learned_from_again_comes_back(state: State) -> None:
    memory = await remembered(state, "v1")
    await set_mode(state, memory.going, "disabled")
    phase2 = phase2_for(state, "v1", ScriptedConsolidator(write_both))
    await phase2.run(ignore_cooldown=False)
    assert holding(memory.folder, CANARY) == []
    await set_mode(state, memory.going, "enabled")
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    assert CANARY in (memory.folder / "MEMORY.md").read_text()


@pytest.mark.requirement("FR-C5")
async def test_a_withdrawal_keeps_what_a_person_wrote_and_new_material(state: State) -> None:
    """Edits stay in the folder, and as differences, so that the next consolidator sees them."""
    memory = await remembered(state, "v1")
    handbook = memory.folder / "MEMORY.md"
    mine = "- Ask Ada before a release on Fridays."
    text = handbook.read_text()
    task = text.index("# Task Group", 5) if text.index(CANARY) < text.index("small") else len(text)
    handbook.write_text(f"{text[:task].rstrip()}\n{mine}\n\n{text[task:]}")
    note = memory.folder / "extensions/ad_hoc/notes/2026-11-18T10-00-00-tea.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("the user drinks tea\n")
    await stored(state, "v1", "the checks run with make check", 10)
    await deleted(state, memory.going)
    seen: list[str] = []

    async def look(tools: Tools, request: ConsolidationRequest) -> None:
        content = (await tools.json("read", path="phase2_workspace_diff.md"))["content"]
        assert isinstance(content, str)
        seen.append(content)
        raise ModelFailed("down", transient=True)

    await phase2_for(state, "v1", ScriptedConsolidator(look)).run(ignore_cooldown=True)
    assert holding(memory.folder, CANARY) == []
    assert mine in handbook.read_text()
    assert note.read_text() == "the user drinks tea\n"
    assert f"+{mine}" in seen[0], "the consolidator is still told of the edit"
    assert "the user drinks tea" in seen[0]
    assert "make check" in seen[0]
    assert CANARY not in seen[0], "and not of what went"


async def test_the_last_thread_that_goes_leaves_a_sound_and_empty_memory(state: State) -> None:
    memory = await remembered(state, "v1")
    await deleted(state, memory.going)
    await deleted(state, memory.staying)
    agent = consolidator("ignores", memory)
    report = await phase2_for(state, "v1", agent).run(ignore_cooldown=True)
    assert report.status == "published"
    assert agent.requests == [], "nobody is asked to remember nothing"
    assert holding(memory.folder, CANARY) == holding(memory.folder, "small") == []
    assert re.match(r"v1\n\n## User Profile", (memory.folder / "memory_summary.md").read_text())
    async with state.database.reading() as read:
        assert await state.outputs.counts(read, "v1") is not None


@pytest.mark.requirement("FR-F4")
@pytest.mark.parametrize("step", PHASE2_STEPS[:3] + PHASE2_STEPS[7:])
async def test_a_withdrawal_that_is_killed_is_done_by_the_next_start(
    tmp_path: Path, step: str
) -> None:
    """At every durable step: after the restart and one pass nothing of the thread is left."""
    home = tmp_path / "home"
    async with opened(home, ManualClock()) as state:
        memory = await remembered(state, "v1")
        await deleted(state, memory.going)
    await _killed_at(home, step)
    async with opened(home, ManualClock(), owner="second") as state:
        await recover(state)
        down = consolidator("down", memory)
        report = await phase2_for(state, "v1", down).run(ignore_cooldown=False)
        assert report.reason in ("model:connection refused", None), report
        assert holding(memory.folder, CANARY) == []
        assert list(state.home.staging.iterdir()) == []
        assert "small" in (memory.folder / "MEMORY.md").read_text()


async def _killed_at(home: Path, step: str) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, phase2_child.__file__, str(home), step, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(child.communicate(), 60)
    assert child.returncode == -signal.SIGKILL, errors.decode()
