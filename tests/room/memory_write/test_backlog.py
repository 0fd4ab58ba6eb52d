"""What is due, and when there will be more, without claiming anything."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state.ids import ThreadId
from state.recovery import State
from state.stores.backlog import Backlog
from state.stores.jobs import Claim, Claimed
from state.stores.waiting import WaitingStore
from tests.support.clock import ManualClock
from tests.support.learning import HOUR_MS, opened, put_thread

COOLDOWN_S = 6 * 3_600


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """An empty home."""
    async with opened(tmp_path, ManualClock()) as opened_state:
        yield opened_state


async def due(state: State) -> list[ThreadId]:
    """Threads whose extraction may go on."""
    async with state.database.reading() as read:
        rows = await Backlog().due(
            read, version="v1", now_ms=state.clock.now_ms(), exclude=(), limit=100
        )
    return [row.thread_id for row in rows]


async def ask(state: State, thread_id: ThreadId) -> None:
    """Order a thread."""
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, thread_id)
        assert row is not None
        await Backlog().ask(tx, version="v1", threads=[row])


async def claim(state: State, thread_id: ThreadId) -> Claim:
    """Take a thread as it is."""
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, thread_id)
        assert row is not None
        claimed = await state.jobs.claim_extraction(
            tx,
            version="v1",
            thread_id=thread_id,
            watermark_ms=row.updated_at_ms,
            lease_s=90,
            running_max=8,
        )
    assert isinstance(claimed, Claimed)
    return claimed.claim


async def fail(state: State, claim: Claim, *, in_s: int, uses_retry: bool = False) -> None:
    """End a job badly."""
    async with state.jobs.finishing(state.database, claim) as tx:
        await state.jobs.fail(
            tx,
            claim,
            reason="because",
            retry_at_ms=state.clock.now_ms() + in_s * 1_000,
            uses_retry=uses_retry,
        )


async def next_at_ms(state: State) -> int | None:
    """When there may be more to do."""
    async with state.database.reading() as read:
        return await Backlog().next_at_ms(
            read,
            version="v1",
            now_ms=state.clock.now_ms(),
            idle_hours_min=6,
            cooldown_s=COOLDOWN_S,
        )


async def consolidation_due(state: State) -> bool:
    """Whether a consolidation may run."""
    async with state.database.reading() as read:
        return await Backlog().consolidation_due(
            read, version="v1", now_ms=state.clock.now_ms(), cooldown_s=COOLDOWN_S
        )


async def told(state: State) -> list[str]:
    """Why threads wait, and why the consolidation does."""
    store, now_ms = WaitingStore(), state.clock.now_ms()
    async with state.database.reading() as read:
        threads = await store.threads(
            read, version="v1", now_ms=now_ms, idle_hours_min=6, age_days_max=30
        )
        consolidation = await store.consolidation(
            read, version="v1", now_ms=now_ms, cooldown_s=COOLDOWN_S
        )
    assert consolidation is not None
    return [*(one.why for one in threads), consolidation.why]


async def test_an_ask_is_due_until_it_is_done(state: State) -> None:
    """It survives, and a thread that was heard is not asked for again."""
    thread_id = await put_thread(state, "text")
    await ask(state, thread_id)
    assert await due(state) == [thread_id]
    taken = await claim(state, thread_id)
    assert await due(state) == []
    async with state.jobs.finishing(state.database, taken) as tx:
        await state.jobs.succeed(tx, taken, outcome="learned")
    await ask(state, thread_id)
    assert await due(state) == []


async def test_what_a_person_asks_for_behind_a_reset_is_due_until_it_is_done(state: State) -> None:
    """Though nothing was said since, and whoever began it may be gone: it would wait for ever."""
    assert isinstance(state.clock, ManualClock)
    thread_id = await put_thread(state, "text")
    async with state.database.writing() as tx:
        await state.outputs.clear(tx, "v1", at_ms=state.clock.now_ms())
    await ask(state, thread_id)
    assert await due(state) == [thread_id]
    await claim(state, thread_id)
    assert await due(state) == []
    state.clock.advance(91)
    assert await due(state) == [thread_id]


@pytest.mark.requirement("MW-F-invalid-output")
async def test_an_ask_lifts_delay_and_exhaustion_and_leaves_what_runs(state: State) -> None:
    """A person's word is a new start."""
    thread_id = await put_thread(state, "text")
    for _ in range(3):
        await fail(state, await claim(state, thread_id), in_s=0, uses_retry=True)
    assert await due(state) == []
    await ask(state, thread_id)
    taken = await claim(state, thread_id)
    await ask(state, thread_id)
    async with state.database.writing() as tx:
        assert await state.jobs.heartbeat(tx, taken, lease_s=90)


async def test_what_was_begun_is_due_when_its_delay_or_lease_is_over(state: State) -> None:
    """Until then its time is the next that matters."""
    assert isinstance(state.clock, ManualClock)
    failed = await put_thread(state, "text")
    await fail(state, await claim(state, failed), in_s=100)
    assert await due(state) == []
    assert await next_at_ms(state) == state.clock.now_ms() + 100_000
    state.clock.advance(100)
    assert await due(state) == [failed]
    left = await put_thread(state, "text")
    await claim(state, left)
    state.clock.advance(91)
    assert set(await due(state)) == {failed, left}


