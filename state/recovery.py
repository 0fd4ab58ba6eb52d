"""Opens what lasts of a home: frees what a dead owner left, and mends what is broken.

Invariant: a database is set aside only by who holds the owner lock of its home and only for what
its bytes are, never because it is busy. What was set aside is rebuilt from the transcripts and the
journal before anybody reads; one line says which file it was, where it is and what still works.
"""

import asyncio
import json
import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from state.archiving import finish_moves
from state.clock import Clock
from state.database import Database
from state.errors import (
    DatabaseBroken,
    DatabaseBusy,
    DatabaseTooNew,
    HomeUnusable,
    MigrationChanged,
)
from state.file_system import FileSystem, file_system_of
from state.home import FILE_MODE, Home
from state.journal import Journal
from state.migrations import known_migrations, migrate
from state.named_queries import Queries
from state.owner import OwnerLock
from state.rebuild import rebuild_threads, replay, snapshot_of, take_in_unknown
from state.soundness import (
    LogState,
    in_use_elsewhere,
    log_state,
    schema_version,
    set_aside,
    set_aside_ones,
)
from state.stores.editions import EditionStore
from state.stores.jobs import JobStore
from state.stores.lineage import LineageStore
from state.stores.outputs import OutputStore
from state.stores.spending import SpendingStore
from state.stores.threads import ThreadStore

Q = Queries("recovery")

