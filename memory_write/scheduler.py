"""When learning runs, and how it stops.

Invariant: one pass at a time, in the order prune, phase 1, phase 2; nothing polls. Between passes
the scheduler sleeps until a turn nudges it, a thread becomes idle, a delay or cooldown ends, or the
interval is over. A pass without work makes no model call and starts no cooldown.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from memory_write.errors import WorkCancelled
from memory_write.housekeeping import Housekeeping
from memory_write.limits import MemorySettings
from memory_write.loss import is_lost, notes_back
from memory_write.material import Material, look_for_material
from memory_write.phase1.report import Phase1Report
from memory_write.phase1.run import BusyThreads, GoOn
from memory_write.phase2.run import Phase2Report
from memory_write.ports import Announcement, Announcer
from memory_write.recipes import recipe_of
from state.clock import Clock
from state.errors import StateError
from state.ids import ThreadId
from state.recovery import State
from state.stores.backlog import Backlog
from state.stores.jobs import CONSOLIDATION_KEY
from state.stores.switch import is_paused
from state.write_queue import in_background

_LOG = logging.getLogger(__name__)

NUDGE_GAP_S = 5
"""Passes that nudges set off begin at least so far apart; those between share the next one."""
BACKLOG_PAUSE_S = 1
"""Between two passes while there is a backlog."""
BACKLOG_PASSES_MAX = 64
"""Passes over a backlog after which its first results are consolidated."""
WAIT_MIN_S = 1
"""The shortest sleep before a time that work is due at."""


class Hearing(Protocol):
    """Phase 1, as far as the scheduler needs it."""

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
        """Claim and hear threads."""
        ...


class Gathering(Protocol):
    """Phase 2, as far as the scheduler needs it."""

    async def run(self, *, ignore_cooldown: bool, everything: bool = False) -> Phase2Report:
        """Consolidate what was learned; with `everything` however long it was not used."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateReport:
    """What one pass came to."""

    phase1: Phase1Report
    phase2: Phase2Report | None
    """None when phase 2 had nothing to do."""
    reason: str | None = None
    """Why phase 2 was not run."""


