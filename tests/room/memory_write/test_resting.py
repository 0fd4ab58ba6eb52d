"""A look that trusts the one before gives what a look at every thread gives."""

import random
from pathlib import Path

import pytest

from memory_write.housekeeping import Housekeeping
from memory_write.limits import DAY_S, MemorySettings, Phase1Limits
from memory_write.phase1.resting import RestingThreads
from state.ids import ThreadId
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.learning import opened
from tests.support.rows import a_thread, an_output, thread_id

LIMITS = Phase1Limits(age_days_max=10, idle_hours_min=6, scan_max=8)
THREADS = 12
HOUR_S = 3_600


async def _looked(state: State, resting: RestingThreads, exclude: frozenset[ThreadId]) -> list[str]:
    changes, now_ms = state.database.changes, state.clock.now_ms()
    async with state.database.reading() as read:
        found = await resting.look(read, changes=changes, now_ms=now_ms, exclude=exclude)
    return [row.thread_id for row in found]


async def _something_happens(state: State, chance: random.Random) -> None:
    """A thread comes, goes on, changes its mode, is archived or is learned from."""
    number, now_ms = chance.randrange(THREADS), state.clock.now_ms()
    at_ms = now_ms - chance.choice((0, 1, 5, 7, 100, 300)) * HOUR_S * 1_000
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, thread_id(number))
        match chance.randrange(5):
            case 1 if row is not None:
                mode = chance.choice(("enabled", "disabled"))
                await state.threads.set_memory_mode(tx, row.thread_id, mode)  # type: ignore[arg-type]
            case 2 if row is not None:
                output = an_output(number, source_updated_at_ms=row.updated_at_ms)
                await state.outputs.put(tx, output)
            case _:
                await state.threads.put(tx, a_thread(number, updated_at_ms=at_ms))


@pytest.mark.requirement("FR-T19")
@pytest.mark.parametrize("seed", range(8))
async def test_what_rests_is_found_whatever_was_looked_at_before(seed: int, tmp_path: Path) -> None:
    """While time goes by, threads change, and others are excluded."""
    chance, clock = random.Random(seed), ManualClock()
    seen: set[str] = set()
    async with opened(tmp_path, clock) as state:
        resting = RestingThreads(state, LIMITS, "v1")
        for _ in range(120):
            if chance.random() < 0.4:
                await _something_happens(state, chance)
            clock.advance(chance.choice((0, 1, 60, HOUR_S, 5 * HOUR_S, -HOUR_S, 50 * HOUR_S)))
            exclude = frozenset({thread_id(1)} if chance.random() < 0.2 else ())
            found = await _looked(state, resting, exclude)
            assert found == await _looked(state, RestingThreads(state, LIMITS, "v1"), exclude)
            seen.update(found)
    assert len(seen) > THREADS / 2, "hardly any thread ever rested"


@pytest.mark.requirement("FR-T19")
async def test_a_change_that_was_rolled_back_or_changed_nothing_is_none(tmp_path: Path) -> None:
    """Commits alone count, and only of rows."""
    async with opened(tmp_path, ManualClock()) as state:
        database = state.database
        before = database.changes
        async with database.writing():
            pass
        with pytest.raises(KeyError):
            async with database.writing() as tx:
                await state.threads.put(tx, a_thread(1))
                raise KeyError
        async with database.writing() as tx:
            assert not await state.threads.set_name(tx, thread_id(7), "nobody")
        calm = database.changes
        async with database.writing() as tx:
            await state.threads.put(tx, a_thread(1))
        assert database.changes == calm + 1
        assert calm - before <= 1  # what was rolled back may count once, which costs one look


@pytest.mark.requirement("FR-T19")
async def test_old_rows_go_when_something_was_written_and_once_a_day(tmp_path: Path) -> None:
    """What became old by time alone waits for a day at most."""
    clock = ManualClock()
    settings = MemorySettings(enabled=True)
    async with opened(tmp_path, clock) as state:
        house = Housekeeping(state)
        await house.keep(settings)
        old_ms = clock.now_ms() - settings.phase2.unused_days_max * DAY_S * 1_000 + HOUR_S * 1_000
        async with state.database.writing() as tx:
            await state.threads.put(tx, a_thread(1, updated_at_ms=old_ms))
            await state.outputs.put(tx, an_output(1, source_updated_at_ms=old_ms))
        await house.keep(settings)
        assert await _outputs(state) == 1
        clock.advance(2 * HOUR_S)
        await house.keep(settings)
        assert await _outputs(state) == 1, "it was looked at again though nothing was written"
        clock.advance(DAY_S)
        await house.keep(settings)
        assert await _outputs(state) == 0


async def _outputs(state: State) -> int:
    async with state.database.reading() as read:
        return (await state.outputs.counts(read, "v1")).total
