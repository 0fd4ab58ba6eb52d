"""The only owner of the SQLite driver: one writing connection, several reading ones.

Invariant: no transaction outlives its `async with` block, also when its task is cancelled at any
await. COMMIT and ROLLBACK run in a shielded task; the driver works off its queue in order, so that
task first waits behind what was queued, then looks whether a transaction is really open.
"""

import asyncio
import importlib.resources
import re
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite

from state.errors import DatabaseBusy, DatabaseUnusable
from state.home import FILE_MODE

SQLITE_MIN = (3, 40, 0)
BUSY_TIMEOUT_MS = 5_000
READERS = 3
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    f"busy_timeout={BUSY_TIMEOUT_MS}",
    "foreign_keys=ON",
    "secure_delete=ON",
    "trusted_schema=OFF",
    "temp_store=MEMORY",
    "cache_size=-16000",
    "journal_size_limit=67108864",
)

Value = str | int | float | bytes | None
Row = sqlite3.Row


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement, its name kept for errors and counters."""

    name: str
    sql: str


class Queries(Mapping[str, Query]):
    """The named statements of one file under `state/sql/queries/`."""

    def __init__(self, file: str) -> None:
        text = importlib.resources.files("state").joinpath("sql", "queries", f"{file}.sql")
        self._queries = {
            name: Query(f"{file}.{name}", sql)
            for name, sql in parse_named_queries(text.read_text("utf-8")).items()
        }

    def __getitem__(self, name: str) -> Query:
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


_NAME = re.compile(r"^-- name: ([a-z_0-9]+)$", re.MULTILINE)


def parse_named_queries(text: str) -> dict[str, str]:
    """Cut a file into its statements, each after a line `-- name: what`."""
    parts = _NAME.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


class Reading:
    """Statements on one snapshot."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def all(self, query: Query, /, **parameters: Value) -> list[Row]:
        """Every row."""
        return list(await self._connection.execute_fetchall(query.sql, parameters))

    async def one(self, query: Query, /, **parameters: Value) -> Row | None:
        """The first row, or None."""
        rows = await self.all(query, **parameters)
        return rows[0] if rows else None


class Transaction(Reading):
    """The one open write transaction; a body awaits nothing but this."""

    async def run(self, query: Query, /, **parameters: Value) -> int:
        """Run a statement; how many rows it changed."""
        async with self._connection.execute(query.sql, parameters) as cursor:
            return cursor.rowcount

    async def script(self, statements: str) -> None:
        """Run the statements of a migration one by one inside this transaction."""
        for statement in _statements(statements):
            await self._connection.execute(statement)


def _statements(text: str) -> list[str]:
    found, pending = [], ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    if pending.strip():
        found.append(pending.strip())
    return [one for one in found if one.strip(";").strip()]


class Database:
    """One file, one writer, several readers."""

    def __init__(
        self, path: Path, writer: aiosqlite.Connection, readers: list[aiosqlite.Connection]
    ) -> None:
        self.path = path
        self._writer = writer
        self._lock = asyncio.Lock()
        self._readers: asyncio.LifoQueue[aiosqlite.Connection] = asyncio.LifoQueue()
        self._all = [writer, *readers]
        for reader in readers:
            self._readers.put_nowait(reader)

    @classmethod
    async def open(cls, path: Path, *, readers: int = READERS) -> "Database":
        """Open or create the file, mode 0600.

        Raises: DatabaseUnusable, DatabaseBusy.
        """
        if sqlite3.sqlite_version_info < SQLITE_MIN:
            wanted = ".".join(map(str, SQLITE_MIN))
            raise DatabaseUnusable(path, f"SQLite {sqlite3.sqlite_version} is below {wanted}")
        opened: list[aiosqlite.Connection] = []
        try:
            uri = await asyncio.to_thread(_made_private, path)
            writer = await aiosqlite.connect(path, isolation_level=None)
            opened.append(writer)
            writer.row_factory = sqlite3.Row
            for pragma in _PRAGMAS:
                await writer.execute(f"PRAGMA {pragma}")
            for _ in range(readers):
                reader = await aiosqlite.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
                opened.append(reader)
                reader.row_factory = sqlite3.Row
                for pragma in (
                    f"busy_timeout={BUSY_TIMEOUT_MS}",
                    "query_only=ON",
                    "trusted_schema=OFF",
                    "temp_store=MEMORY",
                    "wal_autocheckpoint=0",
                ):
                    await reader.execute(f"PRAGMA {pragma}")
        except (sqlite3.Error, OSError) as error:
            for connection in opened:
                await connection.close()
            raise _translated(error, path) from error
        return cls(path, opened[0], opened[1:])

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Transaction]:
        """The write transaction: commits at the end of the block, rolls back on any error.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        async with self._lock:
            try:
                # BEGIN stands inside the try: a cancellation may arrive while it is under way.
                await self._writer.execute("BEGIN IMMEDIATE")
                yield Transaction(self._writer)
            except BaseException as error:
                await _to_the_end(self._roll_back())
                if isinstance(error, sqlite3.Error):
                    raise _translated(error, self.path) from error
                raise
            try:
                await _to_the_end(self._commit())
            except sqlite3.Error as error:
                await _to_the_end(self._roll_back())
                raise _translated(error, self.path) from error

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reading]:
        """One snapshot: all statements of the block see the same state.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        reader = await self._readers.get()
        try:
            try:
                await reader.execute("BEGIN")
                yield Reading(reader)
            except sqlite3.Error as error:
                raise _translated(error, self.path) from error
            finally:
                await _to_the_end(_end_snapshot(reader))
        finally:
            self._readers.put_nowait(reader)

    async def close(self) -> None:
        """Close every connection; waits for what is under way."""
        async with self._lock:
            for connection in self._all:
                await connection.close()

    async def _commit(self) -> None:
        if await _in_transaction(self._writer):
            await self._writer.execute("COMMIT")

    async def _roll_back(self) -> None:
        if await _in_transaction(self._writer):
            await self._writer.execute("ROLLBACK")


def _made_private(path: Path) -> str:
    if not path.exists():
        path.touch(mode=FILE_MODE)
    path.chmod(FILE_MODE)
    return path.absolute().as_uri()


async def _end_snapshot(reader: aiosqlite.Connection) -> None:
    if await _in_transaction(reader):
        await reader.execute("ROLLBACK")


async def _in_transaction(connection: aiosqlite.Connection) -> bool:
    # A statement of no effect goes through the driver's queue, so that all before it are done.
    await connection.execute("SELECT 1")
    return connection.in_transaction


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Run it even if this task is cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except Exception:
            break
    task.result()
    if cancelled:
        raise asyncio.CancelledError


def _translated(error: Exception, path: Path) -> Exception:
    text = str(error)
    if isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text):
        return DatabaseBusy(path)
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
        return error
    return DatabaseUnusable(path, text)
