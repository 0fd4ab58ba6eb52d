"""One lane of learning for each memory version: its own scheduler, phases, rows, folder, cooldown.

Invariant: lanes share nothing but threads, models, quota, the day's budget and the cap on calls at
once; what one version waits for or fails at never holds another one back.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from memory_write.limits import MemorySettings
from memory_write.phase1.allowance import Allowance
from memory_write.phase1.run import BusyThreads, Phase1
from memory_write.phase2.run import Phase2
from memory_write.ports import Announcer, Models, Quota, Steps, no_steps
from memory_write.recipes import RECIPES
from memory_write.scheduler import ConsolidateReport, Scheduler
from memory_write.withdrawals import Withdrawals
from state.ids import ThreadId
from state.recovery import State


@dataclass(frozen=True, slots=True)
class Lane:
    """One memory version and the one who learns for it."""

    version: str
    scheduler: Scheduler


def lanes_of(
    state: State,
    models: Models,
    quota: Quota,
    announce: Announcer,
    settings: MemorySettings,
    busy_threads: BusyThreads,
    steps: Steps = no_steps,
) -> "Lanes":
    """A lane for each version that the settings write, the one that is read first."""
    allowance = Allowance(state, tokens_max=settings.budget.extraction_tokens)
    places = asyncio.Semaphore(settings.phase1.concurrent_max)

    # A version that is written no more has its folder still, and lets go of what is withdrawn.
    phase2 = {
        version: Phase2(state, models, quota, announce, settings.of_version(version), steps)
        for version in dict.fromkeys((*settings.versions, *RECIPES))
    }

    def lane(version: str) -> Lane:
        own = settings.of_version(version)
        phase1 = Phase1(state, models, quota, announce, own, steps, allowance, places)
        scheduler = Scheduler(
            phase1, phase2[version], state, own, state.clock, announce, busy_threads
        )
        return Lane(version, scheduler)

    lanes = [lane(version) for version in settings.versions]
    return Lanes(lanes, Withdrawals(phase2, state.clock, state.outputs.withheld))


class Lanes:
    """All lanes, started, ordered and stopped as one."""

    def __init__(self, lanes: Sequence[Lane], withdrawals: Withdrawals | None = None) -> None:
        self._lanes = tuple(lanes)
        self._withdrawals = withdrawals

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that are written, the one that is read first."""
        return tuple(lane.version for lane in self._lanes)

    def start(self) -> None:
        """Begin in every lane."""
        if self._withdrawals is not None:
            self._withdrawals.start()
        for lane in self._lanes:
            lane.scheduler.start()

    def enable(self, enabled: bool) -> None:
        """Let every lane learn from now on, or end what works and begin nothing more."""
        for lane in self._lanes:
            lane.scheduler.enable(enabled)

    def nudge(self, thread_id: ThreadId) -> None:
        """A turn with input began in this thread; returns at once."""
        for lane in self._lanes:
            lane.scheduler.nudge(thread_id)

    def wake(self) -> None:
        """Something came from outside that a pass should look at; returns at once."""
        for lane in self._lanes:
            lane.scheduler.wake()

    @property
    def pending_withdrawals(self) -> Mapping[str, str]:
        """By version, why something that went may still stand in its files."""
        return {} if self._withdrawals is None else self._withdrawals.pending

    async def before_reading(self) -> None:
        """Take out what an earlier owner could not; before anybody reads memory.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self._withdrawals is not None:
            await self._withdrawals.before_reading()

    async def withdraw(self) -> Mapping[str, str]:
        """Take out of memory, at once and without a model, what deleted or barred threads said.

        What cannot be done now is tried until it is done; those versions, with the reason.
        """
        pending = {} if self._withdrawals is None else await self._withdrawals.now()
        self.wake()
        return pending

    def withdraw_soon(self) -> None:
        """The same behind the caller: what those threads said is withheld until then."""
        if self._withdrawals is not None:
            self._withdrawals.soon()
        self.wake()

    async def consolidate(self, *, only: ThreadId | None) -> Mapping[str, ConsolidateReport]:
        """Run both phases of every version now; what came of each, by version.

        Every lane goes to its end, also when another one fails.
        Raises: WorkCancelled, DatabaseBusy, DatabaseUnusable.
        """
        ended = await asyncio.gather(
            *(lane.scheduler.consolidate(only=only) for lane in self._lanes),
            return_exceptions=True,
        )
        reports: dict[str, ConsolidateReport] = {}
        for lane, outcome in zip(self._lanes, ended, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            reports[lane.version] = outcome
        return reports

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """End the passes that run or wait in any lane, and let none begin inside the block."""
        async with AsyncExitStack() as stack:
            for lane in self._lanes:
                await stack.enter_async_context(lane.scheduler.alone())
            yield

    async def stop(self, drain_s: float) -> None:
        """End all lanes, side by side."""
        if self._withdrawals is not None:
            await self._withdrawals.stop()
        await asyncio.gather(*(lane.scheduler.stop(drain_s) for lane in self._lanes))
