"""A process that is killed in the middle of an extraction leaves it to the next one."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.run import Phase1
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

CHECKOUT = Path(__file__).resolve().parents[3]
VICTIM = """
import asyncio, sys
from pathlib import Path
from memory_write.limits import MemorySettings
from memory_write.phase1.run import Phase1
from tests.support.clock import ManualClock
from tests.support.faults import RecordedSteps, kill_this_process
from tests.support.learning import *

async def main():
    async with opened(Path(sys.argv[1]), ManualClock(), "victim") as state:
        phase1 = Phase1(
            state, ScriptedModels(ScriptedExtraction()), OpenQuota(), Announced(),
            MemorySettings(), RecordedSteps(at=sys.argv[2], action=kill_this_process),
        )
        await phase1.run_pass(current_thread=None, busy=frozenset(), everything=True)

asyncio.run(main())
"""


@pytest.mark.requirement("P11", "MW-F-kill-phase1")
@pytest.mark.parametrize(
    ("step", "stored"),
    [
        ("phase1/claimed", False),
        ("phase1/heard", False),
        ("phase1/extracted", False),
        ("phase1/before_store", False),
        ("phase1/stored", True),
    ],
)
async def test_kill_9_in_phase_1_leaves_nothing_half_and_the_next_start_finishes(
    tmp_path: Path, step: str, stored: bool
) -> None:
    """The next owner needs no order and no wait: the work was noted before it began."""
    async with opened(tmp_path, ManualClock(), "maker") as state:
        threads = [
            await put_thread(state, PREFERENCE, idle_hours=24 * 40, name=str(number))
            for number in range(2)
        ]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        VICTIM,
        str(tmp_path),
        step,
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )
    assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    async with opened(tmp_path, ManualClock(), "next") as state:
        async with state.database.reading() as read:
            before = await state.outputs.counts(read, "v1")
            jobs = await state.jobs.counts(read, "v1", kind="extraction")
        assert before.total == jobs.done
        assert (before.total > 0) is stored
        phase1 = Phase1(
            state,
            ScriptedModels(ScriptedExtraction()),
            OpenQuota(),
            Announced(),
            MemorySettings(phase1=Phase1Limits(claims_per_wake_max=8)),
        )
        report = await phase1.run_pass(current_thread=None, busy=frozenset(), everything=False)
        assert report.succeeded == len(threads) - before.total
        async with state.database.reading() as read:
            assert (await state.outputs.counts(read, "v1")).total == len(threads)
