"""A reset of memory is for good: what was said before it is never learned again."""

from pathlib import Path

import pytest

from memory_write.controls.reset import MemoryReset
from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.report import Phase1Report
from memory_write.phase1.run import Phase1
from state.ids import ThreadId
from state.recovery import State
from state.rollouts.store import RolloutWriter
from tests.room.memory_write.test_reset import NoPasses
from tests.support.clock import ManualClock
from tests.support.learning import (
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)

HOUR_S = 3_600
LATER = "Please use tabs from now on in the shop."


async def heard(
    state: State, model: ScriptedExtraction, *, everything: bool, only: ThreadId | None = None
) -> Phase1Report:
    """One pass."""
    phase1 = Phase1(
        state, ScriptedModels(model), OpenQuota(), Announced(),
        MemorySettings(phase1=Phase1Limits(claims_per_wake_max=8)),
    )  # fmt: skip
    return await phase1.run_pass(
        current_thread=None, busy=frozenset(), everything=everything, only=only
    )


async def go_on(state: State, thread: ThreadId, text: str) -> None:
    """The user says more in a thread."""
    async with state.database.reading() as read:
        row = await state.threads.get(read, thread)
    assert row is not None
    writer = RolloutWriter.open(state.home.root / row.rollout_path, clock=state.clock)
    content = [{"type": "input_text", "text": text}]
    message = {"type": "message", "role": "user", "content": content}
    writer.append([{"type": "response_item", "payload": message}])
    writer.close()
    async with state.database.writing() as tx:
        await state.threads.touch(tx, thread, updated_at_ms=state.clock.now_ms())


@pytest.mark.requirement("FR-S6", "MW-9-2", "MW-F-reset")
@pytest.mark.parametrize("everything", [False, True])
async def test_what_was_forgotten_by_a_reset_is_not_back_hours_later(
    tmp_path: Path, everything: bool
) -> None:
    """Failure table: "`memory/reset`": 7 h later, by itself or on an order, nothing is back.

    A thread that goes on is heard again, but only from what is said since.
    """
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        thread = await put_thread(state, PREFERENCE)
        await put_thread(state, PREFERENCE, name="other")
        model = ScriptedExtraction()
        assert (await heard(state, model, everything=everything)).succeeded == 2
        await MemoryReset(state, NoPasses()).run()
        clock.advance(7 * HOUR_S)
        model.requests.clear()
        report = await heard(state, model, everything=everything)
        assert (report.claimed, model.requests) == (0, [])
        await go_on(state, thread, LATER)
        clock.advance(7 * HOUR_S)
        assert (await heard(state, model, everything=everything)).succeeded == 1
        text = model.requests[0].input_text
        assert LATER in text and PREFERENCE not in text


async def test_an_order_for_one_thread_does_not_undo_a_reset(tmp_path: Path) -> None:
    """Nothing is said since: there is nothing to learn."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        thread = await put_thread(state, PREFERENCE)
        await MemoryReset(state, NoPasses()).run()
        model = ScriptedExtraction()
        await heard(state, model, everything=False, only=thread)
        assert model.requests == []


@pytest.mark.requirement("FR-E10")
async def test_what_is_imported_after_a_reset_is_learned(tmp_path: Path) -> None:
    """Whoever brings sessions in anew wants them."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        await MemoryReset(state, NoPasses()).run()
        clock.advance(60)
        await put_thread(state, PREFERENCE, imported=True)
        assert (await heard(state, ScriptedExtraction(), everything=True)).succeeded == 1


@pytest.mark.requirement("FR-E10")
@pytest.mark.parametrize("relearn", [False, True])
async def test_to_learn_it_all_again_is_a_choice_of_its_own(tmp_path: Path, relearn: bool) -> None:
    """Also after an earlier reset that was for good, and over a restart."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        await put_thread(state, PREFERENCE)
        await MemoryReset(state, NoPasses()).run()
        clock.advance(60)
        await MemoryReset(state, NoPasses()).run(relearn=relearn)
    async with opened(tmp_path / "home", clock, owner="second") as state:
        report = await heard(state, ScriptedExtraction(), everything=False)
        assert report.succeeded == int(relearn)
