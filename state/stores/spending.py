"""Model tokens of background work, one row for each call, by day of UTC.

Invariant: every background token is attributed to a job, a model and what set it off.
"""

from dataclasses import dataclass, fields

from state.database import Reading, Transaction
from state.named_queries import Queries

Q = Queries("spending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one piece of background work cost."""

    day: str
    """`YYYY-MM-DD`, UTC."""
    kind: str
    job_key: str
    version: str
    model: str
    input_tokens: int
    cached_tokens: int
    """Part of the input tokens."""
    output_tokens: int
    trigger: str
    at_ms: int


class SpendingStore:
    """What background work cost."""

    async def add(
        self,
        tx: Transaction,
        *,
        day: str,
        kind: str,
        job_key: str,
        model: str,
        input_tokens: int,
        cached_tokens: int,
        output_tokens: int,
        at_ms: int,
        trigger: str,
        version: str,
    ) -> None:
        """Note the cost of one piece of work."""
        await tx.run(
            Q["add"],
            day=day,
            kind=kind,
            job_key=job_key,
            version=version,
            model=model,
            input_tokens=input_tokens,
            cached_tokens=cached_tokens,
            output_tokens=output_tokens,
            trigger=trigger,
            at_ms=at_ms,
        )

    async def total(self, read: Reading, *, day: str, kind: str) -> int:
        """Input and output tokens of a day, of one kind of work."""
        row = await read.one(Q["total"], day=day, kind=kind)
        assert row is not None
        tokens: int = row["tokens"]
        return tokens

    async def rows(self, read: Reading, *, day: str) -> list[Spent]:
        """Every piece of work of a day, in order."""
        rows = await read.all(Q["rows"], day=day)
        return [Spent(**{name: row[name] for name in _FIELDS}) for row in rows]

    async def prune(self, tx: Transaction, *, before_day: str) -> int:
        """Drop what is older than that day; how many rows."""
        return await tx.run(Q["prune"], before_day=before_day)


_FIELDS = tuple(field.name for field in fields(Spent))
