"""The schema: applied once, known by its text, refused when it is a later one's."""

import sqlite3
from pathlib import Path

import pytest

from state.database import Database
from state.errors import DatabaseTooNew, DatabaseUnusable, MigrationChanged
from state.migrations import Migration, known_migrations, migrate
from state.named_queries import Query
from tests.support.clock import ManualClock

FIRST = Migration(1, "0001_first", "create table a (x integer) strict;\n")
SECOND = Migration(2, "0002_second", "create table b (x integer) strict;\n")
TABLES = Query("test.tables", "select name from sqlite_schema where type = 'table' order by name")


async def tables(database: Database) -> list[str]:
    """The tables there are."""
    async with database.reading() as read:
        return [row["name"] for row in await read.all(TABLES)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "state.sqlite"


async def test_each_migration_is_applied_once_and_in_order(path: Path, clock: ManualClock) -> None:
    """A second start has nothing to do; a new migration comes on top."""
    database = await Database.open(path)
    assert await migrate(database, clock, (FIRST,)) == 1
    assert await migrate(database, clock, (FIRST,)) == 0
    assert await migrate(database, clock, (FIRST, SECOND)) == 1
    assert await tables(database) == ["a", "b", "migrations"]
    await database.close()


async def test_a_migration_that_fails_leaves_nothing_of_itself(
    path: Path, clock: ManualClock
) -> None:
    """The first statement of a failed migration is undone with the second."""
    broken = Migration(2, "0002_broken", "create table b (x integer);\ncreate table a (x integer);")
    database = await Database.open(path)
    await migrate(database, clock, (FIRST,))
    with pytest.raises(DatabaseUnusable):
        await migrate(database, clock, (FIRST, broken))
    assert await tables(database) == ["a", "migrations"]
    await database.close()


@pytest.mark.requirement("FR-S4")
@pytest.mark.parametrize(
    "text",
    [
        "create table a (x integer) strict;\r\n",
        "create table a (x integer) strict;   \n\n\n",
        "\ufeffcreate table a (x integer) strict;",
    ],
)
async def test_line_ends_and_trailing_blanks_do_not_change_a_migration(
    path: Path, clock: ManualClock, text: str
) -> None:
    """A checkout with other line ends starts as before."""
    database = await Database.open(path)
    await migrate(database, clock, (FIRST,))
    assert await migrate(database, clock, (Migration(1, "0001_first", text),)) == 0
    await database.close()


@pytest.mark.requirement("FR-S4")
async def test_a_migration_with_another_text_is_refused_by_its_name(
    path: Path, clock: ManualClock
) -> None:
    """A real change is named, and nothing is altered."""
    database = await Database.open(path)
    await migrate(database, clock, (FIRST,))
    changed = Migration(1, "0001_first", "create table a (x text) strict;\n")
    with pytest.raises(MigrationChanged, match="0001_first"):
        await migrate(database, clock, (changed, SECOND))
    assert await tables(database) == ["a", "migrations"]
    await database.close()


@pytest.mark.requirement("FR-S5")
async def test_a_later_schema_is_refused_with_both_versions_and_left_alone(
    path: Path, clock: ManualClock
) -> None:
    """An older memoryd names what it found and what it knows."""
    database = await Database.open(path)
    await migrate(database, clock, (FIRST, SECOND))
    with pytest.raises(DatabaseTooNew) as caught:
        await migrate(database, clock, (FIRST,))
    assert (caught.value.found, caught.value.known) == (2, 1)
    assert "version 2" in str(caught.value) and "knows 1" in str(caught.value)
    assert await tables(database) == ["a", "b", "migrations"]
    await database.close()


@pytest.mark.requirement("FR-S5")
async def test_somebody_elses_database_is_not_touched(path: Path, clock: ManualClock) -> None:
    """A database with other tables is refused."""
    other = sqlite3.connect(path)
    other.execute("create table theirs (x integer)")
    other.commit()
    other.close()
    database = await Database.open(path)
    with pytest.raises(DatabaseUnusable, match="not memoryd's"):
        await migrate(database, clock)
    assert await tables(database) == ["theirs"]
    await database.close()


def test_the_shipped_migrations_are_numbered_without_a_gap() -> None:
    """Their order is their number."""
    numbers = [migration.number for migration in known_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_the_whole_schema_is_strict(database: Database) -> None:
    """A column takes only values of its type."""
    strict = Query(
        "test.strict",
        "select name from pragma_table_list "
        "where type = 'table' and not strict and name not like 'sqlite_%'",
    )
    async with database.reading() as read:
        assert [row["name"] for row in await read.all(strict)] == []
