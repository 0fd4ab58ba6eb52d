"""Jobs of learning: who may work on what, with leases that end and fences that only grow.

Invariant: a write for a job stands in a transaction that first proved the job's fence; a worker
whose job was taken over, deleted or reset leaves no trace. Fences come from one counter that no
reset touches, so no later claim ever has an earlier one's fence. The rules by which a claim is
refused are those of `refusals.py`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Literal

from state.clock import Clock
from state.database import Database, Reading, Row, Transaction
from state.errors import LeaseLost
from state.ids import ThreadId
from state.named_queries import Queries
from state.policy.redaction import redact
from state.stores.refusals import (
    LEASE_MAX_MS,
    RETRY_MAX_MS,
    JobStatus,
    Seen,
    Skipped,
    consolidation_refusal,
    extraction_refusal,
)

Q = Queries("jobs")

JobKind = Literal["extraction", "consolidation"]

ATTEMPTS_MAX = 3
DEATHS_MAX = 3
"""Processes that may die over one job before it is given up or waits long."""
DEATHS_PAUSE_MS = RETRY_MAX_MS
CONSOLIDATION_KEY = "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to finish one job, as long as nobody took it over."""

    version: str
    kind: JobKind
    key: str
    fence: int
    worker: str
    watermark_ms: int
    """The state of the source that this work is about."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The job is ours."""

    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as a person may see it."""

    version: str
    kind: JobKind
    key: str
    status: JobStatus
    reason: str | None
    """Why it failed last."""
    outcome: str | None
    """How it succeeded last."""
    attempts_left: int
    started_at_ms: int | None
    finished_at_ms: int | None
    lease_until_ms: int | None
    retry_at_ms: int | None
    watermark_ms: int | None
    success_watermark_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """How many jobs stand where; `failed` will be tried again, `exhausted` only when changed."""

    pending: int
    running: int
    done: int
    failed: int
    exhausted: int


JobRows = list[JobRow]
"""A name of its own, since inside the store `list` is its method."""


class JobStore:
    """Claims, leases and outcomes of jobs; `owner` names this process instance."""

    def __init__(self, clock: Clock, owner: str) -> None:
        self._clock = clock
        self._owner = owner

    async def release_dead(self, tx: Transaction) -> int:
        """Free the jobs of every other owner at once; how many there were.

        An extraction over which several processes died is given up: `process_died`. Over a
        consolidation that is, the next one waits a day, unless something urgent is handed on.
        """
        now_ms = self._clock.now_ms()
        return await tx.run(
            Q["release_dead"],
            owner=self._owner,
            deaths_max=DEATHS_MAX,
            now_ms=now_ms,
            retry_at_ms=now_ms + DEATHS_PAUSE_MS,
        )

    async def claim_extraction(
        self,
        tx: Transaction,
        *,
        version: str,
        thread_id: ThreadId,
        watermark_ms: int,
        lease_s: int,
        running_max: int,
    ) -> Claimed | Skipped:
        """Take the extraction of a thread as it was at the watermark."""
        now_ms = self._clock.now_ms()
        seen = await self._look(tx, version, "extraction", thread_id, now_ms)
        refusal = extraction_refusal(seen, watermark_ms, now_ms, running_max)
        if refusal is not None:
            return refusal
        attempts = ATTEMPTS_MAX if seen.is_newer(watermark_ms) else seen.attempts_left
        return await self._take(
            tx,
            version=version,
            kind="extraction",
            key=thread_id,
            watermark_ms=watermark_ms,
            attempts_left=attempts,
            lease_until_ms=_lease_until_ms(now_ms, lease_s),
        )

    async def claim_consolidation(
        self,
        tx: Transaction,
        *,
        version: str,
        lease_s: int,
        cooldown_s: int,
        ignore_cooldown: bool,
        take_over: bool = False,
    ) -> Claimed | Skipped:
        """Take the one consolidation of a version, if need be from the one who holds it."""
        now_ms = self._clock.now_ms()
        seen = await self._look(tx, version, "consolidation", CONSOLIDATION_KEY, now_ms)
        cooldown_ms = 0 if ignore_cooldown else max(cooldown_s, 0) * 1000
        refusal = consolidation_refusal(seen, now_ms, cooldown_ms)
        if refusal is not None and not take_over:
            return refusal
        return await self._take(
            tx,
            version=version,
            kind="consolidation",
            key=CONSOLIDATION_KEY,
            watermark_ms=seen.watermark_ms or 0,
            attempts_left=seen.attempts_left,
            lease_until_ms=_lease_until_ms(now_ms, lease_s),
        )

    async def heartbeat(self, tx: Transaction, claim: Claim, *, lease_s: int) -> bool:
        """Lengthen the lease; false when the job is no longer ours."""
        changed = await tx.run(
            Q["heartbeat"],
            lease_until_ms=_lease_until_ms(self._clock.now_ms(), lease_s),
            **_place(claim),
            fence=claim.fence,
        )
        return changed > 0

    async def holds(self, read: Reading, claim: Claim) -> bool:
        """Whether the job is still that of this claim."""
        return await read.one(Q["holds"], **_place(claim), fence=claim.fence) is not None

    @asynccontextmanager
    async def fenced(self, database: Database, claim: Claim) -> AsyncIterator[Transaction]:
        """A write transaction in the middle of a job; the fence is proved before anything else.

        Raises: LeaseLost.
        """
        async with database.writing() as tx:
            await self._prove(tx, claim)
            yield tx

    @asynccontextmanager
    async def finishing(self, database: Database, claim: Claim) -> AsyncIterator[Transaction]:
        """The last transaction of a job; its body calls `succeed` or `fail`.

        Raises: LeaseLost.
        """
        async with self.fenced(database, claim) as tx:
            yield tx
            if await tx.one(Q["holds"], **_place(claim), fence=claim.fence) is not None:
                raise RuntimeError(f"job {claim.kind}/{claim.key} was finished without an end")

    async def succeed(
        self,
        tx: Transaction,
        claim: Claim,
        *,
        outcome: str,
        starts_cooldown: bool = False,
        watermark_ms: int | None = None,
    ) -> None:
        """End the job well; a consolidation may name a newer watermark than it claimed.

        Raises: LeaseLost.
        """
        changed = await tx.run(
            Q["succeed"],
            **_place(claim),
            fence=claim.fence,
            now_ms=self._clock.now_ms(),
            claimed_ms=claim.watermark_ms,
            outcome=outcome,
            watermark_ms=max(claim.watermark_ms, watermark_ms or 0),
            starts_cooldown=int(starts_cooldown),
        )
        if changed == 0:
            raise LeaseLost(claim.kind, claim.key, claim.fence)

    async def fail(
        self, tx: Transaction, claim: Claim, *, reason: str, retry_at_ms: int, uses_retry: bool
    ) -> None:
        """End the job badly; it may be tried again from that time on, after a day at the latest.

        Raises: LeaseLost.
        """
        now_ms = self._clock.now_ms()
        changed = await tx.run(
            Q["fail"],
            **_place(claim),
            fence=claim.fence,
            now_ms=now_ms,
            # A reason may quote a provider or name a file, and both may hold a secret.
            reason=redact(reason),
            retry_at_ms=min(retry_at_ms, now_ms + RETRY_MAX_MS),
            uses=int(uses_retry),
        )
        if changed == 0:
            raise LeaseLost(claim.kind, claim.key, claim.fence)

    async def lift_cooldown(self, tx: Transaction, *, version: str) -> None:
        """Let what is handed on next be consolidated without waiting for the last success."""
        await tx.run(Q["lift_cooldown"], version=version)

    async def enqueue_consolidation(
        self, tx: Transaction, *, version: str, watermark_ms: int, urgent: bool = False
    ) -> None:
        """Note that there is something to consolidate; what is urgent waits for no cooldown."""
        await tx.run(
            Q["enqueue"],
            version=version,
            kind="consolidation",
            key=CONSOLIDATION_KEY,
            attempts_max=ATTEMPTS_MAX,
            watermark_ms=watermark_ms,
            urgent=int(urgent),
        )

    async def get(self, read: Reading, *, version: str, kind: JobKind, key: str) -> JobRow | None:
        """One job."""
        row = await read.one(Q["get"], version=version, kind=kind, key=key)
        return _job_row(row) if row is not None else None

    async def list(self, read: Reading, *, version: str, limit: int) -> JobRows:
        """Jobs, the latest first."""
        rows = await read.all(Q["list"], version=version, limit=max(0, limit))
        return [_job_row(row) for row in rows]

    async def counts(
        self, read: Reading, version: str, *, kind: JobKind | None = None
    ) -> JobCounts:
        """How many jobs stand where, of one kind or of both."""
        row = await read.one(Q["counts"], version=version, kind=kind)
        assert row is not None
        return JobCounts(**{field.name: row[field.name] for field in fields(JobCounts)})

    async def prune(self, tx: Transaction, *, version: str, before_ms: int, rows_max: int) -> int:
        """Drop extractions without a thread, and those that ended before then; a few at a time.

        A session of so long ago is heard once more if a person orders just that.
        """
        return await tx.run(Q["prune"], version=version, before_ms=before_ms, limit=rows_max)

    async def reopen_given_up(self, tx: Transaction, *, version: str, rules: str) -> int:
        """Let what was given up under other rules be tried again; how many, once for each rules."""
        row = await tx.one(Q["rules"], version=version)
        if row is not None and row["value"] == rules:
            return 0
        await tx.run(Q["note_rules"], version=version, rules=rules)
        if row is None:
            return 0
        return await tx.run(Q["reopen"], version=version, attempts_max=ATTEMPTS_MAX)

    async def delete_for_thread(self, tx: Transaction, thread_id: ThreadId) -> int:
        """Drop the extractions of a thread, of every version; whoever runs one loses it."""
        return await tx.run(Q["delete_for_thread"], key=thread_id)

    async def clear(self, tx: Transaction, version: str) -> int:
        """Drop all jobs of a version; the counter of fences goes on."""
        return await tx.run(Q["clear"], version=version)

    async def _look(
        self, tx: Transaction, version: str, kind: JobKind, key: str, now_ms: int
    ) -> Seen:
        row = await tx.one(
            Q["look"],
            version=version,
            kind=kind,
            key=key,
            now_ms=now_ms,
            lease_max_ms=LEASE_MAX_MS,
        )
        assert row is not None
        attempts = row["attempts_left"]
        return Seen(
            status=row["status"],
            lease_until_ms=row["lease_until_ms"],
            retry_at_ms=row["retry_at_ms"] or 0,
            attempts_left=ATTEMPTS_MAX if attempts is None else attempts,
            watermark_ms=row["watermark_ms"],
            done_ms=max(row["success_watermark_ms"] or -1, row["output_ms"] or -1),
            cooldown_from_ms=row["cooldown_from_ms"],
            others_running=row["others_running"],
            deaths=row["deaths"] or 0,
            suspects_running=row["suspects_running"],
        )

    async def _take(
        self,
        tx: Transaction,
        *,
        version: str,
        kind: JobKind,
        key: str,
        watermark_ms: int,
        attempts_left: int,
        lease_until_ms: int,
    ) -> Claimed:
        row = await tx.one(Q["next_fence"])
        assert row is not None
        claim = Claim(
            version=version,
            kind=kind,
            key=key,
            fence=row["value"],
            worker=self._owner,
            watermark_ms=watermark_ms,
        )
        await tx.run(
            Q["take"],
            **_place(claim),
            worker=claim.worker,
            fence=claim.fence,
            now_ms=self._clock.now_ms(),
            lease_until_ms=lease_until_ms,
            attempts_left=attempts_left,
            watermark_ms=watermark_ms,
        )
        return Claimed(claim)

    async def _prove(self, tx: Transaction, claim: Claim) -> None:
        if not await self.holds(tx, claim):
            raise LeaseLost(claim.kind, claim.key, claim.fence)


def _lease_until_ms(now_ms: int, lease_s: int) -> int:
    return now_ms + min(max(lease_s, 0) * 1_000, LEASE_MAX_MS)


def _place(claim: Claim) -> dict[str, str]:
    return {"version": claim.version, "kind": claim.kind, "key": claim.key}


def _job_row(row: Row) -> JobRow:
    return JobRow(**{field.name: row[field.name] for field in fields(JobRow)})
