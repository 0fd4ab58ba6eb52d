"""A disk that fills at each durable step of learning: old or new, never half, and made good after.

The same process goes on when there is room again: nobody restarts it and nobody asks for it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.run import Phase1
from memory_write.phase2.steps import PHASE2_STEPS
from state.errors import StateError
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, job_of, phase2_of, put_output
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.faults import RecordedSteps
from tests.support.learning import (
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)
from tests.support.small_disk import SmallDisk, small_disk

DAY_S = 86_400
PHASE1_STEPS = ("claimed", "heard", "extracted", "before_store", "stored")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of its own."""
    with small_disk(tmp_path / "disk", mib=4) as mounted:
        yield mounted


def visible(folder: Path) -> dict[str, bytes]:
    """What is published."""
    return {path: data for path, data in contents(folder).items() if not path.startswith(".git")}


@pytest.mark.requirement("FR-S13", "P11", "MW-F-full-disk")
@pytest.mark.parametrize("step", PHASE1_STEPS)
async def test_an_extraction_on_a_full_disk_is_made_good_without_a_restart(
    disk: SmallDisk, step: str
) -> None:
    """Failure table: "Disk full during a turn": the pipeline does not stay dead behind it."""
    clock = ManualClock()
    async with opened(disk.root / "home", clock) as state:
        thread = await put_thread(state, PREFERENCE)
        model = ScriptedExtraction()

        def phase1(steps: RecordedSteps) -> Phase1:
            return Phase1(
                state, ScriptedModels(model), OpenQuota(), Announced(),
                MemorySettings(phase1=Phase1Limits(claims_per_wake_max=8)), steps,
            )  # fmt: skip

        full = phase1(RecordedSteps(at=f"phase1/{step}", action=disk.fill))
        try:
            await full.run_pass(current_thread=None, busy=frozenset(), everything=False)
        except StateError as error:
            assert "full" in str(error)
        disk.free()
        clock.advance(DAY_S)
        again = phase1(RecordedSteps())
        await again.run_pass(current_thread=None, busy=frozenset(), everything=False)
        async with state.database.reading() as read:
            assert await state.outputs.get(read, "v1", thread) is not None
            counts = await state.jobs.counts(read, "v1", kind="extraction")
        assert (counts.done, counts.running, counts.failed) == (1, 0, 0)


@pytest.mark.requirement("FR-S13", "P11")
@pytest.mark.parametrize("step", PHASE2_STEPS)
async def test_a_consolidation_on_a_full_disk_leaves_old_or_new_and_is_made_good(
    disk: SmallDisk, step: str
) -> None:
    """Failure table: "Disk full", "Consolidator's output invalid": what is published is whole."""
    clock = ManualClock()
    async with opened(disk.root / "home", clock) as state:
        live = state.home.memories("v1")
        await put_output(state, "the user wants small commits")
        agent = ScriptedConsolidator(write_well)
        assert (await phase2_of(state, agent).run(ignore_cooldown=True)).status == "published"
        old = visible(live)
        await put_output(state, "the checks run with make check")
        steps = RecordedSteps(at=step, action=disk.fill)
        try:
            await phase2_of(state, agent, steps=steps).run(ignore_cooldown=True)
        except StateError as error:
            assert "full" in str(error)
        assert step in steps.seen
        found = visible(live)
        is_new = b"make check" in found["MEMORY.md"]
        assert is_new or found == old
        disk.free()
        clock.advance(DAY_S)
        await phase2_of(state, agent).run(ignore_cooldown=True)
        assert b"make check" in visible(live)["MEMORY.md"]
        assert len([path for path in visible(live) if path.startswith("rollout_summaries/")]) == 2
        assert not is_new or visible(live) == found
        assert (await job_of(state)).status == "done"
        assert list(state.home.staging.iterdir()) == []
        async with state.database.reading() as read:
            assert await state.editions.open_ones(read) == []
            assert (await state.outputs.counts(read, "v1")).selected == 2