class Scheduler:
    """The one task that learns in the background; ordered passes wait for their turn with it."""

    def __init__(
        self,
        phase1: Hearing,
        phase2: Gathering,
        state: State,
        settings: MemorySettings,
        clock: Clock,
        announce: Announcer,
        busy_threads: BusyThreads,
    ) -> None:
        self._phase1 = phase1
        self._phase2 = phase2
        self._state = state
        self._settings = settings
        self._clock = clock
        self._announce = announce
        self._busy_threads = busy_threads
        self._backlog = Backlog()
        self._house = Housekeeping(state)
        self._alone = asyncio.Lock()
        self._woken = asyncio.Event()
        self._current: ThreadId | None = None
        self._loop: asyncio.Task[None] | None = None
        self._passes: set[asyncio.Task[ConsolidateReport]] = set()
        self._stopping = False
        self._wanted = False  # whether it runs by itself, once learning is switched on
        self._nudged_at_s: float | None = None
        """When a nudge last set off a pass; a start or a timer leaves the first nudge free."""
        self._backlog_passes = 0
        self._consolidated: Material | None = None
        """What others had left in the folder when it was last consolidated."""

    def start(self) -> None:
        """Begin; the first pass takes up what an earlier owner left."""
        self._wanted = True
        if self._settings.enabled and self._loop is None and not self._stopping:
            self._loop = asyncio.create_task(self._run(), name="memory scheduler")

    def enable(self, enabled: bool) -> None:
        """Learn from now on, or end what works and begin nothing more."""
        self._settings = replace(self._settings, enabled=enabled)
        if enabled and self._wanted:
            self.start()
        elif not enabled and self._loop is not None:
            self._loop.cancel()
            self._loop = None
            for task in self._passes:
                task.cancel()

    def nudge(self, thread_id: ThreadId) -> None:
        """A turn with input began in this thread; returns at once."""
        self._current = thread_id
        self._woken.set()

    def wake(self) -> None:
        """Something was handed on that may be done now; returns at once."""
        self._woken.set()

    async def consolidate(self, *, only: ThreadId | None) -> ConsolidateReport:
        """Run both phases now, whatever age, idle time and cooldown say; waits for a running pass.

        A caller that stops waiting does not stop the work.
        Raises: WorkCancelled, DatabaseBusy, DatabaseUnusable.
        """
        if self._stopping:
            raise WorkCancelled
        if not self._settings.enabled:
            report = Phase1Report(stopped_by="disabled")
            return ConsolidateReport(phase1=report, phase2=None, reason="disabled")
        return await self._in_task(lambda: self._ordered(only))

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """End the passes that run or wait, and let none begin inside the block."""
        for task in list(self._passes):
            task.cancel()
        async with self._alone:
            yield

    async def stop(self, drain_s: float) -> None:
        """End: claim no more, wait that long for what runs, then cancel it; jobs are given back."""
        self._stopping = True
        if self._passes and drain_s > 0:
            await asyncio.wait(set(self._passes), timeout=drain_s)
        ending: list[asyncio.Task[ConsolidateReport] | asyncio.Task[None]] = [*self._passes]
        if self._loop is not None:
            ending.append(self._loop)
            self._loop = None
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)

    async def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            report = None
            try:
                report = await self._in_task(self._automatic)
            except WorkCancelled:
                _LOG.info("a pass of learning was cancelled")
            except Exception:  # the net of a job: the scheduler outlives whatever a pass does
                _LOG.exception("a pass of learning failed unexpectedly")
            await self._sleep(await self._pause_s(report))

    async def _sleep(self, pause_s: float) -> None:
        """Until the pause is over or somebody nudges; nudges close together share a pass."""
        started_s = self._clock.monotonic_s()
        sleeping = asyncio.create_task(self._clock.sleep(pause_s))
        waking = asyncio.create_task(self._woken.wait())
        try:
            await asyncio.wait((sleeping, waking), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()
            await asyncio.wait((sleeping, waking))
        if not self._woken.is_set():
            return
        now_s = self._clock.monotonic_s()
        if self._nudged_at_s is not None:
            early_s = NUDGE_GAP_S - (now_s - self._nudged_at_s)
            # Never beyond the time at which the pass would have come without a nudge.
            early_s = min(early_s, pause_s - (now_s - started_s))
            if early_s > 0:
                await self._clock.sleep(early_s)
        self._nudged_at_s = self._clock.monotonic_s()

    async def _pause_s(self, report: ConsolidateReport | None) -> float:
        if report is not None and report.phase1.more:
            return BACKLOG_PAUSE_S
        interval_s: float = max(WAIT_MIN_S, self._settings.scheduler_interval_s)
        now_ms = self._clock.now_ms()
        if report is not None and report.reason == "paused":
            return interval_s
        if report is not None and report.phase1.retry_at_ms is not None:
            interval_s = min(
                interval_s, max(WAIT_MIN_S, (report.phase1.retry_at_ms - now_ms) / 1_000)
            )
        try:
            async with self._state.database.glancing() as read:
                next_ms = await self._backlog.next_at_ms(
                    read,
                    version=self._settings.version,
                    now_ms=now_ms,
                    idle_hours_min=self._settings.phase1.idle_hours_min,
                    cooldown_s=self._settings.phase2.cooldown_s,
                )
        except StateError as error:
            # The interval alone is as good, only later.
            _LOG.warning("the next time of work could not be read: %s", error)
            return interval_s
        if next_ms is None:
            return interval_s
        return min(interval_s, max(WAIT_MIN_S, (next_ms - now_ms) / 1_000))

    async def _in_task(self, work: Callable[[], Awaitable[ConsolidateReport]]) -> ConsolidateReport:
        """Run a pass as a task of its own, so that it outlives whoever waits for it."""

        async def in_turn() -> ConsolidateReport:
            async with self._alone:
                # Asked inside the turn: whoever pauses writes first and then ends what runs.
                async with self._state.database.glancing() as read:
                    paused = await is_paused(read)
                if paused:
                    phase1 = Phase1Report(stopped_by="paused")
                    return ConsolidateReport(phase1=phase1, phase2=None, reason="paused")
                with in_background():
                    return await work()

        task = asyncio.create_task(in_turn(), name="memory pass")
        self._passes.add(task)
        task.add_done_callback(self._passes.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if task.cancelled() and waiter is not None and not waiter.cancelling():
                raise WorkCancelled from None
            raise

    async def _automatic(self) -> ConsolidateReport:
        await self._house.keep(self._settings)
        phase1 = await self._hear(everything=False, only=None)
        if phase1.more and self._backlog_passes < BACKLOG_PASSES_MAX:
            # With a cooldown after each success, a consolidation now would make the rest wait.
            self._backlog_passes += 1
            return ConsolidateReport(phase1=phase1, phase2=None, reason="backlog")
        self._backlog_passes = 0
        await self._replace_lost()
        material, is_new = await self._look()
        if not is_new and not await self._handed_on(self._settings.phase2.cooldown_s):
            return ConsolidateReport(phase1=phase1, phase2=None, reason="nothing_new")
        return await self._gather(phase1, material, ignore_cooldown=is_new, everything=False)

    async def _ordered(self, only: ThreadId | None) -> ConsolidateReport:
        async with self._state.database.writing() as tx:
            # First, so that an order which is cut off is carried out by the next start at once.
            await self._state.jobs.lift_cooldown(tx, version=self._settings.version)
        phase1 = await self._hear(everything=only is None, only=only)
        handed_on = await self._handed_on(0)
        if not handed_on and phase1.failures and not phase1.succeeded:
            return ConsolidateReport(phase1=phase1, phase2=None, reason="no_extraction_succeeded")
        material, is_new = await self._look()
        if not handed_on and not is_new and not await self._has_memory():
            return ConsolidateReport(phase1=phase1, phase2=None, reason="nothing_learned")
        async with self._state.database.writing() as tx:
            # A person's order lifts the delay after a failure.
            await self._state.jobs.enqueue_consolidation(
                tx, version=self._settings.version, watermark_ms=0
            )
        return await self._gather(phase1, material, ignore_cooldown=True, everything=True)

    async def _hear(self, *, everything: bool, only: ThreadId | None) -> Phase1Report:
        report = await self._phase1.run_pass(
            current_thread=self._current,
            busy=self._busy_threads(),
            everything=everything,
            only=only,
            busy_now=self._busy_threads,
            go_on=lambda: not self._stopping,
        )
        if report.claimed or report.stopped_by:
            _LOG.info(
                "heard %d threads: %d learned, %d empty, failed %s, skipped %s, stopped by %s",
                report.claimed,
                report.succeeded,
                report.empty,
                dict(report.failed),
                dict(report.skipped),
                report.stopped_by,
            )
        if report.stopped_by is not None:
            self._tell("extraction/paused", {"reason": report.stopped_by})
        return report

    async def _gather(
        self,
        phase1: Phase1Report,
        material: Material,
        *,
        ignore_cooldown: bool,
        everything: bool,
    ) -> ConsolidateReport:
        if self._stopping:
            return ConsolidateReport(phase1=phase1, phase2=None, reason="stopping")
        phase2 = await self._phase2.run(ignore_cooldown=ignore_cooldown, everything=everything)
        if phase2.status in ("published", "unchanged"):
            self._consolidated = material
        _LOG.info("consolidation: %s %s", phase2.status, phase2.reason or "")
        return ConsolidateReport(phase1=phase1, phase2=phase2)

    async def _handed_on(self, cooldown_s: int) -> bool:
        async with self._state.database.glancing() as read:
            return await self._backlog.consolidation_due(
                read,
                version=self._settings.version,
                now_ms=self._clock.now_ms(),
                cooldown_s=cooldown_s,
            )

    async def _look(self) -> tuple[Material, bool]:
        """What others left in the folder, and whether a consolidation has not seen it."""
        version = self._settings.version
        await self._notes_back()
        found = await asyncio.to_thread(look_for_material, self._state.home.memories(version))
        if self._consolidated is not None:
            return found, found != self._consolidated
        # The first look of this process: only the times tell.
        async with self._state.database.glancing() as read:
            job = await self._state.jobs.get(
                read, version=version, kind="consolidation", key=CONSOLIDATION_KEY
            )
        seen_ms = (job.finished_at_ms or 0) if job is not None and job.status == "done" else 0
        if seen_ms > self._clock.now_ms():
            seen_ms = 0  # by a clock that was ahead; nothing written since would count as newer
        if found.files and found.newest_ms > seen_ms:
            return found, True
        self._consolidated = found
        return found, False

    async def _replace_lost(self) -> None:
        """Have memory that somebody wiped made anew; what failed before keeps its delay."""
        version = self._settings.version
        async with self._state.database.reading() as read:
            edition = await self._state.editions.latest(read, version)
            selected = await self._state.outputs.has_selected(read, version)
            job = await self._state.jobs.get(
                read, version=version, kind="consolidation", key=CONSOLIDATION_KEY
            )
        settled = job is None or job.status == "done"
        if edition is None or not selected or not settled:
            return
        folder = self._state.home.memories(version)
        if await asyncio.to_thread(is_lost, folder, recipe_of(version)):
            _LOG.warning("published memory %s is gone from %s; it is made anew", version, folder)
            async with self._state.database.writing() as tx:
                await self._state.jobs.enqueue_consolidation(
                    tx, version=version, watermark_ms=0, urgent=True
                )

    async def _notes_back(self) -> None:
        try:
            await notes_back(self._state, recipe_of(self._settings.version))
        except (StateError, OSError) as error:
            # A folder that cannot be used is told by the consolidation; the notes wait for it.
            _LOG.warning("notes of memory %s wait: %s", self._settings.version, error)

    async def _has_memory(self) -> bool:
        async with self._state.database.reading() as read:
            version = self._settings.version
            if (await self._state.outputs.counts(read, version)).total > 0:
                return True
            return await self._state.editions.latest(read, version) is not None

    def _tell(self, what: str, data: dict[str, str | int | None]) -> None:
        self._announce(Announcement(what=what, version=self._settings.version, data=data))
