"""Learning runs when there is a reason to, one pass at a time, and stops when told.

Longer than the habit: one scripted scheduler serves all that is said of it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memory_write.controls.pause import MemoryPause
from memory_write.controls.reset import MemoryReset
from memory_write.errors import WorkCancelled
from memory_write.lanes import Lane, Lanes
from memory_write.limits import MemorySettings
from memory_write.phase1.report import Phase1Report
from memory_write.phase1.run import BusyThreads, GoOn
from memory_write.phase2.run import Phase2Report
from memory_write.scheduler import Scheduler
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import Claimed
from tests.support.learning import Announced, WatchedClock, opened, put_thread

THREAD = ThreadId("01a22885-a458-7772-84ef-b9c21f9b3d17")
LEARNED = Phase1Report(claimed=1, succeeded=1)


class ScriptedHearing:
    """A phase 1 that reports what it was told, and notes how it was called."""

    def __init__(self, *reports: Phase1Report) -> None:
        self.calls: list[tuple[bool, ThreadId | None, frozenset[ThreadId]]] = []
        self.during: Callable[[], Awaitable[None]] | None = None
        self.called = asyncio.Event()
        self._reports = list(reports)

    async def run_pass(
        self,
        *,
        current_thread: ThreadId | None,
        busy: frozenset[ThreadId],
        everything: bool,
        only: ThreadId | None = None,
        busy_now: BusyThreads | None = None,
        go_on: GoOn | None = None,
    ) -> Phase1Report:
        """The next report, the empty one when there is none."""
        self.calls.append((everything, only, busy))
        self.called.set()
        if self.during is not None:
            await self.during()
        return self._reports.pop(0) if self._reports else Phase1Report()

    async def next_call(self) -> None:
        """Wait for a call that was not waited for before."""
        async with asyncio.timeout(5):
            await self.called.wait()
        self.called.clear()


class ScriptedGathering:
    """A phase 2 that notes how it was called."""

    def __init__(self) -> None:
        self.calls: list[tuple[bool, bool]] = []

    async def run(self, *, ignore_cooldown: bool, everything: bool = False) -> Phase2Report:
        """Done, with nothing changed."""
        self.calls.append((ignore_cooldown, everything))
        return Phase2Report(status="unchanged")


class Bench:
    """A scheduler with scripted phases on a real database."""

    def __init__(self, state: State, clock: WatchedClock) -> None:
        self.state = state
        self.clock = clock
        self.hearing = ScriptedHearing()
        self.gathering = ScriptedGathering()
        self.announced = Announced()
        self.busy: frozenset[ThreadId] = frozenset()
        self.settings = MemorySettings()
        self._made: list[Scheduler] = []

    def scheduler(self, *reports: Phase1Report) -> Scheduler:
        """A scheduler whose phase 1 will report this."""
        self.hearing = ScriptedHearing(*reports)
        made = Scheduler(
            self.hearing,
            self.gathering,
            self.state,
            self.settings,
            self.clock,
            self.announced,
            lambda: self.busy,
        )
        self._made.append(made)
        return made

    async def hand_on(self) -> None:
        """Ask for a consolidation, as phase 1 does when it stored something."""
        async with self.state.database.writing() as tx:
            await self.state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=1)

    async def close(self) -> None:
        """Stop what was made."""
        for one in self._made:
            await one.stop(0)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """On an empty home."""
    clock = WatchedClock()
    async with opened(tmp_path, clock) as state:
        made = Bench(state, clock)
        yield made
        await made.close()


@pytest.mark.requirement("FR-K3", "P12", "MW-F-fresh-home")
async def test_a_day_without_work_calls_no_model_and_no_consolidation(bench: Bench) -> None:
    """It wakes by its interval, looks, and sleeps again."""
    bench.scheduler().start()
    for _ in range(24):
        await bench.hearing.next_call()
        await bench.clock.someone_sleeps()
        bench.clock.advance(3_600)
    assert bench.gathering.calls == []


async def test_a_start_takes_up_at_once_what_was_handed_on(bench: Bench) -> None:
    """Phase 2 follows phase 1 in the first pass."""
    await bench.hand_on()
    bench.scheduler().start()
    await bench.clock.someone_sleeps()
    assert bench.hearing.calls == [(False, None, frozenset())]
    assert bench.gathering.calls == [(False, False)]


async def test_the_first_nudge_counts_at_once_and_those_close_behind_share_a_pass(
    bench: Bench,
) -> None:
    """A turn right after the start is not made to wait, and a busy server does not look all day."""
    scheduler = bench.scheduler()
    scheduler.start()
    await bench.hearing.next_call()
    await bench.clock.someone_sleeps()
    for _ in range(50):
        scheduler.nudge(THREAD)
    await bench.hearing.next_call()
    await bench.clock.someone_sleeps()
    for _ in range(50):
        scheduler.nudge(THREAD)
    await bench.clock.someone_sleeps()
    assert len(bench.hearing.calls) == 2
    bench.clock.advance(5)
    await bench.hearing.next_call()
    await bench.clock.someone_sleeps()
    assert len(bench.hearing.calls) == 3


async def test_a_pass_that_the_quota_stopped_is_told_and_tried_again_when_it_is_over(
    bench: Bench,
) -> None:
    """Neither later, by the interval alone, nor in a busy loop before."""
    refused = Phase1Report(
        stopped_by="quota:rate limit: 3 % left", retry_at_ms=bench.clock.now_ms() + 40_000
    )
    bench.scheduler(refused).start()
    await bench.hearing.next_call()
    await bench.clock.someone_sleeps()
    told = [one.data for one in bench.announced.all if one.what == "extraction/paused"]
    assert told == [{"reason": "quota:rate limit: 3 % left"}]
    bench.clock.advance(39)
    await asyncio.sleep(0)
    assert not bench.hearing.called.is_set()
    bench.clock.advance(1)
    await bench.hearing.next_call()


async def test_it_wakes_when_a_thread_becomes_idle(bench: Bench) -> None:
    """Before the interval is over."""
    await put_thread(bench.state, "text", idle_hours=6 - 100 / 3_600)
    bench.scheduler().start()
    await bench.hearing.next_call()
    await bench.clock.someone_sleeps()
    bench.clock.advance(99)
    assert not bench.hearing.called.is_set()
    bench.clock.advance(2)
    await bench.hearing.next_call()


async def test_busy_threads_are_named_to_phase_1(bench: Bench) -> None:
    """As they are when the pass begins."""
    bench.busy = frozenset({THREAD})
    bench.scheduler().start()
    await bench.hearing.next_call()
    assert bench.hearing.calls[0][2] == frozenset({THREAD})


@pytest.mark.requirement("MW-9-20", "MW-F-two-servers")
async def test_a_backlog_is_worked_off_before_it_is_consolidated(bench: Bench) -> None:
    """With short pauses; one consolidation at its end."""
    await bench.hand_on()
    scheduler = bench.scheduler(replace(LEARNED, more=True), replace(LEARNED, more=True), LEARNED)
    scheduler.start()
    for number in range(3):
        await bench.hearing.next_call()
        await bench.clock.someone_sleeps()
        assert len(bench.gathering.calls) == (1 if number == 2 else 0)
        bench.clock.advance(1)


async def test_a_pass_that_breaks_does_not_end_the_scheduler(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the next pass comes."""

    async def breaks() -> None:
        raise ZeroDivisionError

    scheduler = bench.scheduler()
    bench.hearing.during = breaks
    scheduler.start()
    await bench.hearing.next_call()
    await bench.clock.someone_sleeps()
    bench.hearing.during = None
    bench.clock.advance(300)
    await bench.hearing.next_call()
    assert "a pass of learning failed unexpectedly" in caplog.text


