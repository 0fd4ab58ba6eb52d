"""Brings in sessions that another home recorded.

Each session is copied into our own `sessions/` and noted in the index under its own thread id.
Invariant: sources are never written; a second run over the same sources changes nothing; a copy
that went on here is never replaced, it is told as a conflict.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar, assert_never

from memory_write.controls.session_files import (
    ROLLOUTS,
    Form,
    Source,
    copy_private,
    digest_of,
    relation,
    row_of,
    target_of,
)
from state.database import Transaction
from state.errors import HomeUnusable, RolloutUnreadable
from state.home import Home
from state.ids import ThreadId
from state.recovery import State
from state.rollouts.telling import SKIPPED_TOLD_MAX, Told, names_of, tell
from state.stores.private_rows import as_shown
from state.stores.threads import ThreadRow
from state.stores.withdrawal import OutsideSource, pollute_thread

T = TypeVar("T")

FILES_AT_ONCE_MAX = 4
BATCH_FILES = 64


class NotTaken(NamedTuple):
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProgress:
    """How far an import is."""

    path: str
    """The file that was just done."""
    done: int
    total: int


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import did, or would do when it is dry."""

    dry_run: bool = False
    found: int = 0
    imported: int = 0
    unchanged: int = 0
    updated: int = 0
    older: int = 0
    """Sessions whose last line is from before the asked time."""
    empty: int = 0
    """Sessions in which nothing is said."""
    barred: int = 0
    """Sessions that took in outside context, and so are not learned from."""
    unreadable: list[NotTaken] = field(default_factory=list)
    """Sessions that came in without some lines, which the reason numbers."""
    conflicts: list[NotTaken] = field(default_factory=list)
    failed: list[NotTaken] = field(default_factory=list)
    skipped_lines: int = 0


@dataclass(frozen=True, slots=True)
class _Unchanged:
    pass


@dataclass(frozen=True, slots=True)
class _Older:
    pass


@dataclass(frozen=True, slots=True)
class _Empty:
    pass


@dataclass(frozen=True, slots=True)
class _Conflict:
    reason: str


@dataclass(frozen=True, slots=True)
class _Failed:
    reason: str


@dataclass(frozen=True, slots=True)
class _Taken:
    row: ThreadRow
    new: bool
    skipped_lines: int
    first_skipped: tuple[int, ...]
    outside: OutsideSource | None
    """What bars the thread, where nothing barred its copy before."""


_Outcome = _Unchanged | _Older | _Empty | _Conflict | _Failed | _Taken


class SessionImport:
    """Imports sessions into one home; runs one at a time."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._alone = asyncio.Lock()

    async def run(
        self,
        path: Path,
        *,
        form: Form = ROLLOUTS,
        outside_bars: bool = False,
        since_ms: int | None = None,
        dry_run: bool = False,
        progress: Callable[[ImportProgress], None] = lambda _: None,
    ) -> ImportReport:
        """Import a file, a folder with all below, or the home of the program of that form.

        With `outside_bars` a session that took in outside context is not learned from.

        Raises: FileNotFoundError, OSError, DatabaseBusy, DatabaseUnusable.
        """
        path = await asyncio.to_thread(path.resolve)
        files = await asyncio.to_thread(form.find, path)
        order = _Order(
            form=form,
            outside_bars=outside_bars,
            names=await asyncio.to_thread(names_of, path),
            since_ms=since_ms,
            dry_run=dry_run,
            total=len(files),
            progress=progress,
        )
        report = ImportReport(dry_run=dry_run, found=len(files))
        async with self._alone:
            for start in range(0, len(files), BATCH_FILES):
                batch = files[start : start + BATCH_FILES]
                outcomes = await self._batch(batch, order)
                for file in batch:
                    _count(report, file, outcomes[file])
        return report

    async def _batch(self, files: Sequence[Path], order: "_Order") -> dict[Path, _Outcome]:
        found = await _each(files, lambda file: _examined(file, order.form))
        outcomes: dict[Path, _Outcome] = {}
        # One thread may lie in two files; the later one is judged by what became of the first.
        rounds: list[dict[ThreadId, Source]] = []
        for file, source in found.items():
            if isinstance(source, _Failed | _Empty):
                outcomes[file] = source
                order.tick(file)
                continue
            place = next((one for one in rounds if source.meta.id not in one), None)
            if place is None:
                place = {}
                rounds.append(place)
            place[source.meta.id] = source
        for sources in rounds:
            outcomes |= await self._round(sources, order)
        return outcomes

    async def _round(
        self, sources: dict[ThreadId, Source], order: "_Order"
    ) -> dict[Path, _Outcome]:
        async with self._state.database.reading() as read:
            rows = {one: await self._state.threads.get(read, one) for one in sources}
        now_ms = self._state.clock.now_ms()
        by_path = {source.path: source for source in sources.values()}

        def judged(path: Path) -> _Outcome:
            source = by_path[path]
            return _judge(source, rows[source.meta.id], self._state.home, order, now_ms)

        outcomes = await _each(list(by_path), judged, order.tick)
        taken = [one for one in outcomes.values() if isinstance(one, _Taken)]
        if taken and not order.dry_run:
            async with self._state.database.writing() as tx:
                for one in taken:
                    await self._state.threads.put(tx, one.row)
                    if one.outside is not None:
                        await self._bar(tx, one.row.thread_id, one.outside, now_ms)
        return outcomes

    async def _bar(
        self, tx: Transaction, thread_id: ThreadId, source: OutsideSource, now_ms: int
    ) -> None:
        state = self._state
        await pollute_thread(
            tx,
            threads=state.threads,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=thread_id,
            now_ms=now_ms,
            source=source,
        )


@dataclass(slots=True, kw_only=True)
class _Order:
    """What one run was asked for, and how far it is."""

    form: Form
    outside_bars: bool
    names: dict[ThreadId, str]
    since_ms: int | None
    dry_run: bool
    total: int
    progress: Callable[[ImportProgress], None]
    done: int = 0

    def tick(self, file: Path) -> None:
        """One more file is done."""
        self.done += 1
        self.progress(ImportProgress(path=str(file), done=self.done, total=self.total))


def _judge(
    source: Source, row: ThreadRow | None, home: Home, order: _Order, now_ms: int
) -> _Outcome:
    """Copy a source unless there is a reason not to."""
    try:
        target = home.root / row.rollout_path if row else target_of(source, home)
        refused = _refusal(source, row, target)
        if refused is not None:
            return refused
        if order.since_ms is not None and _is_older(_told(source), order.since_ms):
            return _Older()
        if order.dry_run:
            digest, told = source.digest, _told(source)
        else:
            digest, told = copy_private(source, target)
    except (OSError, RolloutUnreadable, HomeUnusable) as error:
        return _Failed(_reason(error))
    fresh = row_of(
        source,
        told,
        path=str(target.relative_to(home.root)),
        digest=digest,
        now_ms=now_ms,
        name=order.names.get(source.meta.id),
    )
    kept = _kept(fresh, row)
    return _Taken(
        row=kept,
        new=row is None,
        skipped_lines=source.skipped_lines + told.skipped_lines,
        first_skipped=(*source.first_skipped, *told.first_skipped)[:SKIPPED_TOLD_MAX],
        outside=_barring(source, told, order) if kept.memory_mode == "enabled" else None,
    )


def _barring(source: Source, told: Told, order: _Order) -> OutsideSource | None:
    """What of a session bars it from being learned from: our settings, or its program's word."""
    if order.outside_bars and source.outside is not None:
        return source.outside
    return OutsideSource("other", "import") if told.memory_mode == "polluted" else None


