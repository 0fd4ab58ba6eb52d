"""Jobs: claims, leases, fences, retries and the one consolidation of a version.

Longer than the habit: the facts about claims are one table, in the order of their source.
"""

import asyncio

import pytest

from state.database import Database
from state.errors import LeaseLost
from state.stores.jobs import Claim, Claimed, JobRow, JobStore
from state.stores.outputs import OutputStore
from state.stores.refusals import RETRY_MAX_MS, Skipped
from state.stores.threads import ThreadStore
from state.stores.withdrawal import delete_thread_memory, pollute_thread
from tests.support.clock import ManualClock
from tests.support.rows import NOW_MS, a_thread, an_output, thread_id

LEASE_S = 90
SIX_HOURS_S = 6 * 3_600
ONE = thread_id(1)


class Worker:
    """One process that works on jobs, in the words of the tests."""

    def __init__(self, database: Database, clock: ManualClock, owner: str) -> None:
        self.database = database
        self.clock = clock
        self.jobs = JobStore(clock, owner)

    async def try_extraction(
        self,
        number: int = 1,
        *,
        at: int = 100,
        lease_s: int = LEASE_S,
        running_max: int = 64,
        version: str = "v1",
    ) -> Claimed | Skipped:
        """Claim the extraction of a thread, whatever comes of it."""
        async with self.database.writing() as tx:
            return await self.jobs.claim_extraction(
                tx,
                version=version,
                thread_id=thread_id(number),
                watermark_ms=at,
                lease_s=lease_s,
                running_max=running_max,
            )

    async def extraction(self, number: int = 1, *, at: int = 100, lease_s: int = LEASE_S) -> Claim:
        """Claim an extraction that must be free."""
        found = await self.try_extraction(number, at=at, lease_s=lease_s)
        assert isinstance(found, Claimed), found
        return found.claim

    async def try_consolidation(
        self, *, lease_s: int = LEASE_S, ignore_cooldown: bool = False, version: str = "v1"
    ) -> Claimed | Skipped:
        """Claim the consolidation, whatever comes of it."""
        async with self.database.writing() as tx:
            return await self.jobs.claim_consolidation(
                tx,
                version=version,
                lease_s=lease_s,
                cooldown_s=SIX_HOURS_S,
                ignore_cooldown=ignore_cooldown,
            )

    async def consolidation(self, *, lease_s: int = LEASE_S) -> Claim:
        """Claim a consolidation that must be free."""
        found = await self.try_consolidation(lease_s=lease_s)
        assert isinstance(found, Claimed), found
        return found.claim

    async def succeed(self, claim: Claim, *, starts_cooldown: bool = False) -> None:
        """End a job well."""
        async with self.jobs.finishing(self.database, claim) as tx:
            await self.jobs.succeed(tx, claim, outcome="done", starts_cooldown=starts_cooldown)

    async def fail(self, claim: Claim, *, delay_s: int = 3_600, uses_retry: bool = True) -> None:
        """End a job badly."""
        async with self.jobs.finishing(self.database, claim) as tx:
            await self.jobs.fail(
                tx,
                claim,
                reason="it broke",
                retry_at_ms=self.clock.now_ms() + delay_s * 1000,
                uses_retry=uses_retry,
            )

    async def enqueue(self, at: int, *, urgent: bool = False) -> None:
        """Ask for a consolidation."""
        async with self.database.writing() as tx:
            await self.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=at, urgent=urgent)

    async def rows(self, version: str = "v1") -> list[JobRow]:
        """All jobs."""
        async with self.database.reading() as read:
            return await self.jobs.list(read, version=version, limit=100)


@pytest.fixture
def worker(database: Database, clock: ManualClock) -> Worker:
    """This process."""
    return Worker(database, clock, "this process")


@pytest.fixture
def other(database: Database, clock: ManualClock) -> Worker:
    """Another process on the same home."""
    return Worker(database, clock, "other process")


