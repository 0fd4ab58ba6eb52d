"""What `memoryd doctor` says of learning, while the home is served and afterwards."""

import asyncio
from pathlib import Path

from server.cli import doctor
from server.cli.render import when
from state.stores.jobs import Claimed
from tests.support.homes import serving


async def test_a_consolidation_that_failed_is_a_fault_with_its_reason_and_the_next_step(
    tmp_path: Path,
) -> None:
    """And a home that never published is not told to import what it has."""
    async with serving(tmp_path) as home:
        assert doctor.learning_check(home.home) == []
        state = home.server.services.state
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=1)
            found = await state.jobs.claim_consolidation(
                tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True
            )
            assert isinstance(found, Claimed)
        retry_at_ms = state.clock.now_ms() + 3_600_000
        async with state.jobs.finishing(state.database, found.claim) as tx:
            await state.jobs.fail(
                tx,
                found.claim,
                reason="unsound: MEMORY.md is missing",
                retry_at_ms=retry_at_ms,
                uses_retry=True,
            )
        [check] = await asyncio.to_thread(doctor.learning_check, home.home)
    [after] = doctor.learning_check(home.home)
    assert after == check and not check.ok
    assert check.found.startswith("failed: consolidation v1: what the model wrote was refused: ")
    assert f"MEMORY.md is missing, again from {when(retry_at_ms)}" in check.found
    assert check.hint is not None and "`memoryd consolidate --wait`" in check.hint
