"""Editions are decided once; every background token is attributed."""

import pytest

from state.database import Database
from state.stores.editions import EditionInputs, EditionStore
from state.stores.spending import SpendingStore
from tests.support.rows import NOW_MS, thread_id


async def intent(database: Database, editions: EditionStore, version: str = "v1") -> int:
    """An open intent to publish."""
    async with database.writing() as tx:
        return await editions.open_intent(
            tx,
            version=version,
            fence=7,
            commit_id="c0ffee",
            staged="v1-7",
            inputs=EditionInputs(added=(thread_id(1),), removed=(thread_id(2), thread_id(3))),
            made_at_ms=NOW_MS,
        )


@pytest.mark.requirement("MW-9-27")
async def test_an_intent_is_open_until_it_is_decided_once(
    database: Database, editions: EditionStore
) -> None:
    """The first decision stands."""
    first = await intent(database, editions)
    second = await intent(database, editions)
    async with database.reading() as read:
        assert [one.edition_id for one in await editions.open_ones(read)] == [first, second]
        assert await editions.latest(read, "v1") is None
    async with database.writing() as tx:
        assert await editions.publish(tx, first, NOW_MS + 1)
        assert not await editions.abandon(tx, first, NOW_MS + 2)
        assert await editions.abandon(tx, second, NOW_MS + 3)
        assert not await editions.publish(tx, second, NOW_MS + 4)
    async with database.reading() as read:
        assert await editions.open_ones(read) == []
        published = await editions.latest(read, "v1")
        assert published is not None
        assert (published.edition_id, published.state) == (first, "published")
        assert published.decided_at_ms == NOW_MS + 1
        assert published.inputs.removed == (thread_id(2), thread_id(3))
        assert published.inputs.changed == ()
        abandoned = await editions.get(read, second)
        assert abandoned is not None and abandoned.state == "abandoned"
        assert await editions.latest(read, "v2") is None
        assert await editions.get(read, 99) is None


@pytest.mark.requirement("FR-K5")
async def test_spending_is_summed_by_day_and_kind(
    database: Database, spending: SpendingStore
) -> None:
    """Cached tokens are part of the input and not counted twice."""
    work = [
        ("2026-11-29", "extraction", 100, 40, 10),
        ("2026-11-29", "extraction", 1, 0, 2),
        ("2026-11-29", "consolidation", 1_000, 0, 0),
        ("2026-11-30", "extraction", 5, 0, 5),
    ]
    async with database.writing() as tx:
        for day, kind, read_tokens, cached, written in work:
            await spending.add(
                tx,
                day=day,
                kind=kind,
                job_key="job",
                model="model-1",
                input_tokens=read_tokens,
                cached_tokens=cached,
                output_tokens=written,
                at_ms=NOW_MS,
                trigger="turn",
                version="v1",
            )
    async with database.reading() as read:
        assert await spending.total(read, day="2026-11-29", kind="extraction") == 113
        assert await spending.total(read, day="2026-11-29", kind="consolidation") == 1_000
        assert await spending.total(read, day="2026-12-01", kind="extraction") == 0
        rows = await spending.rows(read, day="2026-11-29")
    assert [(row.kind, row.cached_tokens, row.trigger) for row in rows] == [
        ("extraction", 40, "turn"),
        ("extraction", 0, "turn"),
        ("consolidation", 0, "turn"),
    ]
    async with database.writing() as tx:
        assert await spending.prune(tx, before_day="2026-11-30") == 3
    async with database.reading() as read:
        assert len(await spending.rows(read, day="2026-11-30")) == 1