async def test_a_thread_that_may_not_be_learned_from_is_never_due(state: State) -> None:
    """Also when it was asked for before."""
    thread_id = await put_thread(state, "text")
    await ask(state, thread_id)
    async with state.database.writing() as tx:
        await state.threads.set_memory_mode(tx, thread_id, "disabled")
    assert await due(state) == []


async def test_the_next_idle_thread_is_the_next_time(state: State) -> None:
    """The one that has rested longest; threads that rest already do not count."""
    assert await next_at_ms(state) is None
    await put_thread(state, "text", idle_hours=7)
    await put_thread(state, "text", idle_hours=1)
    await put_thread(state, "text", idle_hours=2)
    assert await next_at_ms(state) == state.clock.now_ms() + 4 * HOUR_MS


async def test_a_consolidation_is_due_when_handed_on_and_not_held_back(state: State) -> None:
    """A success holds the next one back for the cooldown, unless it is urgent."""
    assert isinstance(state.clock, ManualClock)
    assert not await consolidation_due(state)
    for urgent in (False, True):
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=1)
        assert await consolidation_due(state)
        async with state.database.writing() as tx:
            claimed = await state.jobs.claim_consolidation(
                tx, version="v1", lease_s=90, cooldown_s=COOLDOWN_S, ignore_cooldown=False
            )
            assert isinstance(claimed, Claimed)
        async with state.jobs.finishing(state.database, claimed.claim) as tx:
            await state.jobs.succeed(tx, claimed.claim, outcome="published", starts_cooldown=True)
        assert not await consolidation_due(state)
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=2, urgent=urgent)
        assert await consolidation_due(state) is urgent
        if not urgent:
            assert await next_at_ms(state) == state.clock.now_ms() + COOLDOWN_S * 1_000
            state.clock.advance(COOLDOWN_S)
            assert await consolidation_due(state)


@pytest.mark.requirement("FR-S12")
async def test_what_failed_under_a_clock_that_was_far_ahead_is_due(state: State) -> None:
    """Its wait binds nobody, nor is it told or slept for."""
    assert isinstance(state.clock, ManualClock)
    thread_id = await put_thread(state, "text")
    state.clock.advance(9 * 86_400)
    await fail(state, await claim(state, thread_id), in_s=3_600)
    async with state.database.writing() as tx:
        claimed = await state.jobs.claim_consolidation(
            tx, version="v1", lease_s=90, cooldown_s=COOLDOWN_S, ignore_cooldown=False
        )
    assert isinstance(claimed, Claimed)
    await fail(state, claimed.claim, in_s=3_600)
    assert (await due(state), await consolidation_due(state)) == ([], False)
    assert await told(state) == ["backoff", "backoff"]
    assert await next_at_ms(state) == state.clock.now_ms() + HOUR_MS
    state.clock.advance(-8 * 86_400)
    assert (await due(state), await consolidation_due(state)) == ([thread_id], True)
    assert await told(state) == ["ready", "ready"]
    assert await next_at_ms(state) is None


@pytest.mark.requirement("FR-S12")
async def test_a_thread_that_goes_on_after_its_clock_was_set_right_is_learned_from(
    state: State,
) -> None:
    """It rests though its last change has not come yet, and what is said later is newer."""
    assert isinstance(state.clock, ManualClock)
    state.clock.advance(9 * 86_400)
    thread_id = await put_thread(state, "text", idle_hours=0)
    taken = await claim(state, thread_id)
    async with state.jobs.finishing(state.database, taken) as tx:
        await state.jobs.succeed(tx, taken, outcome="learned")
        await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=1)
    state.clock.advance(-8 * 86_400)
    assert await told(state) == ["ready"]  # the consolidation; the thread is up to date
    async with state.database.writing() as tx:
        await state.threads.touch(tx, thread_id, updated_at_ms=state.clock.now_ms())
    assert await told(state) == ["ready", "ready"]
    assert await next_at_ms(state) is None
    assert (await claim(state, thread_id)).watermark_ms == taken.watermark_ms + 1


async def test_what_a_clock_that_was_far_ahead_left_running_is_due(state: State) -> None:
    """Once the clock is right again nobody holds it, and so it is told."""
    assert isinstance(state.clock, ManualClock)
    thread_id = await put_thread(state, "text")
    state.clock.advance(9 * 86_400)
    await claim(state, thread_id)
    async with state.database.writing() as tx:
        await state.jobs.claim_consolidation(
            tx, version="v1", lease_s=90, cooldown_s=COOLDOWN_S, ignore_cooldown=False
        )
    assert (await due(state), await consolidation_due(state)) == ([], False)
    assert await told(state) == ["running", "running"]
    state.clock.advance(-8 * 86_400)
    assert (await due(state), await consolidation_due(state)) == ([thread_id], True)
    assert await told(state) == ["ready", "ready"]