@pytest.mark.requirement("MW-9-19")
async def test_a_new_note_does_not_wait_for_the_cooldown(bench: Bench) -> None:
    """Material that appeared since the last consolidation is a reason of its own."""
    note = bench.state.home.memories("v1") / "extensions/ad_hoc/notes/one.md"
    note.parent.mkdir(parents=True)
    note.write_text("remember this")
    bench.scheduler().start()
    await bench.clock.someone_sleeps()
    assert bench.gathering.calls == [(True, False)]
    bench.clock.advance(300)
    await bench.clock.someone_sleeps()
    assert len(bench.gathering.calls) == 1
    note.with_name("two.md").write_text("and this")
    bench.clock.advance(300)
    await bench.clock.someone_sleeps()
    assert bench.gathering.calls[1:] == [(True, False)]


@pytest.mark.requirement("FR-S12")
async def test_a_note_is_new_though_a_clock_was_far_ahead_at_the_last_consolidation(
    bench: Bench,
) -> None:
    """What tells at the first look of a process are times, and that one has not come yet."""
    bench.clock.advance(9 * 86_400)
    jobs = bench.state.jobs
    async with bench.state.database.writing() as tx:
        claimed = await jobs.claim_consolidation(
            tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True
        )
        assert isinstance(claimed, Claimed)
        await jobs.succeed(tx, claimed.claim, outcome="published")
    bench.clock.advance(-8 * 86_400)
    note = bench.state.home.memories("v1") / "extensions/ad_hoc/notes/one.md"
    note.parent.mkdir(parents=True)
    note.write_text("remember this")
    at_s = bench.clock.now_ms() / 1_000
    os.utime(note, (at_s, at_s))
    bench.scheduler().start()
    await bench.clock.someone_sleeps()
    assert bench.gathering.calls == [(True, False)]


