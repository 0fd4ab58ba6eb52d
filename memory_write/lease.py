"""Holding a claimed job: a heartbeat while the body runs, and an end when the job is taken over.

Invariant: a body that lost its lease is cancelled at its next await and ends in `LeaseLost`; what
it would still have written is refused by the fence anyway, this only ends the work sooner.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from state.errors import DatabaseBusy, LeaseLost, StateError
from state.recovery import State
from state.stores.jobs import Claim


@asynccontextmanager
async def held(
    state: State, claim: Claim, *, heartbeat_s: int, lease_s: int
) -> AsyncIterator[None]:
    """Keep the lease of a claim while the body runs.

    Raises: LeaseLost.
    """
    body = asyncio.current_task()
    assert body is not None, "a lease is held by a task"
    lost = False

    async def beat() -> None:
        nonlocal lost
        await _until_lost(state, claim, heartbeat_s=heartbeat_s, lease_s=lease_s)
        lost = True
        body.cancel()

    beating = asyncio.create_task(beat(), name=f"lease {claim.kind}/{claim.key}")
    try:
        yield
    except asyncio.CancelledError:
        # Someone else may have cancelled as well; only the last one to ask is answered here.
        if lost and body.uncancel() == 0:
            raise LeaseLost(claim.kind, claim.key, claim.fence) from None
        raise
    finally:
        beating.cancel()
        await asyncio.wait([beating])
    if not beating.cancelled() and (error := beating.exception()) is not None:
        raise error


async def _until_lost(state: State, claim: Claim, *, heartbeat_s: int, lease_s: int) -> None:
    clock = state.clock
    alive_until_ms = clock.now_ms() + lease_s * 1_000
    while True:
        await clock.sleep(heartbeat_s)
        try:
            async with state.database.writing() as tx:
                kept = await state.jobs.heartbeat(tx, claim, lease_s=lease_s)
        except DatabaseBusy:
            # The lease outlives several missed beats; it is given up only when it has run out.
            if clock.now_ms() < alive_until_ms:
                continue
            return
        if not kept:
            return
        alive_until_ms = clock.now_ms() + lease_s * 1_000


async def is_lost(state: State, claim: Claim) -> bool:
    """Whether somebody else has the job or ended it; unknown is no."""
    try:
        async with state.database.glancing() as read:
            return not await state.jobs.holds(read, claim)
    except StateError:
        return False