def _told(source: Source) -> Told:
    return tell(source.path, opened=source.opened)


def _refusal(source: Source, row: ThreadRow | None, target: Path) -> _Outcome | None:
    """Why a source is not to be copied; None when it is."""
    if target.exists() and target.samefile(source.path):
        return _Unchanged()
    if row is None:
        # A copy without a row is what an import that was killed left behind.
        if target.exists() and relation(source, target) in ("rewritten", "behind"):
            return _Conflict("another file lies where its copy would")
        return None
    if row.imported_digest is None:
        return _Conflict("a thread of this home has the same id")
    if row.imported_digest == source.digest:
        return _Unchanged()
    if not target.exists():
        return None
    stands = relation(source, target)
    if stands in ("same", "behind"):
        return _Unchanged()
    if digest_of(target) != row.imported_digest:
        return _Conflict("the thread went on here and in the source")
    if stands == "rewritten":
        return _Conflict("the source was rewritten since it was imported")
    return None


def _kept(fresh: ThreadRow, row: ThreadRow | None) -> ThreadRow:
    """The new row with what a person may have set since the first import."""
    if row is None:
        return fresh
    kept = replace(
        fresh,
        name=row.name or fresh.name,
        memory_mode=row.memory_mode,
        use_memories=row.use_memories,
        archived=row.archived,
        imported_at_ms=row.imported_at_ms,
    )
    return as_shown(kept)


def _unreadable(taken: _Taken) -> str:
    more = ", …" if taken.skipped_lines > len(taken.first_skipped) else ""
    numbers = ", ".join(map(str, taken.first_skipped))
    return f"{taken.skipped_lines} of its lines could not be read: {numbers}{more}"


def _is_older(told: Told, since_ms: int) -> bool:
    return told.updated_at_ms is not None and told.updated_at_ms < since_ms


def _count(report: ImportReport, file: Path, outcome: _Outcome) -> None:
    match outcome:
        case _Unchanged():
            report.unchanged += 1
        case _Older():
            report.older += 1
        case _Empty():
            report.empty += 1
        case _Conflict(reason):
            report.conflicts.append(NotTaken(str(file), reason))
        case _Failed(reason):
            report.failed.append(NotTaken(str(file), reason))
        case _Taken():
            report.imported += outcome.new
            report.updated += not outcome.new
            report.barred += outcome.outside is not None
            report.skipped_lines += outcome.skipped_lines
            if outcome.skipped_lines:
                report.unreadable.append(NotTaken(str(file), _unreadable(outcome)))
        case _:
            assert_never(outcome)


def _examined(path: Path, form: Form) -> Source | _Empty | _Failed:
    try:
        return form.examine(path) or _Empty()
    except (OSError, RolloutUnreadable) as error:
        return _Failed(_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, RolloutUnreadable | HomeUnusable):
        return error.reason
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


async def _each(
    files: Iterable[Path], work: Callable[[Path], T], tick: Callable[[Path], None] = lambda _: None
) -> dict[Path, T]:
    """The result of blocking work for each file, a few files at once."""
    free = asyncio.Semaphore(FILES_AT_ONCE_MAX)

    async def one(file: Path) -> tuple[Path, T]:
        async with free:
            result = await asyncio.to_thread(work, file)
        tick(file)
        return file, result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(file)) for file in files]
    return dict(task.result() for task in tasks)
