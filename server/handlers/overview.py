"""The state of memory in one answer: what there is, what waits and why, what it cost."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime

from memory_read.snapshot import MemorySnapshot
from memory_write.recipes import RECIPES
from protocol.messages.memory import (
    CounterView,
    EditionView,
    FolderSizeView,
    JobCounts,
    JobView,
    OverviewParams,
    OverviewResult,
    QuotaView,
    ServerView,
    SpendingView,
    ThreadCounts,
    VersionView,
)
from server.handlers.load import load_view
from server.handlers.services import Services
from server.handlers.waiting import Holds, WaitingViews, sentences
from server.unused_memory import unused_memory
from server.wire.dispatch import Call
from state.database import Reading
from state.policy.redaction import redact
from state.stores.jobs import JobRow
from state.stores.switch import is_paused
from state.workspace.trees import folder_fault, folder_size

JOBS_TOLD_MAX = 50
STRAYS_TOLD_MAX = 5
_SETTLED = "done"


class OverviewHandler:
    """Answers `memory/overview`, from which `memoryd status` is printed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._waiting = WaitingViews(services)

    async def overview(self, call: Call, params: OverviewParams) -> OverviewResult:
        """Read everything in one snapshot."""
        services = self._services
        state, settings = services.state, services.settings
        quota = await services.quota.refusal()
        async with state.database.reading() as read:
            threads = await self._threads(read)
            spending = await self._spending(read)
            holds = Holds(
                paused=await is_paused(read),
                quota=quota,
                quota_until_ms=services.quota.until_ms(),
                spending=spending,
            )
            versions = await self._versions(read, holds)
        first = versions[0]
        return OverviewResult(
            server=await self._server(),
            enabled=settings.memory.enabled,
            generates=settings.memory.generate,
            paused=holds.paused,
            quota=None if quota is None else QuotaView(reason=quota, until_ms=holds.quota_until_ms),
            version=first.version,
            folder=first.folder,
            threads=threads,
            jobs=first.jobs,
            waiting=first.waiting,
            outputs=first.outputs,
            last_edition=first.last_edition,
            versions=versions,
            spending=spending,
            reads=[
                CounterView(name=one.name, labels=dict(one.labels), count=one.count)
                for one in services.read.counters.all()
            ],
            notes=[
                *self._notes(holds, versions),
                *await self._of_folder(first.version),
                *await self._of_search(first.version),
            ],
        )

    async def _of_folder(self, version: str) -> list[str]:
        """Who reads it, and what lies in it that no thread is told of by itself."""
        memory = MemorySnapshot(self._services.state.home, version, self._services.gate)
        strays = await asyncio.to_thread(memory.stray_files)
        told = [f"{memory.folder}/{redact(one.path)} is {one.reason}" for one in strays]
        more = len(told) - STRAYS_TOLD_MAX
        return [
            f"memory {version} is one for all projects; scope and trust come with version 3",
            *told[:STRAYS_TOLD_MAX],
            *([f"{more} more files of that kind lie in {memory.folder}"] if more > 0 else []),
        ]

    async def _of_search(self, version: str) -> list[str]:
        semantic = self._services.semantic
        return [] if semantic is None else await semantic.notes(version)

    async def _server(self) -> ServerView:
        services = self._services
        return ServerView(
            version=services.identity.version,
            instance_id=services.identity.instance_id,
            pid=os.getpid(),
            home=str(services.state.home.root),
            provider=services.settings.provider,
            model=services.settings.model,
            load=await asyncio.to_thread(load_view, services),
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

    async def _versions(self, read: Reading, holds: Holds) -> list[VersionView]:
        """Every version that is written, the one that is read first, and what others left."""
        written = self._services.settings.memory.versions
        views = [await self._version(read, one, holds) for one in written]
        for other in sorted(RECIPES.keys() - set(written)):
            view = await self._version(read, other, holds)
            if view.outputs or view.last_edition is not None:
                views.append(view)
        return views

    async def _version(self, read: Reading, version: str, holds: Holds) -> VersionView:
        state, memory = self._services.state, self._services.settings.memory
        jobs = await state.jobs.counts(read, version)
        rows = await state.jobs.list(read, version=version, limit=JOBS_TOLD_MAX)
        outputs = await state.outputs.counts(read, version)
        counters, displaced = await self._waiting.counters(read, version)
        size = await asyncio.to_thread(folder_size, state.home.memories(version))
        return VersionView(
            version=version,
            folder=str(state.home.memories(version)),
            is_read=version == memory.version,
            is_written=version in memory.versions,
            jobs=JobCounts(
                pending=jobs.pending,
                running=jobs.running,
                done=jobs.done,
                failed=jobs.failed,
                exhausted=jobs.exhausted,
            ),
            waiting=[_job(row) for row in rows if row.status != _SETTLED],
            waits=await self._waiting.waits(read, version, holds),
            counters=counters,
            outputs=outputs.total,
            outputs_used=outputs.selected,
            outputs_displaced=displaced,
            last_edition=await self._edition(read, version),
            size=FolderSizeView(files=size.files, bytes=size.bytes),
            withdrawal_pending=self._services.lanes.pending_withdrawals.get(version),
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

    def _notes(self, holds: Holds, versions: Sequence[VersionView]) -> list[str]:
        """What a person should know about when learning happens, in plain sentences."""
        memory, spending = self._services.settings.memory, holds.spending
        home = self._services.state.home
        told = list(self._services.state.notes)
        for version in memory.versions:
            fault = folder_fault(home.memories(version))
            if fault is not None:
                told.append(f"{fault}: move it away, and the next pass makes a new folder")
        unused = unused_memory(home, self._services.settings.memory_off_by)
        if unused is not None:
            told.append(unused)
        if not memory.enabled:
            return [*told, "memory is off: set `memories = true` under [features] to learn"]
        notes = [
            *told,
            f"a thread is learned from after {memory.phase1.idle_hours_min} h without a turn; "
            "`memoryd consolidate` does not wait",
        ]
        if holds.paused:
            notes.append("learning is paused: `memoryd resume` lets it go on")
        if holds.quota is not None:
            notes.append(
                f"learning by itself waits, the rest is left for your turns: {holds.quota}; "
                "`memoryd consolidate` does not wait"
            )
        if not memory.generate:
            notes.append("new threads are not learned from: `memories.generate_memories` is false")
        for kind, used, limit in (
            ("extraction", spending.extraction_tokens, spending.extraction_budget_tokens),
            ("consolidation", spending.consolidation_tokens, spending.consolidation_budget_tokens),
        ):
            if limit is not None and used >= limit:
                notes.append(f"{kind} waits until tomorrow (UTC): its daily budget is used up")
        for one in versions:
            if one.withdrawal_pending is not None:
                notes.append(
                    f"{one.version}: what a deleted or barred thread gave is read nowhere, but it "
                    f"could not be taken out yet of the files ({one.withdrawal_pending}); it is "
                    "tried until it is out"
                )
            notes += sentences(memory, one.version, one.counters, one.outputs_displaced)
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