async def test_an_order_runs_both_phases_and_ignores_windows(bench: Bench) -> None:
    """Also without a running scheduler task."""
    await bench.hand_on()
    report = await bench.scheduler(LEARNED).consolidate(only=None)
    assert bench.hearing.calls == [(True, None, frozenset())]
    assert bench.gathering.calls == [(True, True)]
    assert report.phase2 is not None and report.phase2.status == "unchanged"


async def test_an_order_for_one_thread_names_it(bench: Bench) -> None:
    """And no other is looked for."""
    await bench.scheduler().consolidate(only=THREAD)
    assert bench.hearing.calls == [(False, THREAD, frozenset())]


@pytest.mark.requirement("FR-C2")
async def test_no_success_is_reported_over_an_input_that_failed_as_a_whole(
    bench: Bench,
) -> None:
    """Five time-outs and nothing else: phase 2 is not run, and the report says why."""
    failed = Phase1Report(claimed=5, failed={"model:timeout": 5})
    report = await bench.scheduler(failed).consolidate(only=None)
    assert (report.phase2, report.reason) == (None, "no_extraction_succeeded")
    assert bench.gathering.calls == []


@pytest.mark.requirement("FR-E9")
async def test_nothing_learned_is_not_consolidated(bench: Bench) -> None:
    """Thirty greetings on a new home."""
    report = await bench.scheduler(Phase1Report(claimed=30, empty=30)).consolidate(only=None)
    assert (report.phase2, report.reason) == (None, "nothing_learned")


async def test_passes_do_not_overlap(bench: Bench) -> None:
    """An order waits for the pass that runs."""
    running = 0
    open_gate = asyncio.Event()

    async def alone() -> None:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.wait_for(open_gate.wait(), 5)
        running -= 1

    scheduler = bench.scheduler()
    bench.hearing.during = alone
    scheduler.start()
    await bench.hearing.next_call()
    orders = [asyncio.create_task(scheduler.consolidate(only=None)) for _ in range(3)]
    open_gate.set()
    await asyncio.gather(*orders)
    assert len(bench.hearing.calls) == 4


async def test_work_goes_on_when_the_one_who_waits_for_it_goes(bench: Bench) -> None:
    """A client that hangs up does not stop the order it gave."""
    gate = asyncio.Event()

    async def wait() -> None:
        await asyncio.wait_for(gate.wait(), 5)

    await bench.hand_on()
    scheduler = bench.scheduler(LEARNED)
    bench.hearing.during = wait
    order = asyncio.create_task(scheduler.consolidate(only=None))
    await bench.hearing.next_call()
    order.cancel()
    with pytest.raises(asyncio.CancelledError):
        await order
    bench.hearing.during = None
    gate.set()
    await scheduler.consolidate(only=None)
    assert bench.gathering.calls[0] == (True, True)


