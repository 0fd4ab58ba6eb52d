"""Learning that clients ordered: it goes on without them, and is waited for only so long."""

import asyncio
import logging
from collections.abc import Mapping

from memory_write.lanes import Lanes
from memory_write.ports import ModelUse
from memory_write.scheduler import ConsolidateReport
from protocol.messages.memory import (
    ConsolidateResult,
    Phase1Counts,
    Phase2Outcome,
    VersionLearned,
)
from state.ids import ThreadId

WAIT_S = 900
RUNNING_MAX = 16

Reports = Mapping[str, ConsolidateReport]
"""What came of each version, the one that is read first."""

_LOG = logging.getLogger(__name__)


class Orders:
    """The ordered passes that are under way; they end with the lanes that run them."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Reports]] = {}

    @property
    def full(self) -> bool:
        """Whether no further order is taken now."""
        return len(self._running) >= RUNNING_MAX

    async def consolidate(
        self, lanes: Lanes, job_id: str, *, only: ThreadId | None, wait: bool
    ) -> ConsolidateResult:
        """Begin a pass; its result, or its id when it is not waited for or takes too long.

        Raises: WorkCancelled, StateError.
        """
        task = asyncio.create_task(lanes.consolidate(only=only), name=f"order {job_id}")
        self._running[job_id] = task
        task.add_done_callback(lambda done: self._ended(job_id, done))
        if wait:
            # Cancelled with its request, this wait leaves the pass alone.
            await asyncio.wait({task}, timeout=WAIT_S)
        if not task.done():
            return _running(job_id)
        return _finished(job_id, task.result())

    async def settled(self) -> None:
        """Until every pass that was ordered has ended, well or badly."""
        while self._running:
            await asyncio.wait(self._running.values())

    def _ended(self, job_id: str, task: asyncio.Task[Reports]) -> None:
        del self._running[job_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # Whoever waits gets it as well; without anyone, the log is its only place.
            _LOG.warning("ordered learning %s failed: %s", job_id, error)


def _running(job_id: str) -> ConsolidateResult:
    return ConsolidateResult(
        status="running",
        job_id=job_id,
        extraction=None,
        consolidation=None,
        versions=[],
        input_tokens=0,
        output_tokens=0,
    )


def _finished(job_id: str, reports: Reports) -> ConsolidateResult:
    learned = [_learned(version, report) for version, report in reports.items()]
    use = ModelUse()
    for report in reports.values():
        use += report.phase1.use + (report.phase2.use if report.phase2 else ModelUse())
    return ConsolidateResult(
        status="finished",
        job_id=job_id,
        extraction=learned[0].extraction,
        consolidation=learned[0].consolidation,
        versions=learned,
        input_tokens=use.input_tokens,
        output_tokens=use.output_tokens,
    )


def _learned(version: str, report: ConsolidateReport) -> VersionLearned:
    phase1, phase2 = report.phase1, report.phase2
    outcome = Phase2Outcome(status="skipped", reason=report.reason, edition_id=None)
    if phase2 is not None:
        outcome = Phase2Outcome(
            status=phase2.status, reason=phase2.reason, edition_id=phase2.edition_id
        )
    return VersionLearned(
        version=version,
        extraction=Phase1Counts(
            claimed=phase1.claimed,
            succeeded=phase1.succeeded,
            empty=phase1.empty,
            failed=dict(phase1.failed),
            skipped=dict(phase1.skipped),
            stopped_by=phase1.stopped_by,
        ),
        consolidation=outcome,
    )