SET_ASIDE_MAX = 3
"""Databases that are kept after they were set aside; the oldest go first."""
MISHAP_TOLD_MS = 7 * 86_400_000
"""How long a lost database is told of where no file reminds of it."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishap:
    """A database that was lost, and how far its rebuilding is."""

    file: str
    reason: str
    aside: str
    """Where the broken file lies; empty where there was none left."""
    at_ms: int
    threads: int = 0
    unreadable: int = 0
    """Transcripts that could not be read."""
    rebuilt: bool = False
    """Whether the rows of all threads stand again."""
    settled: bool = False
    """Whether what is published was taken in again, too."""

    def __str__(self) -> str:
        kept = f"; it was set aside as {self.aside}" if self.aside else ""
        lost = f", {self.unreadable} transcripts could not be read" if self.unreadable else ""
        return (
            f"{self.file}: {self.reason}{kept}; {self.threads} threads were rebuilt from their "
            f"transcripts{lost}; names, memory modes, deletions and published memory still stand, "
            "usage counts and the history of jobs are gone, sessions are heard again as needed"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The open database of a home with its stores."""

    home: Home
    database: Database
    clock: Clock
    threads: ThreadStore
    jobs: JobStore
    outputs: OutputStore
    editions: EditionStore
    spending: SpendingStore
    file_system: FileSystem
    lineage: LineageStore
    mishap: Mishap | None = None
    noting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the one task of this process that writes notes of a person."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of this home; a mishap as long as its file lies there."""
        told, mishap = [], self.mishap
        if mishap is not None and mishap.aside and Path(mishap.aside).exists():
            told.append(f"{mishap}; delete that file when you no longer need it")
        elif mishap is not None and self.clock.now_ms() < mishap.at_ms + MISHAP_TOLD_MS:
            told.append(str(mishap))
        if self.file_system.shared:
            told.append(shared_note(self.home, self.file_system))
        return tuple(told)

    async def settle_mishap(self) -> None:
        """Note that nothing is left to be taken in again.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self.mishap is not None:
            await _note(self.database, replace(self.mishap, settled=True))

    async def close(self) -> None:
        """Close the database; waits for what is under way."""
        await self.database.close()


def shared_note(home: Home, found: FileSystem) -> str:
    """What it means that a home lies on a network file system."""
    return (
        f"{home.root} lies on a shared file system ({found.kind}): the database is kept without a "
        "write-ahead log there, which is slower; a home on a local disk is safer"
    )


async def open_state(
    home: Home,
    clock: Clock,
    owner: str,
    *,
    lock: OwnerLock | None = None,
    file_system: FileSystem | None = None,
) -> State:
    """Prepare the home, open and migrate its database, free the jobs of other owners.

    With the owner lock a broken database is set aside and rebuilt; without, it is refused.

    Raises: HomeUnusable, DatabaseUnusable, DatabaseBroken, DatabaseTooNew, DatabaseFull,
    DatabaseBusy, JournalUnusable, MigrationChanged.
    """
    await asyncio.to_thread(refuse_newer, home)
    home.prepare()
    system = file_system
    if system is None:
        system = await asyncio.to_thread(file_system_of, home.root)
    journal = await asyncio.to_thread(Journal.open, home.journal, clock)
    mending = lock is not None and lock.held
    database, loss = await _opened(home, clock, system, mending=mending)
    try:
        database.journal = journal
        mishap = await _migrated_and_mended(home, database, journal, clock, loss, mending=mending)
        await finish_moves(home, database)
        jobs = JobStore(clock, owner)
        async with database.writing() as tx:
            await jobs.release_dead(tx)
    except BaseException:
        await database.close()
        raise
    if system.shared:
        _LOG.warning("%s", shared_note(home, system))
    return State(
        home=home,
        database=database,
        clock=clock,
        threads=ThreadStore(),
        jobs=jobs,
        outputs=OutputStore(),
        editions=EditionStore(),
        spending=SpendingStore(),
        file_system=system,
        lineage=LineageStore(),
        mishap=mishap,
    )


def refuse_newer(home: Home) -> None:
    """Look at the schema before a byte of the home is touched.

    Raises: DatabaseTooNew.
    """
    found, known = schema_version(home.database), known_migrations()[-1].number
    if found is not None and found > known:
        raise DatabaseTooNew(home.database, found, known)


@dataclass(frozen=True, slots=True)
class _Loss:
    """What of the database was lost before it was opened."""

    reason: str
    aside: str


async def _opened(
    home: Home, clock: Clock, system: FileSystem, *, mending: bool
) -> tuple[Database, _Loss | None]:
    """The open database, and what was lost of it if something was."""
    path = home.database
    known = path.exists()
    loss = None
    log = await asyncio.to_thread(_log_state, path) if mending else LogState(None)
    if log.fault is not None:
        # SQLite would begin without it and say nothing; keep it to be looked at.
        loss = _Loss(log.fault, await asyncio.to_thread(_log_aside, path, clock))
    try:
        database = await Database.open(path, write_ahead=not system.shared, check=known)
    except DatabaseBroken as broken:
        if not mending:
            raise
        if await asyncio.to_thread(in_use_elsewhere, path):
            raise DatabaseBusy(path) from broken
        aside = await asyncio.to_thread(_aside, path, clock)
        loss = _Loss(broken.reason, str(aside))
        return await Database.open(path, write_ahead=not system.shared), loss
    if loss is None and log.commits and log.lost(await database.log_frames()):
        loss = _Loss("the end of its write-ahead log is damaged", "")
    return database, loss


async def _migrated_and_mended(
    home: Home,
    database: Database,
    journal: Journal,
    clock: Clock,
    loss: _Loss | None,
    *,
    mending: bool,
) -> Mishap | None:
    try:
        fresh = await migrate(database, clock) == len(known_migrations())
    except MigrationChanged as changed:
        backup = await asyncio.to_thread(_backup, home.database)
        raise MigrationChanged(changed.path, changed.name, backup) from changed
    async with database.reading() as read:
        row = await read.one(Q["mishap"])
    mishap = Mishap(**json.loads(row["value"])) if row is not None else None
    if loss is None and fresh and mending and await asyncio.to_thread(_has_past, home):
        loss = _Loss("it was gone or empty", "")
    if loss is not None:
        mishap = Mishap(
            file=str(home.database), reason=loss.reason, aside=loss.aside, at_ms=clock.now_ms()
        )
        # Noted before it begins, so that a start that is killed goes on with the next one.
        await _note(database, mishap)
    elif mishap is None or mishap.rebuilt or not mending:
        await _caught_up(database, journal, clock)
        if mending and (unknown := await take_in_unknown(home, database, journal, clock)):
            _LOG.warning("%s knew nothing of %d threads", home.database, len(unknown))
        return mishap
    rebuilt = await rebuild_threads(home, database, journal, clock)
    mishap = replace(
        mishap, threads=rebuilt.threads, unreadable=len(rebuilt.unreadable), rebuilt=True
    )
    await _note(database, mishap)
    # An error, so that the short commands, which keep warnings back, say it too.
    _LOG.error("%s", mishap)
    for path in rebuilt.unreadable[:5]:
        _LOG.warning("transcript %s could not be read and is left as it is", path)
    return mishap


async def _caught_up(database: Database, journal: Journal, clock: Clock) -> None:
    """Carry out what the journal has and the database has not; or write a journal that is gone."""
    async with database.reading() as read:
        row = await read.one(Q["journal_sequence"])
        applied: int = row["value"] if row is not None else 0
        told = await snapshot_of(read) if applied > journal.sequence or row is None else []
    if applied < journal.sequence:
        entries = await asyncio.to_thread(lambda: list(journal.entries(after=applied)))
        await replay(database, entries, clock)
    elif told or applied > journal.sequence:
        await asyncio.to_thread(journal.rewrite, told)
    else:
        return
    async with database.writing() as tx:
        await tx.run(Q["note_sequence"], sequence=journal.sequence)


async def _note(database: Database, mishap: Mishap) -> None:
    async with database.writing() as tx:
        await tx.run(Q["note_mishap"], value=json.dumps(asdict(mishap)))


def _log_state(path: Path) -> LogState:
    try:
        return log_state(path)
    except OSError as error:
        raise HomeUnusable(path.parent, error.strerror or str(error)) from error


def _has_past(home: Home) -> bool:
    """Whether there was something before this database."""
    if home.journal.exists():
        return True
    return any(
        name.startswith("rollout-")
        for root in (home.sessions, home.archived_sessions)
        for _, _, names in os.walk(root)
        for name in names
    )


def _log_aside(path: Path, clock: Clock) -> str:
    log = path.with_name(f"{path.name}-wal")
    place = path.with_name(f"{path.name}.broken-{_stamp(clock)}")
    log.rename(place)
    _bound(path)
    return str(place)


def _aside(path: Path, clock: Clock) -> Path:
    place = set_aside(path, _stamp(clock))
    _bound(path)
    return place


def _bound(path: Path) -> None:
    kept: Sequence[Path] = set_aside_ones(path)
    for old in kept[:-SET_ASIDE_MAX]:
        for file in path.parent.glob(f"{old.name}*"):
            file.unlink(missing_ok=True)


def _backup(path: Path) -> Path:
    """A copy of a database that is refused, made once."""
    place = path.with_name(f"{path.name}.refused")
    if not place.exists():
        shutil.copyfile(path, place)
        place.chmod(FILE_MODE)
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            shutil.copyfile(log, place.with_name(f"{place.name}-wal"))
    return place


def _stamp(clock: Clock) -> str:
    return datetime.fromtimestamp(clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3] + "Z"
