"""The state of memory in one answer: what there is, what waits and why, what it cost."""

import os
from datetime import UTC, datetime

from protocol.messages.memory import (
    EditionView,
    JobCounts,
    JobView,
    OverviewParams,
    OverviewResult,
    ServerView,
    SpendingView,
    ThreadCounts,
)
from server.handlers.services import Services
from server.wire.dispatch import Call
from state.database import Reading
from state.stores.jobs import JobRow

JOBS_TOLD_MAX = 50
_SETTLED = "done"


class OverviewHandler:
    """Answers `memory/overview`, from which `memoryd status` is printed."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def overview(self, call: Call, params: OverviewParams) -> OverviewResult:
        """Read everything in one snapshot."""
        services = self._services
        state, settings = services.state, services.settings
        version = settings.memory.version
        async with state.database.reading() as read:
            threads = await self._threads(read)
            jobs = await state.jobs.counts(read, version)
            rows = await state.jobs.list(read, version=version, limit=JOBS_TOLD_MAX)
            outputs = await state.outputs.counts(read, version)
            edition = await self._edition(read, version)
            spending = await self._spending(read)
        return OverviewResult(
            server=self._server(),
            enabled=settings.memory.enabled,
            generates=settings.memory.generate,
            version=version,
            folder=str(state.home.memories(version)),
            threads=threads,
            jobs=JobCounts(
                pending=jobs.pending,
                running=jobs.running,
                done=jobs.done,
                failed=jobs.failed,
                exhausted=jobs.exhausted,
            ),
            waiting=[_job(row) for row in rows if row.status != _SETTLED],
            outputs=outputs.total,
            last_edition=edition,
            spending=spending,
            notes=self._notes(spending),
        )

    def _server(self) -> ServerView:
        services = self._services
        return ServerView(
            version=services.identity.version,
            instance_id=services.identity.instance_id,
            pid=os.getpid(),
            home=str(services.state.home.root),
            provider=services.settings.provider,
            model=services.settings.model,
        )

    async def _threads(self, read: Reading) -> ThreadCounts:
        counts = await self._services.state.threads.counts(read)
        live = self._services.live
        return ThreadCounts(
            stored=counts.total,
            enabled=counts.enabled,
            disabled=counts.disabled,
            polluted=counts.polluted,
            archived=counts.archived,
            imported=counts.imported,
            loaded=len(live.loaded()),
            busy=len(live.busy()),
        )

    async def _edition(self, read: Reading, version: str) -> EditionView | None:
        edition = await self._services.state.editions.latest(read, version)
        if edition is None:
            return None
        return EditionView(
            edition_id=edition.edition_id,
            commit_id=edition.commit_id,
            published_at_ms=edition.decided_at_ms,
            added=len(edition.inputs.added),
            changed=len(edition.inputs.changed),
            removed=len(edition.inputs.removed),
        )

    async def _spending(self, read: Reading) -> SpendingView:
        services = self._services
        now = datetime.fromtimestamp(services.clock.now_ms() / 1000, UTC)
        day = now.date().isoformat()
        budget = services.settings.memory.budget
        store = services.state.spending
        return SpendingView(
            day=day,
            extraction_tokens=await store.total(read, day=day, kind="extraction"),
            consolidation_tokens=await store.total(read, day=day, kind="consolidation"),
            extraction_budget_tokens=budget.extraction_tokens,
            consolidation_budget_tokens=budget.consolidation_tokens,
        )

    def _notes(self, spending: SpendingView) -> list[str]:
        """What a person should know about when learning happens, in plain sentences."""
        memory = self._services.settings.memory
        if not memory.enabled:
            return ["memory is off: set `memories = true` under [features] to learn"]
        notes = [
            f"a thread is learned from after {memory.phase1.idle_hours_min} h without a turn; "
            "`memoryd consolidate` does not wait"
        ]
        if not memory.generate:
            notes.append("new threads are not learned from: `memories.generate_memories` is false")
        for kind, used, limit in (
            ("extraction", spending.extraction_tokens, spending.extraction_budget_tokens),
            ("consolidation", spending.consolidation_tokens, spending.consolidation_budget_tokens),
        ):
            if limit is not None and used >= limit:
                notes.append(f"{kind} waits until tomorrow (UTC): its daily budget is used up")
        return notes


def _job(row: JobRow) -> JobView:
    return JobView(
        kind=row.kind,
        key=row.key,
        status=row.status,
        reason=row.reason,
        retry_at_ms=row.retry_at_ms,
        lease_until_ms=row.lease_until_ms,
        attempts_left=row.attempts_left,
        outcome=row.outcome,
    )
