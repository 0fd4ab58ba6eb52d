"""The vectors of units, as bytes of a model that this store does not know.

Invariant: a row lives as long as its unit. Whatever takes a unit out takes its vectors out in the
same transaction, so nothing of a deleted text is left here, and a unit that says something else
never gets vectors that were made of what it said before.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from state.database import Database, Transaction
from state.named_queries import Queries

Q = Queries("vectors")


@dataclass(frozen=True, slots=True, kw_only=True)
class BareUnit:
    """A unit without vectors, and where its text stands."""

    unit_id: int
    file_id: int
    begin_byte: int
    end_byte: int
    mark: bytes
    path: str
    stamp: str
    """Of its file when it was indexed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitVectors:
    """The vectors of one unit, one behind the other."""

    unit_id: int
    mark: bytes
    """Of the text that they were made of."""
    windows: bytes
    file_id: int = 0


class VectorStore:
    """Vectors of every version."""

    async def without(
        self, database: Database, version: str, model: str, *, behind: BareUnit | None, most: int
    ) -> list[BareUnit]:
        """The first units behind another one that have no vectors of this model."""
        rows = await database.glance(
            Q["without"],
            version=version,
            model=model,
            file_id=-1 if behind is None else behind.file_id,
            unit_id=-1 if behind is None else behind.unit_id,
            most=most,
        )
        return [BareUnit(**dict(row)) for row in rows]

    async def add(self, tx: Transaction, model: str, made: Sequence[UnitVectors]) -> None:
        """Keep vectors of those units that still say what they were made of."""
        await tx.run_each(
            Q["add"],
            [
                {
                    "unit_id": one.unit_id,
                    "model": model,
                    "windows": one.windows,
                    "mark": one.mark,
                }
                for one in made
            ],
        )

    async def of_files(
        self, database: Database, model: str, file_ids: Iterable[int]
    ) -> list[UnitVectors]:
        """What is there of these files, by ascending unit."""
        rows = await database.glance(
            Q["of_files"], model=model, file_ids=json.dumps(list(file_ids))
        )
        return [UnitVectors(**dict(row)) for row in rows]

    async def count(self, database: Database, version: str, model: str) -> tuple[int, int]:
        """How many units there are, and how many of them have vectors of this model."""
        [row] = await database.glance(Q["count"], version=version, model=model)
        return int(row["units"]), int(row["done"])