@pytest.mark.requirement("FR-K7")
async def test_a_stop_cancels_what_runs_and_tells_who_waits(bench: Bench) -> None:
    """Within its time; afterwards nothing is taken."""

    async def for_ever() -> None:
        await asyncio.Event().wait()

    scheduler = bench.scheduler()
    bench.hearing.during = for_ever
    scheduler.start()
    await bench.hearing.next_call()
    order = asyncio.create_task(scheduler.consolidate(only=None))
    await asyncio.wait_for(scheduler.stop(0), 5)
    with pytest.raises(WorkCancelled):
        await order
    with pytest.raises(WorkCancelled):
        await scheduler.consolidate(only=None)
    assert len(bench.hearing.calls) == 1


async def test_a_stop_lets_a_pass_end_within_its_time(bench: Bench) -> None:
    """Phase 1 is told to claim no more, and phase 2 is not begun."""
    gate = asyncio.Event()

    async def wait() -> None:
        await asyncio.wait_for(gate.wait(), 5)

    await bench.hand_on()
    scheduler = bench.scheduler(LEARNED)
    bench.hearing.during = wait
    order = asyncio.create_task(scheduler.consolidate(only=None))
    await bench.hearing.next_call()
    stop = asyncio.create_task(scheduler.stop(5))
    await asyncio.sleep(0)
    gate.set()
    report = await order
    await stop
    assert (report.phase2, report.reason) == (None, "stopping")


@pytest.mark.requirement("FR-K7")
async def test_a_pause_ends_what_runs_and_holds_until_it_is_lifted(bench: Bench) -> None:
    """Also for orders, and for the next scheduler on the same home; then work goes on at once."""

    async def for_ever() -> None:
        await asyncio.Event().wait()

    scheduler = bench.scheduler()
    lanes = Lanes([Lane("v1", scheduler)])
    pause = MemoryPause(bench.state, lanes, bench.announced)
    bench.hearing.during = for_ever
    scheduler.start()
    await bench.hearing.next_call()
    await asyncio.wait_for(pause.set(paused=True), 5)
    await pause.set(paused=True)
    assert (await scheduler.consolidate(only=None)).reason == "paused"
    assert (await bench.scheduler().consolidate(only=None)).reason == "paused"
    assert bench.hearing.calls == []
    await scheduler.stop(0)
    again = bench.scheduler()
    again.start()
    await bench.clock.someone_sleeps()
    bench.clock.advance(300)
    await bench.clock.someone_sleeps()
    assert bench.hearing.calls == []
    await MemoryPause(bench.state, Lanes([Lane("v1", again)]), bench.announced).set(paused=False)
    await bench.hearing.next_call()
    assert [one.what for one in bench.announced.all] == ["paused", "resumed"]


async def test_memory_that_is_off_learns_nothing(bench: Bench) -> None:
    """Neither by itself nor on order."""
    bench.settings = MemorySettings(enabled=False)
    scheduler = bench.scheduler()
    scheduler.start()
    scheduler.nudge(THREAD)
    report = await scheduler.consolidate(only=None)
    assert report.reason == "disabled"
    assert bench.hearing.calls == []


async def test_generate_off_does_not_stop_learning(bench: Bench) -> None:
    """It only marks new threads; those that are enabled are heard."""
    bench.settings = MemorySettings(generate=False)
    bench.scheduler().start()
    await bench.hearing.next_call()


@pytest.mark.requirement("MW-9-13")
async def test_a_reset_ends_the_pass_that_runs(bench: Bench) -> None:
    """And the scheduler goes on afterwards."""

    async def for_ever() -> None:
        await asyncio.Event().wait()

    scheduler = bench.scheduler()
    bench.hearing.during = for_ever
    scheduler.start()
    await bench.hearing.next_call()
    await asyncio.wait_for(MemoryReset(bench.state, scheduler).run(), 5)
    bench.hearing.during = None
    await bench.clock.someone_sleeps()
    bench.clock.advance(300)
    await bench.hearing.next_call()
