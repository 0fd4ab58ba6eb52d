"""Outputs of phase 1: what replaces what, the selection, use and pruning."""

import asyncio
from typing import Any

import pytest

from state.database import Database
from state.stores.outputs import Output, OutputStore, SelectedOutput
from state.stores.threads import ThreadStore
from tests.support.rows import DAY_MS, NOW_MS, a_thread, an_output, thread_id


@pytest.fixture
async def known(database: Database, threads: ThreadStore) -> None:
    """Nine enabled threads."""
    async with database.writing() as tx:
        for number in range(1, 10):
            await threads.put(tx, a_thread(number, git_branch="main", cwd=f"/p{number}"))


async def put(database: Database, outputs: OutputStore, *rows: Output) -> None:
    """Write some outputs."""
    async with database.writing() as tx:
        for row in rows:
            await outputs.put(tx, row)


async def select(
    database: Database, outputs: OutputStore, outputs_max: int = 10, **changes: Any
) -> list[int]:
    """The numbers of the selected threads."""
    values: dict[str, Any] = {"version": "v1", "unused_days_max": 30, "now_ms": NOW_MS}
    async with database.reading() as read:
        found = await outputs.select(read, outputs_max=outputs_max, **(values | changes))
    return numbers(found)


def numbers(found: list[SelectedOutput]) -> list[int]:
    """The numbers of the threads."""
    return [int(one.output.thread_id[-12:]) for one in found]


async def get(database: Database, outputs: OutputStore, number: int) -> Output:
    """One output that is there."""
    async with database.reading() as read:
        found = await outputs.get(read, "v1", thread_id(number))
    assert found is not None
    return found


