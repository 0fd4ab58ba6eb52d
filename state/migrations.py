"""Forward-only changes of the schema, each applied once in its own transaction.

Invariant: a database written by a later memoryd is left as it was. An applied migration is known by
a digest of its text without line ends and trailing blanks, so a checkout with other line ends is
the same migration and a changed one is refused.
"""

import hashlib
import importlib.resources
import re
from dataclasses import dataclass

from state.clock import Clock
from state.database import Database, Reading
from state.errors import DatabaseTooNew, DatabaseUnusable, MigrationChanged
from state.named_queries import Query

_TABLES = Query(
    "migrations.tables",
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
)
_APPLIED = Query(
    "migrations.applied", "select number, name, digest from migrations order by number"
)
_NOTE = Query(
    "migrations.note",
    "insert into migrations (number, name, digest, applied_at_ms) "
    "values (:number, :name, :digest, :now_ms)",
)
_CREATE = """
create table migrations (
    number integer primary key,
    name text not null,
    digest text not null,
    applied_at_ms integer not null
) strict;
"""
_FILE_NAME = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """A digest that line ends, trailing blanks and empty lines at the end do not change."""
        lines = [line.rstrip() for line in self.sql.removeprefix("\ufeff").splitlines()]
        return hashlib.sha256("\n".join(lines).rstrip("\n").encode()).hexdigest()


def known_migrations() -> tuple[Migration, ...]:
    """The migrations this memoryd ships, in order."""
    folder = importlib.resources.files("state").joinpath("sql", "migrations")
    found = []
    for file in folder.iterdir():
        match = _FILE_NAME.match(file.name)
        if match:
            name = file.name.removesuffix(".sql")
            found.append(Migration(int(match[1]), name, file.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


async def migrate(
    database: Database, clock: Clock, migrations: tuple[Migration, ...] | None = None
) -> int:
    """Bring the schema up to date; how many migrations were applied.

    Raises: DatabaseTooNew, MigrationChanged, DatabaseUnusable, DatabaseBusy.
    """
    wanted = known_migrations() if migrations is None else migrations
    async with database.reading() as read:
        pending = await _pending(database, read, wanted)
    if not pending:
        return 0
    applied = 0
    for migration in pending:
        async with database.writing() as tx:
            # Asked again under the write lock: another process may have been faster.
            if migration not in await _pending(database, tx, wanted):
                continue
            if migration.number == wanted[0].number:
                await tx.script(_CREATE)
            await tx.script(migration.sql)
            await tx.run(
                _NOTE,
                number=migration.number,
                name=migration.name,
                digest=migration.digest,
                now_ms=clock.now_ms(),
            )
        applied += 1
    return applied


async def _pending(
    database: Database, read: Reading, wanted: tuple[Migration, ...]
) -> tuple[Migration, ...]:
    tables = {row["name"] for row in await read.all(_TABLES)}
    if "migrations" not in tables:
        if tables:
            raise DatabaseUnusable(database.path, "it holds tables that are not memoryd's")
        return wanted
    applied = {row["number"]: row for row in await read.all(_APPLIED)}
    newest = max(applied, default=0)
    if newest > wanted[-1].number:
        raise DatabaseTooNew(database.path, newest, wanted[-1].number)
    for migration in wanted:
        row = applied.get(migration.number)
        if row is not None and row["digest"] != migration.digest:
            raise MigrationChanged(database.path, migration.name)
    return tuple(one for one in wanted if one.number not in applied)
