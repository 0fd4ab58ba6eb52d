"""What phase 1 took from each thread, how often it was used, and what consolidation took of it.

Invariant: texts are only replaced by those of the same or a newer state of their thread; a
selection is one statement, so it is one state; marks are set only on rows that still are what the
consolidation saw.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from state.database import Reading, Row, Transaction
from state.ids import ThreadId
from state.named_queries import Queries
from state.stores.threads import ThreadRow, thread_row
from state.stores.withheld import Withheld

Q = Queries("outputs")

OUTPUTS_MAX = 4_096
_DAY_MS = 86_400_000
BLANKS = " \t\r\n\f\v"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one version of learning took from one thread."""

    version: str
    thread_id: ThreadId
    source_updated_at_ms: int
    """The state of the thread that was read."""
    raw_memory: str
    rollout_summary: str
    rollout_slug: str | None
    generated_at_ms: int
    usage_count: int = 0
    last_usage_ms: int | None = None
    selected: bool = False
    """Part of the last consolidation that succeeded."""
    selected_source_updated_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedOutput:
    """An output with the thread it came from."""

    output: Output
    thread: ThreadRow


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCounts:
    """How many outputs a version has, and how many its last consolidation took."""

    total: int
    selected: int


class OutputStore:
    """Results of phase 1 and their use."""

    def __init__(self) -> None:
        self.withheld = Withheld()
        """Whose results are read nowhere, whatever the files of memory hold."""

    async def put(self, tx: Transaction, output: Output) -> bool:
        """Write an output; false when a newer one stands, which then stays."""
        values = {name: getattr(output, name) for name in _FIELDS}
        values["selected"] = int(output.selected)
        return await tx.run(Q["put"], **values) > 0

    async def get(self, read: Reading, version: str, thread_id: ThreadId) -> Output | None:
        """The output of one thread."""
        row = await read.one(Q["get"], version=version, thread_id=thread_id)
        return _output(row) if row is not None else None

    async def delete(self, tx: Transaction, version: str, thread_id: ThreadId) -> bool:
        """Remove an output; false when there was none."""
        return await tx.run(Q["delete"], version=version, thread_id=thread_id) > 0

    async def select(
        self,
        read: Reading,
        *,
        version: str,
        outputs_max: int,
        unused_days_max: int | None,
        now_ms: int,
    ) -> list[SelectedOutput]:
        """The best outputs of enabled threads, by thread id; None ignores how long unused.

        The clock of an imported thread that was never used starts at its import.
        """
        rows = await read.all(
            Q["select"],
            version=version,
            limit=max(0, min(outputs_max, OUTPUTS_MAX)),
            cutoff_ms=_cutoff(now_ms, unused_days_max),
            blanks=BLANKS,
        )
        return [SelectedOutput(output=_output(row), thread=thread_row(row)) for row in rows]

    async def latest(
        self, read: Reading, *, version: str, outputs_max: int
    ) -> list[SelectedOutput]:
        """Outputs of enabled threads, those of the newest source first."""
        rows = await read.all(
            Q["latest"],
            version=version,
            limit=max(0, min(outputs_max, OUTPUTS_MAX)),
            blanks=BLANKS,
        )
        return [SelectedOutput(output=_output(row), thread=thread_row(row)) for row in rows]

    async def mark_selected(
        self, tx: Transaction, *, version: str, selected: Sequence[tuple[ThreadId, int]]
    ) -> int:
        """Note what a consolidation took, as (thread, source time); how many still match."""
        await tx.run(Q["unselect_all"], version=version)
        return await tx.run(
            Q["mark_selected"], version=version, selected=json.dumps([*map(list, selected)])
        )

    async def count_usage(
        self, tx: Transaction, *, version: str, thread_ids: Iterable[ThreadId], now_ms: int
    ) -> int:
        """Count one use for each id given; unknown ids change nothing; how many were known."""
        counted = 0
        for thread_id in thread_ids:
            counted += await tx.run(
                Q["count_usage"], version=version, thread_id=thread_id, now_ms=now_ms
            )
        return counted

    async def prune(
        self,
        tx: Transaction,
        *,
        version: str,
        unused_days_max: int,
        rows_max: int,
        now_ms: int,
    ) -> int:
        """Drop outputs nobody used for so long, a few at a time; how many."""
        return await tx.run(
            Q["prune"],
            version=version,
            cutoff_ms=_cutoff(now_ms, unused_days_max),
            limit=max(0, rows_max),
        )

    async def clear(self, tx: Transaction, version: str, *, at_ms: int | None = None) -> int:
        """Drop all outputs of a version and its progress; how many there were.

        With a time it is for good: what was said in threads up to then is not learned again. The
        time 0 stands before everything, so that all of it may be.
        """
        if at_ms is not None:
            tx.tell("reset", version=version, at_ms=at_ms)
            if at_ms == 0:
                await tx.run(Q["lift_reset"], version=version)
            else:
                await tx.run(Q["note_reset"], version=version, at_ms=at_ms)
        await tx.run(Q["clear_progress"], version=version)
        return await tx.run(Q["clear"], version=version)

    async def reset_at_ms(self, read: Reading, version: str, thread: ThreadRow) -> int | None:
        """Up to when what was said in a thread is forgotten; None where no reset concerns it."""
        row = await read.one(Q["reset_at"], version=version)
        if row is None or (thread.imported_at_ms or 0) > row["at_ms"]:
            return None
        at_ms: int = row["at_ms"]
        return at_ms

    async def max_consolidated(self, read: Reading, version: str) -> int:
        """The most threads that one consolidation of this version ever took."""
        row = await read.one(Q["max_consolidated"], version=version)
        return row["threads_max"] if row is not None else 0

    async def raise_consolidated(self, tx: Transaction, version: str, count: int) -> None:
        """Note that a consolidation took so many threads; the number never falls."""
        await tx.run(Q["raise_consolidated"], version=version, count=count)

    async def counts(self, read: Reading, version: str) -> OutputCounts:
        """How many outputs a version has."""
        row = await read.one(Q["counts"], version=version)
        assert row is not None
        return OutputCounts(total=row["total"], selected=row["selected"])

    async def has_selected(self, read: Reading, version: str) -> bool:
        """Whether the last consolidation of a version took anything."""
        return await read.one(Q["has_selected"], version=version) is not None

    async def versions_of(self, read: Reading, thread_id: ThreadId) -> dict[str, bool]:
        """The versions that took something from a thread, and whether it was consolidated."""
        rows = await read.all(Q["versions_of"], thread_id=thread_id)
        return {row["version"]: bool(row["selected"]) for row in rows}


_FIELDS = tuple(field.name for field in fields(Output))


def _output(row: Row) -> Output:
    values = {name: row[name] for name in _FIELDS}
    values["selected"] = bool(values["selected"])
    return Output(**values)


def _cutoff(now_ms: int, unused_days_max: int | None) -> int | None:
    return None if unused_days_max is None else now_ms - max(unused_days_max, 0) * _DAY_MS
