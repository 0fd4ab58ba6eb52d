"""A pass of phase 1: which threads are claimed, how many at once, and what came of it.

Threads are claimed one by one, just before a worker is free for them, so no lease runs while its
thread waits. An automatic pass claims a few; an ordered one notes all it was asked for first, so
that a crash or a stop leaves an order that the next pass fulfils.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from memory_write.limits import MemorySettings
from memory_write.phase1.allowance import Allowance
from memory_write.phase1.report import Phase1Report, Tally
from memory_write.phase1.resting import RestingThreads
from memory_write.ports import Announcer, Models, Quota, Steps, no_steps
from memory_write.recipes import Recipe, recipe_of
from state.ids import ThreadId
from state.recovery import State
from state.stores.backlog import Backlog
from state.stores.jobs import Claimed
from state.stores.refusals import Skipped
from state.stores.threads import ThreadRow

if TYPE_CHECKING:
    # At run time it is imported at the first claim: most starts have nothing to hear.
    from memory_write.phase1.job import JobRunner, Verdict

BusyThreads = Callable[[], frozenset[ThreadId]]
GoOn = Callable[[], bool]


class Phase1:
    """Hears threads and stores what was learned from each."""

    def __init__(
        self,
        state: State,
        models: Models,
        quota: Quota,
        announce: Announcer,
        settings: MemorySettings,
        steps: Steps = no_steps,
        allowance: Allowance | None = None,
        places: asyncio.Semaphore | None = None,
    ) -> None:
        """`allowance` and `places` are shared by those who spend of the same budget and cap."""
        self._state = state
        self._models = models
        self._quota = quota
        self._announce = announce
        self._settings = settings
        self._steps = steps
        self._backlog = Backlog()
        self._places = places or asyncio.Semaphore(settings.phase1.concurrent_max)
        self._resting = RestingThreads(state, settings.phase1, settings.version)
        self._allowance = allowance or Allowance(
            state, tokens_max=settings.budget.extraction_tokens
        )

    @cached_property
    def _jobs(self) -> "JobRunner":
        from memory_write.phase1.job import JobRunner

        return JobRunner(
            self._state,
            self._models,
            self._announce,
            self._settings,
            self._allowance,
            self._steps,
        )

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
        """Claim and hear threads; with `everything` whatever their age and idle time.

        `busy_now` is asked again before each claim, `go_on` says when to claim no more.
        Raises: DatabaseBusy, DatabaseUnusable.
        """
        recipe = recipe_of(self._settings.version)
        tally = Tally()
        ordered = everything or only is not None
        exclude = busy | ({current_thread} if current_thread and not ordered else frozenset())
        if ordered:
            waiting = await self._ask_for(recipe.version, only, exclude, tally)
        else:
            waiting = await self._candidates(recipe.version, exclude)
        limits = self._settings.phase1
        share = _Share(
            recipe=recipe,
            trigger="order" if ordered else "scheduler",
            waiting=waiting,
            claims_left=len(waiting) if ordered else limits.claims_per_wake_max,
            failures_max=limits.concurrent_max if ordered else 1,
            busy_now=busy_now or (lambda: busy),
            go_on=go_on or (lambda: True),
            tally=tally,
        )
        workers = min(limits.concurrent_max, len(share.waiting), share.claims_left)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(workers):
                    group.create_task(self._worker(share), name=f"extraction worker {number}")
        except ExceptionGroup as several:
            raise several.exceptions[0] from None
        if share.stopped_by is not None:
            tally.skip(share.stopped_by, len(share.waiting) if ordered else 0)
        return tally.report(
            stopped_by=share.stopped_by,
            more=bool(share.waiting) and share.stopped_by is None,
            retry_at_ms=share.retry_at_ms,
        )

    async def _candidates(self, version: str, exclude: frozenset[ThreadId]) -> deque[ThreadRow]:
        """Work once begun comes first, then threads that rest, the newest first."""
        limits = self._settings.phase1
        now_ms = self._state.clock.now_ms()
        changes = self._state.database.changes
        async with self._state.database.reading() as read:
            begun = await self._backlog.due(
                read, version=version, now_ms=now_ms, exclude=exclude, limit=limits.scan_max
            )
            taken = exclude | {row.thread_id for row in begun}
            resting = await self._resting.look(read, changes=changes, now_ms=now_ms, exclude=taken)
        return deque([*begun, *resting])

    async def _ask_for(
        self,
        version: str,
        only: ThreadId | None,
        exclude: frozenset[ThreadId],
        tally: Tally,
    ) -> deque[ThreadRow]:
        async with self._state.database.glancing() as read:
            if only is None:
                rows = await self._state.threads.all_enabled(read, due_for=version)
            else:
                row = await self._state.threads.get(read, only)
                rows = [row] if row is not None else []
                if row is None:
                    tally.skip("unknown_thread")
        wanted: deque[ThreadRow] = deque()
        for row in rows:
            reason = "busy" if row.thread_id in exclude else _unwanted(row)
            if reason is None:
                wanted.append(row)
            else:
                tally.skip(reason)
        if wanted:
            async with self._state.database.writing() as tx:
                await self._backlog.ask(tx, version=version, threads=wanted)
        return wanted

    async def _worker(self, share: "_Share") -> None:
        while True:
            # Taken before the claim, so that no lease runs while its thread waits for a place.
            async with self._places:
                thread = share.next()
                if thread is None or not await self._hear_one(share, thread):
                    return

    async def _hear_one(self, share: "_Share", thread: ThreadRow) -> bool:
        """Claim a thread and work on it; whether the worker goes on."""
        # What a person ordered is worth the rest of the limits, as the person's turns are.
        refusal = await self._quota.refusal() if share.trigger == "scheduler" else None
        if refusal is not None:
            share.put_back(thread, f"quota:{refusal}")
            share.retry_at_ms = self._quota.until_ms()
            return False
        if thread.thread_id in share.busy_now():
            share.skip("busy")
            return True
        claimed = await self._claim(share.recipe.version, thread)
        if isinstance(claimed, Skipped) and claimed.reason == "alone":
            # A worker that still runs takes it up when it is the last one.
            share.keep_for_later(thread)
            return False
        if isinstance(claimed, Skipped):
            share.skip(claimed.reason)
            return True
        share.tally.claimed += 1
        verdict = await self._jobs.run(claimed.claim, thread, share.recipe, trigger=share.trigger)
        share.ended(verdict)
        return True

    async def _claim(self, version: str, thread: ThreadRow) -> Claimed | Skipped:
        limits = self._settings.phase1
        async with self._state.database.writing() as tx:
            return await self._state.jobs.claim_extraction(
                tx,
                version=version,
                thread_id=thread.thread_id,
                watermark_ms=thread.updated_at_ms,
                lease_s=limits.lease_s,
                running_max=limits.concurrent_max,
            )


def _unwanted(row: ThreadRow) -> str | None:
    if row.memory_mode != "enabled":
        return row.memory_mode
    if not row.preview:
        return "no_turns"
    return None


@dataclass(slots=True, kw_only=True)
class _Share:
    """What the workers of one pass share; changed only between awaits."""

    recipe: Recipe
    trigger: str
    waiting: deque[ThreadRow]
    claims_left: int
    failures_max: int
    """Failures for want of a model, without a success, after which the pass claims no more."""
    busy_now: BusyThreads
    go_on: GoOn
    tally: Tally
    stopped_by: str | None = None
    retry_at_ms: int | None = None
    """When what stopped the pass is over, where that is known."""
    _failures: int = field(default=0)

    def next(self) -> ThreadRow | None:
        """The next thread to claim, if there is one and the pass goes on."""
        if self.stopped_by is None and not self.go_on():
            self.stopped_by = "stopping"
        if self.stopped_by is not None or self.claims_left <= 0 or not self.waiting:
            return None
        self.claims_left -= 1
        return self.waiting.popleft()

    def put_back(self, thread: ThreadRow, stopped_by: str) -> None:
        """The thread was not claimed, and the pass claims no more."""
        self.waiting.appendleft(thread)
        self.claims_left += 1
        self.stopped_by = stopped_by

    def keep_for_later(self, thread: ThreadRow) -> None:
        """The thread was not claimed; it waits behind the others."""
        self.waiting.append(thread)
        self.claims_left += 1

    def skip(self, reason: str) -> None:
        """The thread was not claimed; its place is free for another."""
        self.claims_left += 1
        self.tally.skip(reason)

    def ended(self, verdict: "Verdict") -> None:
        """A claimed thread is done with, in whatever way."""
        if verdict.spent is not None:
            self.tally.spend(verdict.spent.use)
        if verdict.ended is None:
            self.tally.fail(verdict.delay.reason if verdict.delay else "unknown")
            return
        self.tally.end(verdict.ended, verdict.delay)
        if verdict.delay is None:
            self._failures = 0
        elif verdict.delay.transient:
            self._failures += 1
            if self._failures >= self.failures_max:
                self.stopped_by = self.stopped_by or "model_unavailable"
        elif verdict.delay.reason == "budget" and self.trigger == "scheduler":
            self.stopped_by = self.stopped_by or "budget"
