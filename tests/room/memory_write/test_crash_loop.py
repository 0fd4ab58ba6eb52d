"""A session whose extraction kills the process is given up; all others are learned from."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.run import Phase1
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import DEATHS_MAX, DEATHS_PAUSE_MS, Claimed, JobRow
from state.stores.refusals import Skipped
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
POISON = "This is the poisonous one; always use the linter."
VICTIM = """
import asyncio, sys
from pathlib import Path
from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.run import Phase1
from tests.support.clock import ManualClock
from tests.support.faults import kill_this_process
from tests.support.learning import *

async def answer(request):
    # Whoever is heard together with the poisonous one is still being heard when it strikes.
    for _ in range(200):
        await asyncio.sleep(0)
    if "poisonous" in "".join(request.messages):
        kill_this_process()
    return GOOD_REPLY

async def main():
    async with opened(Path(sys.argv[1]), ManualClock(), sys.argv[2]) as state:
        phase1 = Phase1(
            state, ScriptedModels(ScriptedExtraction(answer)), OpenQuota(), Announced(),
            MemorySettings(phase1=Phase1Limits(claims_per_wake_max=16)),
        )
        for _ in range(8):
            await phase1.run_pass(current_thread=None, busy=frozenset(), everything=False)

asyncio.run(main())
"""


async def run(home: Path, owner: int) -> int:
    """One life of a process that learns; its status."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", VICTIM, str(home), f"owner {owner}",
        cwd=CHECKOUT, env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    return await asyncio.wait_for(process.wait(), 60)


async def job_of(state: State, thread_id: ThreadId) -> JobRow | None:
    """The extraction of a thread."""
    async with state.database.reading() as read:
        return await state.jobs.get(read, version="v1", kind="extraction", key=thread_id)


@pytest.mark.requirement("P11", "MW-9-10")
async def test_the_session_that_kills_the_process_is_given_up_and_no_other(tmp_path: Path) -> None:
    """Failure table: "`kill -9` in phase 1"; weak spot 10: a poisonous rollout for ever.

    Seven were heard beside it when the process died first; each is heard alone after that, so its
    next deaths are nobody else's.
    """
    async with opened(tmp_path, ManualClock(), "maker") as state:
        good = [await put_thread(state, PREFERENCE, name=str(number)) for number in range(7)]
        poison = await put_thread(state, POISON, name="poison")
    statuses = [await run(tmp_path, life) for life in range(DEATHS_MAX)]
    assert statuses == [-signal.SIGKILL] * DEATHS_MAX
    assert await run(tmp_path, DEATHS_MAX) == 0
    async with opened(tmp_path, ManualClock(), "last") as state:
        for thread in good:
            job = await job_of(state, thread)
            assert job is not None and (job.status, job.outcome) == ("done", "learned")
        job = await job_of(state, poison)
        assert job is not None
        assert (job.status, job.reason, job.attempts_left) == ("failed", "process_died", 0)
        async with state.database.reading() as read:
            counts = await state.jobs.counts(read, "v1", kind="extraction")
        assert (counts.done, counts.exhausted) == (7, 1)


@pytest.mark.requirement("P11")
async def test_restarts_that_give_their_work_back_exhaust_nothing(tmp_path: Path) -> None:
    """Failure table: "Clean stop (stdin closed)": however often a server is stopped."""
    clock = ManualClock()
    async with opened(tmp_path, clock, "maker") as state:
        thread = await put_thread(state, PREFERENCE)
    for life in range(DEATHS_MAX + 2):
        async with opened(tmp_path, clock, f"owner {life}") as state:
            started = asyncio.Event()

            async def hangs(request: object, started: asyncio.Event = started) -> str:
                started.set()
                await asyncio.Event().wait()
                return ""

            phase1 = Phase1(
                state,
                ScriptedModels(ScriptedExtraction(hangs)),
                OpenQuota(),
                Announced(),
                MemorySettings(phase1=Phase1Limits(claims_per_wake_max=8)),
            )
            running = asyncio.create_task(
                phase1.run_pass(current_thread=None, busy=frozenset(), everything=False)
            )
            async with asyncio.timeout(5):
                await started.wait()
            running.cancel()
            await asyncio.wait([running])
            job = await job_of(state, thread)
            assert job is not None and job.reason == "cancelled" and job.attempts_left == 3


async def test_a_session_that_went_on_is_heard_again(tmp_path: Path) -> None:
    """What came since is other work than the one that the process died over."""
    clock = ManualClock()
    async with opened(tmp_path, clock, "maker") as state:
        thread = await put_thread(state, PREFERENCE)
        async with state.database.reading() as read:
            row = await state.threads.get(read, thread)
        assert row is not None
    for life in range(DEATHS_MAX):
        async with opened(tmp_path, clock, f"owner {life}") as state:
            async with state.database.writing() as tx:
                await state.jobs.claim_extraction(
                    tx, version="v1", thread_id=thread, watermark_ms=row.updated_at_ms,
                    lease_s=90, running_max=8,
                )  # fmt: skip
    async with opened(tmp_path, clock, "last") as state:
        job = await job_of(state, thread)
        assert job is not None and job.reason == "process_died"
        async with state.database.writing() as tx:
            await state.threads.touch(tx, thread, updated_at_ms=row.updated_at_ms + 60_000)
        phase1 = Phase1(
            state, ScriptedModels(ScriptedExtraction()), OpenQuota(), Announced(), MemorySettings()
        )
        report = await phase1.run_pass(current_thread=None, busy=frozenset(), everything=False)
        assert report.succeeded == 1


@pytest.mark.requirement("P11")
async def test_a_consolidation_that_kills_the_process_waits_and_is_not_the_end_of_the_server(
    tmp_path: Path,
) -> None:
    """Failure table: "`kill -9` in phase 2": no crash loop; what is urgent is still tried."""
    clock = ManualClock()

    async def claim(state: State) -> Claimed | Skipped:
        async with state.database.writing() as tx:
            return await state.jobs.claim_consolidation(
                tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True
            )

    for life in range(DEATHS_MAX):
        async with opened(tmp_path, clock, f"owner {life}") as state:
            assert isinstance(await claim(state), Claimed)
    async with opened(tmp_path, clock, "last") as state:
        assert await claim(state) == Skipped(
            reason="backoff", until_ms=clock.now_ms() + DEATHS_PAUSE_MS
        )
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=1, urgent=True)
        assert isinstance(await claim(state), Claimed)
