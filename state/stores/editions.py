"""Editions of published memory: the intent of each swap and how it ended.

Invariant: an intent is written before the folder is swapped and decided exactly once after it, so a
start after a crash finds what is left open. Rows hold thread ids and file names, no memory text.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from state.database import Reading, Row, Transaction
from state.ids import ThreadId
from state.named_queries import Queries

Q = Queries("editions")

EditionState = Literal["open", "published", "abandoned"]
Maker = Literal["consolidator", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionInputs:
    """Which threads came, changed and went with an edition."""

    added: tuple[ThreadId, ...] = ()
    changed: tuple[ThreadId, ...] = ()
    removed: tuple[ThreadId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One state of published memory, or the intent to publish it."""

    edition_id: int
    version: str
    fence: int
    state: EditionState
    commit_id: str
    staged: str
    """Name of the staged folder."""
    inputs: EditionInputs
    made_by: Maker
    """A consolidator, or code alone that cut out what inputs that went had supported."""
    made_at_ms: int
    decided_at_ms: int | None


class EditionStore:
    """Intents to publish and their ends."""

    async def open_intent(
        self,
        tx: Transaction,
        *,
        version: str,
        fence: int,
        commit_id: str,
        staged: str,
        inputs: EditionInputs,
        made_at_ms: int,
        made_by: Maker = "consolidator",
    ) -> int:
        """Note the intent to publish; its id."""
        row = await tx.one(
            Q["open_intent"],
            version=version,
            fence=fence,
            commit_id=commit_id,
            staged=staged,
            inputs=json.dumps(
                {
                    "added": inputs.added,
                    "changed": inputs.changed,
                    "removed": inputs.removed,
                    "made_by": made_by,
                }
            ),
            made_at_ms=made_at_ms,
        )
        assert row is not None
        edition_id: int = row["edition_id"]
        return edition_id

    async def open_ones(self, read: Reading) -> list[Edition]:
        """Intents that nobody has decided, the oldest first."""
        return [_edition(row) for row in await read.all(Q["open_ones"])]

    async def publish(self, tx: Transaction, edition_id: int, decided_at_ms: int) -> bool:
        """Say that the swap happened; false when the intent was decided before."""
        return await self._decide(tx, edition_id, "published", decided_at_ms)

    async def abandon(self, tx: Transaction, edition_id: int, decided_at_ms: int) -> bool:
        """Say that the swap did not happen; false when the intent was decided before."""
        return await self._decide(tx, edition_id, "abandoned", decided_at_ms)

    async def latest(self, read: Reading, version: str) -> Edition | None:
        """The edition of a version that was published last."""
        row = await read.one(Q["latest"], version=version)
        return _edition(row) if row is not None else None

    async def get(self, read: Reading, edition_id: int) -> Edition | None:
        """One edition."""
        row = await read.one(Q["get"], edition_id=edition_id)
        return _edition(row) if row is not None else None

    async def withdrawn(
        self, read: Reading, *, version: str, thread_ids: Iterable[ThreadId]
    ) -> tuple[ThreadId, ...]:
        """Of these, the threads that may not stand in memory: deleted, polluted or disabled."""
        rows = await read.all(
            Q["withdrawn"], version=version, thread_ids=json.dumps(sorted(thread_ids))
        )
        return tuple(ThreadId(row["thread_id"]) for row in rows)

    async def removed(self, read: Reading, *, version: str, limit: int) -> frozenset[ThreadId]:
        """Every thread that ever left the memory of a version; of very many the latest."""
        rows = await read.all(Q["removed"], version=version, limit=limit)
        return frozenset(ThreadId(row["thread_id"]) for row in rows)

    async def withheld(
        self, read: Reading, *, version: str, limit: int
    ) -> dict[ThreadId, tuple[str, str]]:
        """The raw memories and recaps of threads that are polluted or disabled now."""
        rows = await read.all(Q["withheld"], version=version, limit=limit)
        return {
            ThreadId(row["thread_id"]): (row["raw_memory"], row["rollout_summary"]) for row in rows
        }

    async def _decide(
        self, tx: Transaction, edition_id: int, state: EditionState, decided_at_ms: int
    ) -> bool:
        changed = await tx.run(
            Q["decide"], edition_id=edition_id, state=state, decided_at_ms=decided_at_ms
        )
        return changed > 0


def _edition(row: Row) -> Edition:
    inputs = json.loads(row["inputs"])
    return Edition(
        edition_id=row["edition_id"],
        version=row["version"],
        fence=row["fence"],
        state=row["state"],
        commit_id=row["commit_id"],
        staged=row["staged"],
        inputs=EditionInputs(
            added=tuple(inputs["added"]),
            changed=tuple(inputs["changed"]),
            removed=tuple(inputs["removed"]),
        ),
        made_by=inputs.get("made_by", "consolidator"),
        made_at_ms=row["made_at_ms"],
        decided_at_ms=row["decided_at_ms"],
    )
