"""A disk that fills at each durable step of learning: old or new, never half, and made good after.

The same process goes on when there is room again: nobody restarts it and nobody asks for it.
"""

import asyncio
import contextlib
import shutil
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
from tests.support.reference_model import Seen, broken_jobs, look
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.swept_operations import ON_STATE, prepare, settled

DAY_S = 86_400
LATER_MS = 5 * 3_600_000
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


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with published memory, and with work for every operation."""
    root = tmp_path_factory.mktemp("prepared") / "home"
    asyncio.run(prepare(root))
    return root


def seen(root: Path) -> Seen:
    """The home as it lies there."""
    return look(root / "state.sqlite", {"v1": root / "memories"})["v1"]


def kept(found: Seen) -> tuple[object, ...]:
    """What an operation changes as one."""
    outputs = [(one["thread_id"], one["raw_memory"], one["selected"]) for one in found.outputs]
    return outputs, [one["thread_id"] for one in found.threads]


async def carried_out(root: Path, operation: str) -> Seen:
    """What the home is when the operation went through after the next start."""
    async with settled(root, "next", later_ms=LATER_MS) as state:
        await ON_STATE[operation](state, None)
    return seen(root)


@pytest.mark.requirement("FR-S13", "P11", "MW-F-full-disk")
@pytest.mark.parametrize("left_kib", [0, 64])
@pytest.mark.parametrize("operation", [one for one in ON_STATE if one != "publish"])
async def test_an_operation_without_room_is_whole_or_nothing_and_goes_through_later(
    disk: SmallDisk, prepared: Path, tmp_path: Path, operation: str, left_kib: int
) -> None:
    """Claim, store, prune, reset, delete: no torn file, no half row, nothing to mend."""
    shutil.copytree(prepared, tmp_path / "wanted")
    wanted = await carried_out(tmp_path / "wanted", operation)
    root = disk.root / "home"
    shutil.copytree(prepared, root)
    before = seen(root)
    async with settled(root, "worker") as state:
        disk.fill_but(left_kib)
        with contextlib.suppress(StateError, OSError):
            await ON_STATE[operation](state, None)
        found = seen(root)
    assert broken_jobs(found) == []
    assert kept(found) in (kept(before), kept(wanted))
    if operation != "reset":  # it empties the folder entry by entry, after its rows
        standing = {path: file.data for path, file in found.folder.files.items()}
        ends = [{path: file.data for path, file in one.folder.files.items()} for one in
                (before, wanted)]  # fmt: skip
        assert standing in ends or found.head != before.head
    disk.free()
    ended = await carried_out(root, operation)
    assert (kept(ended), ended.facts) == (kept(wanted), wanted.facts)