@pytest.mark.requirement("MW-8.1-regenerated")
async def test_texts_are_replaced_by_the_same_or_a_newer_state_only(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """Usage and selection stay with the row."""
    await put(database, outputs, an_output(1, source_updated_at_ms=100))
    async with database.writing() as tx:
        await outputs.mark_selected(tx, version="v1", selected=[(thread_id(1), 100)])
        await outputs.count_usage(tx, version="v1", thread_ids=[thread_id(1)], now_ms=7)
        same = an_output(1, source_updated_at_ms=100, raw_memory="same", rollout_slug=None)
        assert await outputs.put(tx, same)
        assert not await outputs.put(tx, an_output(1, source_updated_at_ms=99, raw_memory="old"))
    found = await get(database, outputs, 1)
    assert (found.raw_memory, found.rollout_slug) == ("same", None)
    assert (found.usage_count, found.last_usage_ms) == (1, 7)
    assert (found.selected, found.selected_source_updated_at_ms) == (True, 100)
    await put(database, outputs, an_output(1, source_updated_at_ms=101))
    found = await get(database, outputs, 1)
    # Selected before, and what was consolidated is the older state.
    assert (found.selected, found.selected_source_updated_at_ms) == (True, 100)


@pytest.mark.requirement("MW-8.1-top-n", "MW-8.1-ranking")
async def test_the_selection_is_the_best_ranked_by_thread_id(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """Use counts first, then how lately it was used or changed; the making time does not count."""
    old, older = NOW_MS - 2 * DAY_MS, NOW_MS - 9 * DAY_MS
    await put(
        database,
        outputs,
        an_output(1, usage_count=5, last_usage_ms=older),
        an_output(2, usage_count=1, last_usage_ms=NOW_MS),
        an_output(3, usage_count=5, last_usage_ms=old),
        an_output(4, source_updated_at_ms=old, generated_at_ms=0),
        an_output(5, source_updated_at_ms=older, generated_at_ms=NOW_MS),
    )
    ranking = [[3], [1, 3], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5]]
    for outputs_max, wanted in enumerate(ranking, start=1):
        assert await select(database, outputs, outputs_max) == wanted
    assert await select(database, outputs, 0) == []


@pytest.mark.requirement("MW-8.1-outputs-hydrated")
async def test_a_selected_output_brings_its_thread(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """Working directory, branch and rollout come with it."""
    await put(database, outputs, an_output(2))
    async with database.reading() as read:
        found = await outputs.select(
            read, version="v1", outputs_max=1, unused_days_max=None, now_ms=NOW_MS
        )
    assert found == [
        SelectedOutput(output=an_output(2), thread=a_thread(2, git_branch="main", cwd="/p2"))
    ]


@pytest.mark.requirement("MW-8.1-unused")
async def test_stale_outputs_leave_and_use_resets_their_clock(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """31 days unused is out; used yesterday stays whatever its age; both ends count as fresh."""
    await put(
        database,
        outputs,
        an_output(1, last_usage_ms=NOW_MS - 31 * DAY_MS, usage_count=9),
        an_output(2, source_updated_at_ms=NOW_MS - 2 * DAY_MS),
        an_output(3, source_updated_at_ms=NOW_MS - 300 * DAY_MS, last_usage_ms=NOW_MS - DAY_MS),
        an_output(4, source_updated_at_ms=NOW_MS - 30 * DAY_MS),
        an_output(5, source_updated_at_ms=NOW_MS - 30 * DAY_MS - 1),
    )
    assert await select(database, outputs) == [2, 3, 4]
    assert await select(database, outputs, unused_days_max=None) == [1, 2, 3, 4, 5]


async def test_the_clock_of_an_imported_thread_starts_at_its_import(
    database: Database, outputs: OutputStore, threads: ThreadStore, known: None
) -> None:
    """A session of last year that came yesterday is fresh; one that came long ago is not."""
    last_year = NOW_MS - 365 * DAY_MS
    async with database.writing() as tx:
        await threads.put(tx, a_thread(1, imported_at_ms=NOW_MS - DAY_MS))
        await threads.put(tx, a_thread(2, imported_at_ms=NOW_MS - 40 * DAY_MS))
    await put(database, outputs, *(an_output(n, source_updated_at_ms=last_year) for n in (1, 2, 3)))
    assert await select(database, outputs) == [1]
    async with database.writing() as tx:
        pruned = await outputs.prune(
            tx, version="v1", unused_days_max=30, rows_max=9, now_ms=NOW_MS
        )
    assert pruned == 2
    assert await select(database, outputs, unused_days_max=None) == [1]


@pytest.mark.requirement("MW-8.1-blank", "MW-8.1-polluted-out", "MW-9-26")
async def test_blank_outputs_and_threads_that_may_not_be_learned_are_left_out(
    database: Database, outputs: OutputStore, threads: ThreadStore, known: None
) -> None:
    """White space of any kind is blank; one of the two texts is enough."""
    await put(
        database,
        outputs,
        an_output(1, raw_memory="", rollout_summary=" \n\t\r\n "),
        an_output(2, raw_memory=""),
        an_output(3, rollout_summary=""),
        an_output(4),
        an_output(5),
        an_output(6),
        an_output(77),
    )
    async with database.writing() as tx:
        await threads.set_memory_mode(tx, thread_id(4), "polluted")
        await threads.set_memory_mode(tx, thread_id(5), "disabled")
        await threads.put(tx, a_thread(6, history_mode="legacy", archived=True))
    assert await select(database, outputs) == [2, 3, 6]
    # What may not be selected takes no place of what may.
    assert await select(database, outputs, 3) == [2, 3, 6]
    async with database.reading() as read:
        latest = await outputs.latest(read, version="v1", outputs_max=1)
    assert numbers(latest) == [6]


@pytest.mark.requirement("FR-S1", "MW-9-15")
async def test_rows_that_come_between_do_not_tear_the_selection(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """A better row arrives while a snapshot is open: it is in the next one, whole."""
    await put(database, outputs, *(an_output(n) for n in (1, 2, 3)))
    async with database.reading() as read:
        values: dict[str, Any] = {"version": "v1", "unused_days_max": 30, "now_ms": NOW_MS}
        first = await outputs.select(read, outputs_max=2, **values)
        await put(database, outputs, an_output(4, usage_count=99))
        second = await outputs.select(read, outputs_max=2, **values)
        assert numbers(first) == numbers(second) == [2, 3]
    assert await select(database, outputs, 2) == [3, 4]


@pytest.mark.requirement("MW-8.1-exact-marks")
async def test_marks_are_set_on_exactly_what_was_consolidated(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """A row that changed during the run is not marked; earlier marks go."""
    await put(database, outputs, *(an_output(n, source_updated_at_ms=100) for n in (1, 2, 3)))
    async with database.writing() as tx:
        marks = [(thread_id(1), 100), (thread_id(2), 100)]
        assert await outputs.mark_selected(tx, version="v1", selected=marks) == 2
    await put(database, outputs, an_output(2, source_updated_at_ms=101))
    async with database.writing() as tx:
        marks = [(thread_id(2), 100), (thread_id(3), 100), (thread_id(9), 100)]
        assert await outputs.mark_selected(tx, version="v1", selected=marks) == 1
    found = [await get(database, outputs, n) for n in (1, 2, 3)]
    assert [one.selected for one in found] == [False, False, True]
    assert [one.selected_source_updated_at_ms for one in found] == [None, None, 100]
    async with database.writing() as tx:
        marks = [(thread_id(2), 101)]
        await outputs.mark_selected(tx, version="v1", selected=marks)
    assert (await get(database, outputs, 2)).selected_source_updated_at_ms == 101
    async with database.reading() as read:
        counts = await outputs.counts(read, "v1")
    assert (counts.total, counts.selected) == (3, 1)


@pytest.mark.requirement("MW-8.1-usage")
async def test_each_use_that_is_given_counts(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """Twice given is twice counted; unknown threads change nothing."""
    await put(database, outputs, an_output(1), an_output(2))
    used = [thread_id(1), thread_id(1), thread_id(2), thread_id(8)]
    async with database.writing() as tx:
        counted = await outputs.count_usage(tx, version="v1", thread_ids=used, now_ms=NOW_MS)
    assert counted == 3
    found = [await get(database, outputs, n) for n in (1, 2)]
    assert [(one.usage_count, one.last_usage_ms) for one in found] == [(2, NOW_MS), (1, NOW_MS)]


async def test_uses_at_the_same_time_are_all_counted(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """Twenty messages end at once."""
    await put(database, outputs, an_output(1))

    async def use() -> None:
        async with database.writing() as tx:
            await outputs.count_usage(tx, version="v1", thread_ids=[thread_id(1)], now_ms=NOW_MS)

    await asyncio.gather(*(use() for _ in range(20)))
    assert (await get(database, outputs, 1)).usage_count == 20


@pytest.mark.requirement("MW-8.1-prune")
async def test_pruning_takes_the_stalest_a_few_at_a_time_and_nothing_selected(
    database: Database, outputs: OutputStore, known: None
) -> None:
    """Fresh use keeps an old row."""
    ages = {1: 90, 2: 60, 3: 50, 4: 40, 5: 29}
    rows = [an_output(n, source_updated_at_ms=NOW_MS - age * DAY_MS) for n, age in ages.items()]
    await put(
        database,
        outputs,
        *rows,
        an_output(6, source_updated_at_ms=NOW_MS - 99 * DAY_MS, last_usage_ms=NOW_MS),
    )
    async with database.writing() as tx:
        marks = [(thread_id(1), NOW_MS - 90 * DAY_MS)]
        await outputs.mark_selected(tx, version="v1", selected=marks)
        prune: dict[str, Any] = {"version": "v1", "unused_days_max": 30, "now_ms": NOW_MS}
        assert await outputs.prune(tx, rows_max=2, **prune) == 2
    assert await select(database, outputs, unused_days_max=None) == [1, 4, 5, 6]
    async with database.writing() as tx:
        assert await outputs.prune(tx, rows_max=200, **prune) == 1
        assert await outputs.prune(tx, rows_max=200, **prune) == 0
    assert await select(database, outputs, unused_days_max=None) == [1, 5, 6]


async def test_versions_are_apart_and_a_reset_empties_one(
    database: Database, outputs: OutputStore, threads: ThreadStore, known: None
) -> None:
    """Outputs and progress of the other version and all threads stay."""
    await put(database, outputs, an_output(1), an_output(1, version="v2", raw_memory=""))
    async with database.writing() as tx:
        for version in ("v1", "v2"):
            await outputs.raise_consolidated(tx, version, 5)
            await outputs.raise_consolidated(tx, version, 3)
        await threads.set_memory_mode(tx, thread_id(2), "disabled")
        assert await outputs.versions_of(tx, thread_id(1)) == {"v1": False, "v2": False}
        assert await outputs.clear(tx, "v1") == 1
    async with database.reading() as read:
        assert await outputs.max_consolidated(read, "v1") == 0
        assert await outputs.max_consolidated(read, "v2") == 5
        assert await outputs.versions_of(read, thread_id(1)) == {"v2": False}
        row = await threads.get(read, thread_id(2))
        assert row is not None and row.memory_mode == "disabled"
    async with database.writing() as tx:
        assert not await outputs.delete(tx, "v1", thread_id(1))
        assert await outputs.delete(tx, "v2", thread_id(1))