class TestExtraction:
    """One job for each thread and version."""

    @pytest.mark.requirement("MW-8.1-up-to-date", "MW-9-17")
    async def test_a_thread_is_extracted_again_only_when_it_changed(self, worker: Worker) -> None:
        await worker.succeed(await worker.extraction(at=100))
        assert await worker.try_extraction(at=100) == Skipped(reason="up_to_date")
        assert await worker.try_extraction(at=99) == Skipped(reason="up_to_date")
        assert (await worker.extraction(at=101)).watermark_ms == 101

    async def test_an_output_of_that_state_counts_as_done(
        self, worker: Worker, outputs: OutputStore
    ) -> None:
        async with worker.database.writing() as tx:
            await outputs.put(tx, an_output(1, source_updated_at_ms=100))
        assert await worker.try_extraction(at=100) == Skipped(reason="up_to_date")
        assert isinstance(await worker.try_extraction(at=100, version="v2"), Claimed)

    @pytest.mark.requirement("MW-8.1-stale-lease")
    async def test_a_fresh_lease_is_respected_and_a_stale_one_taken_over(
        self, worker: Worker, other: Worker, clock: ManualClock
    ) -> None:
        first = await worker.extraction()
        until_ms = NOW_MS + LEASE_S * 1000
        assert await other.try_extraction() == Skipped(reason="running", until_ms=until_ms)
        clock.advance(LEASE_S)
        second = await other.extraction()
        assert second.fence > first.fence
        assert (await worker.rows())[0].attempts_left == 3

    @pytest.mark.requirement("MW-8.1-claim-race")
    async def test_of_two_claims_at_once_exactly_one_wins(
        self, worker: Worker, other: Worker
    ) -> None:
        found = await asyncio.gather(worker.try_extraction(), other.try_extraction())
        assert sorted(type(one).__name__ for one in found) == ["Claimed", "Skipped"]

    @pytest.mark.requirement("MW-8.1-cap-race")
    async def test_no_more_run_than_the_cap_says(self, worker: Worker) -> None:
        found = await asyncio.gather(
            *(worker.try_extraction(number, running_max=1) for number in (1, 2))
        )
        assert sorted(type(one).__name__ for one in found) == ["Claimed", "Skipped"]
        assert Skipped(reason="capped") in found

    @pytest.mark.requirement("MW-8.1-global-cap")
    async def test_the_cap_counts_what_already_runs(self, worker: Worker) -> None:
        for number in range(10):
            await worker.extraction(number)
        found = [await worker.try_extraction(number, running_max=64) for number in range(10, 90)]
        assert sum(isinstance(one, Claimed) for one in found) == 54
        assert found[54:] == [Skipped(reason="capped")] * 26

    @pytest.mark.requirement("MW-9-10")
    async def test_a_lease_that_ended_no_longer_counts_for_the_cap(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        await worker.extraction(1)
        clock.advance(LEASE_S)
        assert isinstance(await worker.try_extraction(2, running_max=1), Claimed)

    @pytest.mark.requirement("MW-8.1-batches")
    async def test_two_full_batches_follow_each_other(self, worker: Worker) -> None:
        for _ in range(2):
            claims = [
                one.claim
                for number in range(200)
                if isinstance(one := await worker.try_extraction(number), Claimed)
            ]
            assert len(claims) == 64
            for claim in claims:
                await worker.succeed(claim)

    @pytest.mark.requirement("MW-8.1-exhausted")
    async def test_failures_wait_and_three_of_them_end_it_until_the_thread_changes(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        await worker.fail(await worker.extraction(at=100))
        waiting = Skipped(reason="backoff", until_ms=NOW_MS + 3_600_000)
        assert await worker.try_extraction(at=100) == waiting
        clock.advance(3_600)
        await worker.fail(await worker.extraction(at=100), delay_s=0)
        await worker.fail(await worker.extraction(at=100), delay_s=0)
        assert await worker.try_extraction(at=100) == Skipped(reason="exhausted")
        claim = await worker.extraction(at=101)
        row = (await worker.rows())[0]
        assert (row.attempts_left, row.watermark_ms) == (3, 101)
        await worker.succeed(claim)

    async def test_a_failure_from_outside_uses_no_attempt(self, worker: Worker) -> None:
        for _ in range(5):
            await worker.fail(await worker.extraction(), delay_s=0, uses_retry=False)
        assert (await worker.rows())[0].attempts_left == 3

    async def test_a_changed_thread_waits_for_no_backoff(self, worker: Worker) -> None:
        await worker.fail(await worker.extraction(at=100))
        assert (await worker.extraction(at=101)).watermark_ms == 101

    @pytest.mark.requirement("MW-8.1-versions")
    async def test_versions_know_nothing_of_each_other(self, worker: Worker) -> None:
        await worker.succeed(await worker.extraction(at=100))
        assert isinstance(await worker.try_extraction(at=100, version="v2"), Claimed)
        async with worker.database.writing() as tx:
            await worker.jobs.clear(tx, "v2")
        assert await worker.try_extraction(at=100) == Skipped(reason="up_to_date")


@pytest.mark.requirement("FR-S12")
class TestFences:
    """A worker that lost its job leaves no trace."""

    async def test_a_worker_whose_lease_was_taken_over_leaves_no_trace(
        self, worker: Worker, other: Worker, outputs: OutputStore, clock: ManualClock
    ) -> None:
        late = await worker.extraction()
        clock.advance(LEASE_S)
        now = await other.extraction()
        with pytest.raises(LeaseLost):
            async with worker.jobs.finishing(worker.database, late) as tx:
                await outputs.put(tx, an_output(1))
                await worker.jobs.succeed(tx, late, outcome="late")
        with pytest.raises(LeaseLost):
            await worker.fail(late)
        async with worker.database.reading() as read:
            assert await outputs.get(read, "v1", ONE) is None
        await other.succeed(now)
        assert [(row.status, row.attempts_left) for row in await worker.rows()] == [("done", 3)]

    async def test_an_owner_that_was_only_slow_may_still_finish(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        claim = await worker.extraction()
        clock.advance(10 * LEASE_S)
        await worker.succeed(claim)
        assert (await worker.rows())[0].status == "done"

    @pytest.mark.requirement("MW-8.1-unowned")
    async def test_a_job_ends_once(self, worker: Worker) -> None:
        claim = await worker.extraction()
        await worker.succeed(claim)
        with pytest.raises(LeaseLost):
            await worker.succeed(claim)
        with pytest.raises(LeaseLost):
            await worker.fail(claim)

    async def test_a_last_transaction_without_an_end_is_undone(
        self, worker: Worker, outputs: OutputStore
    ) -> None:
        claim = await worker.extraction()
        with pytest.raises(RuntimeError, match="without an end"):
            async with worker.jobs.finishing(worker.database, claim) as tx:
                await outputs.put(tx, an_output(1))
        async with worker.database.reading() as read:
            assert await outputs.get(read, "v1", ONE) is None

    async def test_fences_grow_over_a_reset(self, worker: Worker) -> None:
        before = await worker.extraction()
        async with worker.database.writing() as tx:
            await worker.jobs.clear(tx, "v1")
        after = await worker.extraction()
        assert after.fence > before.fence
        with pytest.raises(LeaseLost):
            await worker.succeed(before)
        await worker.succeed(after)

    async def test_a_heartbeat_lengthens_the_lease_of_its_holder_only(
        self, worker: Worker, other: Worker, clock: ManualClock
    ) -> None:
        claim = await worker.extraction()
        clock.advance(60)
        async with worker.database.writing() as tx:
            assert await worker.jobs.heartbeat(tx, claim, lease_s=LEASE_S)
        clock.advance(60)
        assert isinstance(await other.try_extraction(), Skipped)
        clock.advance(LEASE_S)
        await other.extraction()
        async with worker.database.writing() as tx:
            assert not await worker.jobs.heartbeat(tx, claim, lease_s=LEASE_S)

    @pytest.mark.requirement("MW-8.1-unowned")
    async def test_a_new_owner_takes_the_jobs_of_a_dead_one_at_once(
        self, worker: Worker, other: Worker
    ) -> None:
        dead = await worker.extraction()
        await worker.consolidation()
        async with other.database.writing() as tx:
            assert await other.jobs.release_dead(tx) == 2
            assert await other.jobs.release_dead(tx) == 0
        claim = await other.extraction()
        await other.consolidation()
        async with other.database.writing() as tx:
            assert await other.jobs.release_dead(tx) == 0
        with pytest.raises(LeaseLost):
            await worker.succeed(dead)
        await other.succeed(claim)

    @pytest.mark.requirement("FR-S12")
    async def test_a_clock_that_was_far_ahead_binds_nobody(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        clock.advance(365 * 24 * 3_600)
        await worker.succeed(await worker.consolidation(), starts_cooldown=True)
        clock.advance(-365 * 24 * 3_600)
        assert isinstance(await worker.try_consolidation(), Claimed)

    @pytest.mark.requirement("FR-S12")
    async def test_a_lease_of_a_clock_that_was_far_ahead_binds_nobody(
        self, worker: Worker, other: Worker, clock: ManualClock
    ) -> None:
        """Nor does it count for the cap; its holder leaves no trace, as after any other lease."""
        clock.advance(9 * 86_400)
        late = [await worker.extraction(), await worker.consolidation()]
        clock.advance(-9 * 86_400)
        assert isinstance(await other.try_extraction(2, running_max=1), Claimed)
        await other.extraction()
        await other.consolidation()
        for claim in late:
            with pytest.raises(LeaseLost):
                await worker.succeed(claim)

    @pytest.mark.requirement("FR-S12")
    async def test_a_wait_of_a_clock_that_was_far_ahead_binds_nobody(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        clock.advance(9 * 86_400)
        await worker.fail(await worker.extraction())
        await worker.fail(await worker.consolidation())
        clock.advance(-7 * 86_400)
        await worker.extraction()
        await worker.consolidation()

    async def test_no_wait_is_longer_than_the_longest_that_is_believed(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        """A limit that ends in a week is asked for again tomorrow."""
        await worker.fail(await worker.extraction(), delay_s=7 * 86_400)
        waits = Skipped(reason="backoff", until_ms=NOW_MS + RETRY_MAX_MS)
        assert await worker.try_extraction() == waits
        clock.advance(86_400)
        await worker.extraction()

    async def test_a_lease_outlives_a_clock_that_is_set_back_a_little(
        self, worker: Worker, other: Worker, clock: ManualClock
    ) -> None:
        await worker.extraction()
        await worker.consolidation()
        clock.advance(-60)
        held = Skipped(reason="running", until_ms=NOW_MS + LEASE_S * 1_000)
        assert (await other.try_extraction(), await other.try_consolidation()) == (held, held)

    @pytest.mark.parametrize("lease_s", [2 * 3_600, 365 * 86_400])
    async def test_no_lease_is_longer_than_the_longest_that_is_believed(
        self, worker: Worker, other: Worker, clock: ManualClock, lease_s: int
    ) -> None:
        claim = await worker.extraction(lease_s=lease_s)
        assert isinstance(await other.try_extraction(), Skipped)
        async with worker.database.writing() as tx:
            assert await worker.jobs.heartbeat(tx, claim, lease_s=lease_s)
        assert isinstance(await other.try_extraction(), Skipped)

    async def test_a_fenced_transaction_in_the_middle_proves_the_fence(
        self, worker: Worker, other: Worker, clock: ManualClock
    ) -> None:
        claim = await worker.consolidation()
        async with worker.jobs.fenced(worker.database, claim) as tx:
            await worker.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=5)
        assert (await worker.rows())[0].status == "running"
        clock.advance(LEASE_S)
        await other.consolidation()
        with pytest.raises(LeaseLost):
            async with worker.jobs.fenced(worker.database, claim):
                pytest.fail("the body must not run")


class TestConsolidation:
    """One job for each version."""

    @pytest.mark.requirement("MW-8.1-one-runner")
    async def test_a_claim_makes_the_job_and_only_one_holds_it(
        self, worker: Worker, other: Worker
    ) -> None:
        claim = await worker.consolidation()
        assert claim.watermark_ms == 0
        until_ms = NOW_MS + LEASE_S * 1000
        assert await other.try_consolidation() == Skipped(reason="running", until_ms=until_ms)
        await worker.succeed(claim, starts_cooldown=True)
        until_ms = NOW_MS + SIX_HOURS_S * 1000
        assert await other.try_consolidation() == Skipped(reason="cooldown", until_ms=until_ms)

    @pytest.mark.requirement("MW-8.1-cooldown")
    async def test_the_cooldown_outlasts_new_work_and_then_ends(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        await worker.succeed(await worker.consolidation(), starts_cooldown=True)
        await worker.enqueue(100)
        found = await worker.try_consolidation()
        assert isinstance(found, Skipped) and found.reason == "cooldown"
        clock.advance(SIX_HOURS_S)
        assert (await worker.consolidation()).watermark_ms == 100

    async def test_what_is_urgent_or_ordered_waits_for_no_cooldown(self, worker: Worker) -> None:
        await worker.succeed(await worker.consolidation(), starts_cooldown=True)
        ordered = await worker.try_consolidation(ignore_cooldown=True)
        assert isinstance(ordered, Claimed)
        await worker.succeed(ordered.claim, starts_cooldown=True)
        await worker.enqueue(100, urgent=True)
        assert isinstance(await worker.try_consolidation(), Claimed)

    @pytest.mark.requirement("MW-9-19", "MW-F-close-turns")
    async def test_a_pass_without_changes_starts_no_cooldown(self, worker: Worker) -> None:
        await worker.succeed(await worker.consolidation())
        assert isinstance(await worker.try_consolidation(), Claimed)

    @pytest.mark.requirement("MW-8.1-no-end-of-tries")
    async def test_it_is_claimed_however_often_it_failed(
        self, worker: Worker, clock: ManualClock
    ) -> None:
        for _ in range(4):
            await worker.fail(await worker.consolidation())
            found = await worker.try_consolidation()
            assert isinstance(found, Skipped) and found.reason == "backoff"
            clock.advance(3_600 * 4)
        row = (await worker.rows())[0]
        assert row.attempts_left == 0
        assert isinstance(await worker.try_consolidation(), Claimed)

    async def test_new_work_lifts_the_backoff_after_a_failure(self, worker: Worker) -> None:
        await worker.fail(await worker.consolidation())
        await worker.enqueue(100)
        assert (await worker.rows())[0].status == "pending"
        assert (await worker.consolidation()).watermark_ms == 100

    @pytest.mark.requirement("MW-8.1-takeover")
    async def test_a_stale_lease_is_taken_over_and_its_owner_is_refused(
        self, worker: Worker, other: Worker
    ) -> None:
        late = await worker.consolidation(lease_s=0)
        now = await other.consolidation()
        with pytest.raises(LeaseLost):
            await worker.succeed(late)
        await other.succeed(now)

    @pytest.mark.requirement("MW-8.1-enqueue", "MW-8.1-watermark")
    async def test_the_watermark_only_grows(self, worker: Worker) -> None:
        await worker.enqueue(100)
        await worker.enqueue(101)
        await worker.enqueue(500)
        await worker.enqueue(400)
        assert (await worker.consolidation()).watermark_ms == 501

    async def test_work_that_comes_during_a_run_waits_for_the_next(self, worker: Worker) -> None:
        """It leaves the run alone, and is not counted as done with it."""
        claim = await worker.consolidation()
        await worker.enqueue(100)
        assert (await worker.rows())[0].status == "running"
        await worker.succeed(claim)
        assert (await worker.rows())[0].status == "pending"
        await worker.succeed(await worker.consolidation())
        assert (await worker.rows())[0].status == "done"

    @pytest.mark.requirement("MW-8.2-success-watermark")
    async def test_success_may_name_a_newer_state_than_the_claim(self, worker: Worker) -> None:
        claim = await worker.consolidation()
        async with worker.jobs.finishing(worker.database, claim) as tx:
            await worker.jobs.succeed(tx, claim, outcome="published", watermark_ms=900)
        row = (await worker.rows())[0]
        assert (row.success_watermark_ms, row.outcome) == (900, "published")

    async def test_the_versions_are_apart(self, worker: Worker) -> None:
        await worker.consolidation()
        assert isinstance(await worker.try_consolidation(version="v2"), Claimed)


class TestWithdrawal:
    """A thread that is deleted or polluted."""

    async def consolidated(self, worker: Worker, outputs: OutputStore) -> None:
        """Thread 1 is extracted and part of a consolidation that is resting."""
        async with worker.database.writing() as tx:
            await ThreadStore().put(tx, a_thread(1))
            for version in ("v1", "v2"):
                await outputs.put(tx, an_output(1, version=version, source_updated_at_ms=100))
                await outputs.mark_selected(tx, version=version, selected=[(ONE, 100)])
        await worker.succeed(await worker.extraction(at=101))
        await worker.succeed(await worker.consolidation(), starts_cooldown=True)

    @pytest.mark.requirement("MW-8.1-delete-thread")
    async def test_deleting_a_thread_removes_its_outputs_and_asks_for_consolidation_now(
        self, worker: Worker, outputs: OutputStore
    ) -> None:
        await self.consolidated(worker, outputs)
        async with worker.database.writing() as tx:
            assert await delete_thread_memory(
                tx, jobs=worker.jobs, outputs=outputs, thread_id=ONE, now_ms=NOW_MS
            )
            assert await ThreadStore().delete(tx, ONE)
        async with worker.database.reading() as read:
            assert await outputs.versions_of(read, ONE) == {}
        rows = await worker.rows()
        assert [(row.kind, row.status) for row in rows] == [("consolidation", "pending")]
        assert (await worker.consolidation()).watermark_ms >= NOW_MS
        assert isinstance(await worker.try_consolidation(version="v2"), Claimed)

    async def test_deleting_what_was_never_consolidated_asks_for_nothing(
        self, worker: Worker, outputs: OutputStore
    ) -> None:
        async with worker.database.writing() as tx:
            await outputs.put(tx, an_output(1))
            assert await delete_thread_memory(
                tx, jobs=worker.jobs, outputs=outputs, thread_id=ONE, now_ms=NOW_MS
            )
            assert not await delete_thread_memory(
                tx, jobs=worker.jobs, outputs=outputs, thread_id=ONE, now_ms=NOW_MS
            )
        assert await worker.rows() == []

    async def test_deleting_during_an_extraction_takes_it_from_its_worker(
        self, worker: Worker, outputs: OutputStore
    ) -> None:
        claim = await worker.extraction()
        async with worker.database.writing() as tx:
            await delete_thread_memory(
                tx, jobs=worker.jobs, outputs=outputs, thread_id=ONE, now_ms=NOW_MS
            )
        with pytest.raises(LeaseLost):
            await worker.succeed(claim)

    @pytest.mark.requirement("MW-8.1-pollute", "MW-9-16")
    async def test_polluting_keeps_the_row_and_asks_for_consolidation_each_time(
        self, worker: Worker, outputs: OutputStore, threads: ThreadStore
    ) -> None:
        await self.consolidated(worker, outputs)
        for changed in (True, False):
            async with worker.database.writing() as tx:
                assert changed is await pollute_thread(
                    tx,
                    threads=threads,
                    jobs=worker.jobs,
                    outputs=outputs,
                    thread_id=ONE,
                    now_ms=NOW_MS,
                )
            await worker.succeed(await worker.consolidation(), starts_cooldown=True)
        async with worker.database.reading() as read:
            row = await threads.get(read, ONE)
            assert row is not None and row.memory_mode == "polluted"
            assert await outputs.get(read, "v1", ONE) is not None


async def test_counts_and_list_tell_how_jobs_stand(worker: Worker) -> None:
    """Failed ones that will go on are apart from those that will not."""
    await worker.extraction(1)
    await worker.succeed(await worker.extraction(2))
    await worker.fail(await worker.extraction(3))
    for _ in range(3):
        await worker.fail(await worker.extraction(4), delay_s=0)
    await worker.enqueue(100)
    async with worker.database.reading() as read:
        both = await worker.jobs.counts(read, "v1")
        extraction = await worker.jobs.counts(read, "v1", kind="extraction")
        one = await worker.jobs.get(read, version="v1", kind="extraction", key=thread_id(3))
        assert len(await worker.jobs.list(read, version="v1", limit=2)) == 2
    assert (both.pending, both.running, both.done, both.failed, both.exhausted) == (1, 1, 1, 1, 1)
    assert (extraction.pending, extraction.failed) == (0, 1)
    assert one is not None
    assert (one.status, one.reason, one.attempts_left) == ("failed", "it broke", 2)
    assert one.retry_at_ms == NOW_MS + 3_600_000


async def test_what_failed_of_a_thread_that_is_not_learned_from_counts_as_nothing(
    worker: Worker, threads: ThreadStore
) -> None:
    """What was heard of it while it was counts all the same."""
    await worker.fail(await worker.extraction(1))
    await worker.succeed(await worker.extraction(2))
    async with worker.database.writing() as tx:
        for number in (1, 2):
            await threads.put(tx, a_thread(number, memory_mode="polluted"))
    async with worker.database.reading() as read:
        counts = await worker.jobs.counts(read, "v1")
    assert (counts.failed, counts.exhausted, counts.done) == (0, 0, 1)


async def test_a_claim_that_is_undone_holds_nothing(worker: Worker) -> None:
    """The claim goes with the transaction it was made in."""
    with pytest.raises(KeyError):
        async with worker.database.writing() as tx:
            await worker.jobs.claim_extraction(
                tx,
                version="v1",
                thread_id=ONE,
                watermark_ms=1,
                lease_s=LEASE_S,
                running_max=1,
            )
            raise KeyError
    assert await worker.rows() == []
    assert isinstance(await worker.try_extraction(at=1, running_max=1), Claimed)
