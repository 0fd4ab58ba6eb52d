"""What learning has still to do, and when there may be more: the scheduler's view of the jobs.

It claims nothing; whether a job may be done is decided by `jobs.py` alone, in the claim.
"""

import json
from collections.abc import Collection, Iterable

from state.database import Reading, Transaction
from state.ids import ThreadId
from state.named_queries import Queries
from state.stores.jobs import ATTEMPTS_MAX
from state.stores.refusals import LEASE_MAX_MS, RETRY_MAX_MS
from state.stores.threads import ThreadRow, thread_row

Q = Queries("backlog")


class Backlog:
    """Asks, dues and times; holds nothing."""

    async def ask(self, tx: Transaction, *, version: str, threads: Iterable[ThreadRow]) -> None:
        """Note that a person wants these threads heard; it outlives this process."""
        for thread in threads:
            await tx.run(
                Q["ask"],
                version=version,
                key=thread.thread_id,
                watermark_ms=thread.updated_at_ms,
                attempts_max=ATTEMPTS_MAX,
            )

    async def due(
        self,
        read: Reading,
        *,
        version: str,
        now_ms: int,
        exclude: Collection[ThreadId],
        limit: int,
    ) -> list[ThreadRow]:
        """Threads with an extraction that was begun or asked for and may go on now."""
        rows = await read.all(
            Q["due"],
            version=version,
            now_ms=now_ms,
            exclude=json.dumps(sorted(exclude)),
            limit=max(0, limit),
            lease_max_ms=LEASE_MAX_MS,
            retry_max_ms=RETRY_MAX_MS,
        )
        return [thread_row(row) for row in rows]

    async def consolidation_due(
        self, read: Reading, *, version: str, now_ms: int, cooldown_s: int
    ) -> bool:
        """Whether something was handed on to the consolidation that may be done now."""
        row = await read.one(
            Q["consolidation_due"],
            version=version,
            now_ms=now_ms,
            cooldown_ms=max(cooldown_s, 0) * 1000,
            lease_max_ms=LEASE_MAX_MS,
            retry_max_ms=RETRY_MAX_MS,
        )
        return row is not None

    async def next_at_ms(
        self, read: Reading, *, version: str, now_ms: int, idle_hours_min: int, cooldown_s: int
    ) -> int | None:
        """When a thread becomes idle, a delay ends or a cooldown ends; None when nothing will."""
        row = await read.one(
            Q["next_at"],
            version=version,
            now_ms=now_ms,
            idle_ms=max(idle_hours_min, 0) * 3_600_000,
            cooldown_ms=max(cooldown_s, 0) * 1000,
            retry_max_ms=RETRY_MAX_MS,
        )
        return None if row is None else row["at_ms"]
