"""A lease is kept by heartbeats, and its loss ends the work."""

import asyncio
from pathlib import Path

import pytest

from memory_write.lease import held
from state.errors import LeaseLost
from state.recovery import State
from state.stores.jobs import Claim, Claimed
from tests.support.clock import ManualClock
from tests.support.learning import WatchedClock, opened, put_thread


async def claim_one(state: State, lease_s: int = 90) -> Claim:
    """The extraction of a fresh thread."""
    thread_id = await put_thread(state, "text")
    async with state.database.writing() as tx:
        claimed = await state.jobs.claim_extraction(
            tx, version="v1", thread_id=thread_id, watermark_ms=1, lease_s=lease_s, running_max=8
        )
    assert isinstance(claimed, Claimed)
    return claimed.claim


async def lease_until_ms(state: State, claim: Claim) -> int | None:
    """What stands in the row."""
    async with state.database.reading() as read:
        row = await state.jobs.get(read, version="v1", kind="extraction", key=claim.key)
    return row.lease_until_ms if row else None


@pytest.mark.requirement("MW-9-10")
async def test_heartbeats_move_the_lease_while_the_body_runs(tmp_path: Path) -> None:
    """Each one sets it anew; after the body nothing beats."""
    clock = WatchedClock()
    async with opened(tmp_path, clock) as state:
        claim = await claim_one(state)
        async with held(state, claim, heartbeat_s=15, lease_s=90):
            first = await lease_until_ms(state, claim)
            assert first is not None
            await clock.someone_sleeps()
            clock.advance(15)
            await clock.someone_sleeps()
            assert await lease_until_ms(state, claim) == first + 15_000
        clock.advance(60)
        assert await lease_until_ms(state, claim) == first + 15_000


@pytest.mark.requirement("FR-S12")
async def test_a_body_whose_job_was_taken_over_is_ended(tmp_path: Path) -> None:
    """It learns at the next heartbeat, in the middle of whatever it awaits."""
    clock = WatchedClock()
    async with opened(tmp_path, clock) as state:
        claim = await claim_one(state)
        async with state.database.writing() as tx:
            await state.jobs.clear(tx, "v1")

        async def work() -> None:
            async with held(state, claim, heartbeat_s=15, lease_s=90):
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await clock.someone_sleeps()
        clock.advance(15)
        async with asyncio.timeout(5):
            with pytest.raises(LeaseLost):
                await task
        assert task.cancelling() == 0


async def test_a_cancellation_from_outside_stays_one(tmp_path: Path) -> None:
    """Only the lease's own cancellation becomes a lost lease."""
    async with opened(tmp_path, ManualClock()) as state:
        claim = await claim_one(state)
        began = asyncio.Event()

        async def work() -> None:
            async with held(state, claim, heartbeat_s=15, lease_s=90):
                began.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_error_of_the_body_passes_through(tmp_path: Path) -> None:
    """The heartbeat ends with it."""
    async with opened(tmp_path, ManualClock()) as state:
        claim = await claim_one(state)
        with pytest.raises(ZeroDivisionError):
            async with held(state, claim, heartbeat_s=15, lease_s=90):
                raise ZeroDivisionError
