"""Why what waits is waiting, and until when: the view of a person on the work of learning.

It decides nothing; the words follow the rules by which `refusals.py` and the scan refuse, so that
what is told is what would be done now.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from state.database import Reading
from state.named_queries import Queries
from state.stores.outputs import BLANKS
from state.stores.refusals import LEASE_MAX_MS, RETRY_MAX_MS, is_held

Q = Queries("waiting")

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Threads, or a consolidation, that one reason holds back."""

    why: str
    count: int
    until_ms: int | None = None
    """When the first of them may go on; None where only a change of the thing itself helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How the extractions of a version ended, the last one of each thread."""

    claimed: int
    succeeded: int
    empty: Mapping[str, int]
    """By reason, as the others."""
    failed: Mapping[str, int]


class WaitingStore:
    """Reads; holds nothing."""

    async def threads(
        self, read: Reading, *, version: str, now_ms: int, idle_hours_min: int, age_days_max: int
    ) -> list[Waiting]:
        """Threads with something that was not learned from, by the reason; `ready` may be now."""
        rows = await read.all(
            Q["threads"],
            version=version,
            now_ms=now_ms,
            idle_ms=max(idle_hours_min, 0) * 3_600_000,
            age_ms=max(age_days_max, 0) * _DAY_MS,
            lease_max_ms=LEASE_MAX_MS,
            retry_max_ms=RETRY_MAX_MS,
        )
        return [
            Waiting(why=row["why"], count=row["number"], until_ms=row["until_ms"]) for row in rows
        ]

    async def consolidation(
        self, read: Reading, *, version: str, now_ms: int, cooldown_s: int
    ) -> Waiting | None:
        """Why the consolidation of a version waits or what it does; None when nothing is due."""
        row = await read.one(
            Q["consolidation"],
            version=version,
            now_ms=now_ms,
            cooldown_ms=max(cooldown_s, 0) * 1000,
            retry_max_ms=RETRY_MAX_MS,
        )
        if row is None or row["status"] == "done":
            return None
        if is_held(row["status"], row["lease_until_ms"], now_ms):
            return Waiting(why="running", count=1, until_ms=row["lease_until_ms"])
        if row["retry_at_ms"] is not None:
            why = "backoff"
            if row["reason"] == "budget" or (row["reason"] or "").startswith("quota:"):
                why = row["reason"].split(":")[0]
            return Waiting(why=why, count=1, until_ms=row["retry_at_ms"])
        if row["cooldown_until_ms"] is not None:
            return Waiting(why="cooldown", count=1, until_ms=row["cooldown_until_ms"])
        return Waiting(why="ready", count=1)

    async def ends(self, read: Reading, version: str) -> Ends:
        """How extractions ended."""
        succeeded = claimed = 0
        empty: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        for row in await read.all(Q["ends"], version=version):
            claimed += row["claimed"]
            reason = _class_of(row["reason"] or "unknown")
            match row["ended"]:
                case "succeeded":
                    succeeded += row["number"]
                case "empty":
                    empty[reason] += row["number"]
                case "failed":
                    failed[reason] += row["number"]
                case _:
                    pass
        return Ends(claimed=claimed, succeeded=succeeded, empty=dict(empty), failed=dict(failed))

    async def editions(self, read: Reading, version: str) -> int:
        """How often memory of a version was published."""
        return await _number(read, "editions", version=version)

    async def eligible(self, read: Reading, *, version: str, cutoff_ms: int) -> int:
        """Outputs that a consolidation would take if it had room for all."""
        return await _number(read, "eligible", version=version, cutoff_ms=cutoff_ms, blanks=BLANKS)


async def _number(read: Reading, name: str, **parameters: str | int) -> int:
    row = await read.one(Q[name], **parameters)
    assert row is not None
    number: int = row["number"]
    return number


def _class_of(reason: str) -> str:
    """`model:rateLimitExceeded: try later` and its like count as one reason."""
    return ":".join(reason.split(":")[:2])
