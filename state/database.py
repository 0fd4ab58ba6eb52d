"""The owner of the SQLite driver: one writing connection, several reading ones.

Invariant: no transaction outlives its `async with` block, also when its task is cancelled at any
await. COMMIT and ROLLBACK run in a shielded task; the driver works off its queue in order, so after
an error that task first waits behind what was queued, then looks whether a transaction is open.
What a transaction tells of itself is in the journal, on the disk, before it is committed.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from state.database_faults import Damaged, is_of_the_file, translated
from state.errors import DatabaseUnusable
from state.home import made_private
from state.journal import Journal
from state.named_queries import Query, statements_of
from state.visits import Reader, Visit
from state.write_queue import WriteQueue

SQLITE_MIN = (3, 40, 0)
BUSY_TIMEOUT_MS = 5_000
READERS = 3
CLOSE_PATIENCE_S = 2.0
_PRAGMAS = (
    f"busy_timeout={BUSY_TIMEOUT_MS}",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
    "trusted_schema=OFF",
    "temp_store=MEMORY",
    "cache_size=-16000",
    "journal_size_limit=67108864",
)

_READER_PRAGMAS = (
    f"busy_timeout={BUSY_TIMEOUT_MS}",
    "query_only=ON",
    "trusted_schema=OFF",
    "temp_store=MEMORY",
    "wal_autocheckpoint=0",
)
_LOG_MODE = {True: "PRAGMA journal_mode=WAL", False: "PRAGMA journal_mode=TRUNCATE"}
_NOTE_SEQUENCE = (
    "insert into meta (key, value) values ('journal_sequence', :sequence) "
    "on conflict (key) do update set value = excluded.value"
)

Value = str | int | float | bytes | None
Row = sqlite3.Row
Told = Mapping[str, Value]
"""One line of the journal: what changed, of which thread or version."""

T = TypeVar("T")


class Reading:
    """Statements on one snapshot."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def all(self, query: Query, /, **parameters: Value) -> list[Row]:
        """Every row."""
        return list(await self._connection.execute_fetchall(query.sql, parameters))

    async def one(self, query: Query, /, **parameters: Value) -> Row | None:
        """The first row, or None."""
        return next(iter(await self.all(query, **parameters)), None)


class Glance(Reading):
    """One statement, which sees one state by itself."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection)
        self._asked = False

    async def all(self, query: Query, /, **parameters: Value) -> list[Row]:
        """Every row."""
        if self._asked:
            raise RuntimeError("a glance is one statement; two take a snapshot of their own")
        self._asked = True
        return await super().all(query, **parameters)


class Transaction(Reading):
    """The one open write transaction; a body awaits nothing but this."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection)
        self.told: list[Told] = []
        self.following: list[Callable[[], None]] = []

    def then(self, follow: Callable[[], None]) -> None:
        """Call this as part of the commit, should there be one; it must not fail."""
        self.following.append(follow)

    def tell(self, what: str, **facts: Value) -> None:
        """Have this in the journal before the transaction is committed."""
        self.told.append({"what": what, **facts})

    async def run(self, query: Query, /, **parameters: Value) -> int:
        """Run a statement; how many rows it changed."""
        cursor = await self._connection.execute(query.sql, parameters)
        changed = cursor.rowcount
        if cursor.description is not None:
            # It gives rows and would stay open; one that gives none is done, a trip less.
            await cursor.close()
        return changed

    async def run_each(self, query: Query, rows: Sequence[Mapping[str, Value]], /) -> None:
        """Run a statement once for each row, in one trip to the driver's thread."""
        await self._connection.executemany(query.sql, rows)

    async def script(self, statements: str) -> None:
        """Run the statements of a migration one by one inside this transaction."""
        for statement in statements_of(statements):
            await self._connection.execute(statement)


