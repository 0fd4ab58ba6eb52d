"""Use resets the clock: what is cited stays selected, what nobody uses leaves."""

import pytest

from memory_read.citations import Citation, count_usage
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.rows import NOW_MS, a_thread, an_output, thread_id

DAYS = 31
DAY_S = 86_400
UNUSED_DAYS_MAX = 30


@pytest.mark.requirement("FR-R12")
async def test_what_is_used_daily_for_31_days_stays_and_what_is_not_leaves(
    state: State, clock: ManualClock
) -> None:
    """Both were made on the same day, and the one that stays is none the newer."""
    async with state.database.writing() as tx:
        for number in (1, 2):
            await state.threads.put(tx, a_thread(number))
            await state.outputs.put(tx, an_output(number, source_updated_at_ms=NOW_MS))
    for _ in range(DAYS):
        clock.advance(DAY_S)
        assert await count_usage(state, "v1", Citation(rollout_ids=(thread_id(1),))) == 1
    async with state.database.reading() as read:
        found = await state.outputs.select(
            read,
            version="v1",
            outputs_max=10,
            unused_days_max=UNUSED_DAYS_MAX,
            now_ms=clock.now_ms(),
        )
    assert [one.output.thread_id for one in found] == [thread_id(1)]
    assert found[0].output.usage_count == DAYS
    async with state.database.writing() as tx:
        pruned = await state.outputs.prune(
            tx, version="v1", unused_days_max=UNUSED_DAYS_MAX, rows_max=10, now_ms=clock.now_ms()
        )
    assert pruned == 1
    async with state.database.reading() as read:
        assert await state.outputs.get(read, "v1", thread_id(1)) is not None
        assert await state.outputs.get(read, "v1", thread_id(2)) is None
