"""A citation counts for the outputs of the threads it names, once a message."""

import pytest

from memory_read.citations import Citation, count_usage
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.rows import NOW_MS, a_thread, an_output, thread_id


async def used(state: State, number: int, version: str = "v1") -> tuple[int, int | None]:
    """How often an output was used, and when last."""
    async with state.database.reading() as read:
        found = await state.outputs.get(read, version, thread_id(number))
    assert found is not None
    return found.usage_count, found.last_usage_ms


@pytest.mark.requirement("FR-R10", "MR-9-10", "MW-8.1-usage")
async def test_each_cited_thread_is_counted_once_for_a_message(state: State) -> None:
    """Spellings of one id are one; unknown ids and other words change nothing."""
    async with state.database.writing() as tx:
        for number in (1, 2):
            await state.outputs.put(tx, an_output(number))
        await state.outputs.put(tx, an_output(1, version="v2"))
    one = thread_id(1)
    citation = Citation(rollout_ids=(one, one.upper(), one.replace("-", ""), thread_id(9), "x"))
    assert await count_usage(state, "v1", citation) == 1
    assert await used(state, 1) == (1, NOW_MS)
    assert await used(state, 2) == (0, None)
    assert await used(state, 1, "v2") == (0, None)
    assert await count_usage(state, "v1", citation) == 1
    assert await used(state, 1) == (2, NOW_MS)


async def test_a_citation_without_ids_counts_nothing(state: State) -> None:
    """It asks nothing of the database."""
    assert await count_usage(state, "v1", Citation()) == 0
    assert await count_usage(state, "v1", Citation(rollout_ids=("no uuid",))) == 0


@pytest.mark.requirement("FR-R12")
async def test_what_is_used_every_day_stays_and_what_is_never_used_leaves(
    state: State, clock: ManualClock
) -> None:
    """Two outputs of one age, one cited daily: after 31 days it alone is selected and kept."""
    async with state.database.writing() as tx:
        for number in (1, 2):
            await state.threads.put(tx, a_thread(number))
            await state.outputs.put(tx, an_output(number))
    citation = Citation(rollout_ids=(thread_id(1),))
    for _ in range(31):
        clock.advance(86_400)
        await count_usage(state, "v1", citation)
    async with state.database.writing() as tx:
        chosen = await state.outputs.select(
            tx, version="v1", outputs_max=256, unused_days_max=30, now_ms=clock.now_ms()
        )
        assert [one.output.thread_id for one in chosen] == [thread_id(1)]
        pruned = await state.outputs.prune(
            tx, version="v1", unused_days_max=30, rows_max=200, now_ms=clock.now_ms()
        )
        assert pruned == 1
    assert await used(state, 1) == (31, clock.now_ms())