class Database:
    """One file, one writer, several readers."""

    def __init__(self, path: Path, writer: aiosqlite.Connection, readers: Sequence[Reader]) -> None:
        self.path = path
        self.journal: Journal | None = None
        """Without one, what transactions tell is dropped."""
        self.changes = self._rows_changed = 0
        """Commits that changed rows; whoever holds a home writes alone, so equal is unchanged."""
        self._writer = writer
        self._lock = WriteQueue()
        self._readers: asyncio.LifoQueue[Reader] = asyncio.LifoQueue()
        self._every_reader = tuple(readers)
        self._all: list[aiosqlite.Connection] = [writer, *readers]
        self._closing = self._closed = False
        for reader in self._every_reader:
            self._readers.put_nowait(reader)

    @classmethod
    async def open(
        cls, path: Path, *, readers: int = READERS, write_ahead: bool = True, check: bool = False
    ) -> "Database":
        """Open or create the file, mode 0600; with `check` SQLite looks through it first.

        Raises: DatabaseUnusable, DatabaseBroken, DatabaseFull, DatabaseBusy.
        """
        if sqlite3.sqlite_version_info < SQLITE_MIN:
            wanted = ".".join(map(str, SQLITE_MIN))
            raise DatabaseUnusable(path, f"SQLite {sqlite3.sqlite_version} is below {wanted}")
        opened: list[aiosqlite.Connection] = []
        readers_opened: list[Reader] = []
        try:
            uri = await asyncio.to_thread(made_private, path)
            writer = await aiosqlite.connect(path, isolation_level=None)
            opened.append(writer)
            writer.row_factory = sqlite3.Row
            # To its end and in one trip: an open statement would keep the mode of the log.
            await writer.executescript(_pragmas(_PRAGMAS))
            if check:
                await _checked(writer)
            await writer.execute_fetchall(_LOG_MODE[write_ahead])
            for _ in range(readers):
                reader = Reader(uri)
                await reader
                opened.append(reader)
                readers_opened.append(reader)
                reader.row_factory = sqlite3.Row
                await reader.executescript(_pragmas(_READER_PRAGMAS))
        except BaseException as error:
            # A connection left open keeps the process alive: its thread is no daemon.
            await _to_the_end(_close_all(opened))
            if isinstance(error, sqlite3.Error | OSError):
                raise translated(error, path) from error
            raise
        return cls(path, writer, readers_opened)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Transaction]:
        """The write transaction: commits at the end of the block, rolls back on any error.

        Raises: DatabaseBusy, DatabaseUnusable, DatabaseFull, JournalUnusable.
        """
        async with self._lock:
            self._refuse_when_closing()
            tx = Transaction(self._writer)
            try:
                # BEGIN stands inside the try: a cancellation may arrive while it is under way.
                await self._writer.execute("BEGIN IMMEDIATE")
                yield tx
            except BaseException as error:
                # Its statement is not interrupted: an interrupt holds as long as any statement is
                # open, and the full-text index keeps some, so that ROLLBACK would be cut short too.
                await _to_the_end(self._roll_back())
                if self._closed and isinstance(error, ValueError):
                    self._refuse_when_closing()
                if is_of_the_file(error):
                    raise translated(error, self.path) from error
                raise
            try:
                await _to_the_end(self._noted_and_committed(tx))
            except sqlite3.Error as error:
                raise translated(error, self.path) from error

    async def _noted_and_committed(self, tx: Transaction) -> None:
        """What was told comes first: a crash in between is made good from the journal."""
        journal = self.journal if tx.told else None
        noted = False
        try:
            if journal is not None:
                await asyncio.to_thread(journal.append, tx.told)
                noted = True
                await self._writer.execute(_NOTE_SEQUENCE, {"sequence": journal.sequence})
            await self._commit()
        except BaseException:
            await self._roll_back()
            if journal is not None and noted:
                await asyncio.to_thread(journal.take_back)
            raise
        for follow in tx.following:
            follow()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reading]:
        """One snapshot: all statements of the block see the same state.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        reader, settled = await self._readers.get(), False
        try:
            self._refuse_when_closing()
            try:
                await reader.execute("BEGIN")
                yield Reading(reader)
                settled = True
            except asyncio.CancelledError:
                # Nobody waits for the answer any more: do not let a long search hold us up.
                if not self._closed:
                    await reader.interrupt()
                raise
            except sqlite3.Error as error:
                if is_of_the_file(error):
                    raise translated(error, self.path) from error
                raise
            finally:
                await _to_the_end(self._end_snapshot(reader, settled=settled))
        finally:
            self._readers.put_nowait(reader)

    async def glance(self, query: Query, /, **parameters: Value) -> list[Row]:
        """The rows of one statement, which sees one state by itself: one trip instead of three.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        async with self.glancing() as read:
            return await read.all(query, **parameters)

    @asynccontextmanager
    async def glancing(self) -> AsyncIterator[Reading]:
        """As `reading` for a body of a single statement, which needs no snapshot to be held.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        reader = await self._readers.get()
        try:
            self._refuse_when_closing()
            yield Glance(reader)
        except sqlite3.Error as error:
            raise (translated(error, self.path) if is_of_the_file(error) else error) from error
        finally:
            self._readers.put_nowait(reader)

    async def visit(self, work: Callable[[Visit], T]) -> T:
        """What a function finds that asks several statements of one snapshot, in one trip.

        It runs in a thread; it must be short, for a task that is cancelled waits for its end.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        reader = await self._readers.get()
        try:
            self._refuse_when_closing()
            return await _to_the_end(asyncio.to_thread(reader.visited, work))
        except sqlite3.Error as error:
            if self._closed:
                self._refuse_when_closing()
            raise (translated(error, self.path) if is_of_the_file(error) else error) from error
        finally:
            self._readers.put_nowait(reader)

    async def log_frames(self) -> int:
        """How many frames of the write-ahead log are in use; what lies behind them is not.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        return max(int(row[1]) for row in await self._checkpoint("PASSIVE"))

    async def fold_log(self) -> bool:
        """Fold the whole log into the file and empty it; false while a reader is in the way.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        return not any(row[0] for row in await self._checkpoint("TRUNCATE"))

    async def _checkpoint(self, mode: str) -> list[Row]:
        async with self._lock:
            self._refuse_when_closing()
            try:
                return list(await self._writer.execute_fetchall(f"PRAGMA wal_checkpoint({mode})"))
            except sqlite3.Error as error:
                raise translated(error, self.path) from error

    async def close(self) -> None:
        """Close every connection; what is under way gets a moment to end, then is stopped."""
        if self._closing:
            return
        self._closing = True
        settled = False
        try:
            async with asyncio.timeout(CLOSE_PATIENCE_S):
                for _ in self._every_reader:
                    await self._readers.get()
                async with self._lock:
                    settled = True
        except TimeoutError:
            pass
        finally:
            if not settled:
                for connection in self._all:
                    await connection.interrupt()
            self._closed = True
            await _to_the_end(_close_all(self._all))
            for reader in self._every_reader:
                # Whoever waits for a reader wakes up and is told.
                self._readers.put_nowait(reader)

    def _refuse_when_closing(self) -> None:
        if self._closing:
            raise DatabaseUnusable(self.path, "it was closed")

    async def _commit(self) -> None:
        if self._closed:
            raise DatabaseUnusable(self.path, "it was closed")
        before, self._rows_changed = self._rows_changed, self._writer.total_changes
        # The body came to its end, so nothing is waited for first.
        if self._writer.in_transaction:
            await self._writer.execute("COMMIT")
        self.changes += before != self._rows_changed

    async def _roll_back(self) -> None:
        if not self._closed and await _in_transaction(self._writer):
            await self._writer.execute("ROLLBACK")

    async def _end_snapshot(self, reader: aiosqlite.Connection, *, settled: bool) -> None:
        if self._closed:
            return
        if reader.in_transaction if settled else await _in_transaction(reader):
            await reader.execute("ROLLBACK")


def _pragmas(settings: Sequence[str]) -> str:
    return "".join(f"PRAGMA {one};" for one in settings)


async def _close_all(connections: list[aiosqlite.Connection]) -> None:
    # The writer last: the last one folds the log into the file, and one that reads only cannot.
    for connection in reversed(connections):
        await connection.close()


async def _in_transaction(connection: aiosqlite.Connection) -> bool:
    # A statement of no effect goes through the driver's queue, so that all before it is done.
    await connection.execute("SELECT 1")
    return connection.in_transaction


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Run it even if this task is cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    result = task.result()
    if cancelled:
        raise asyncio.CancelledError
    return result


async def _checked(writer: aiosqlite.Connection) -> None:
    for row in await writer.execute_fetchall("PRAGMA quick_check(1)"):
        if row[0] != "ok":
            raise Damaged(str(row[0]))
