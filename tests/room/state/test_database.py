"""The database under cancellation, contention and closing.

Longer than the habit: one owner, looked at from every side.
"""

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state.database import Database
from state.errors import DatabaseBusy, DatabaseUnusable
from state.named_queries import Queries, Query, parse_named_queries
from state.visits import Visit

SCHEMA = "create table halves (unit integer not null, half text not null) strict;"
PUT = Query("test.put", "insert into halves (unit, half) values (:unit, :half)")
ALL = Query("test.all", "select unit, count(*) as n from halves group by unit")
COUNT = Query("test.count", "select count(*) as n from halves")
# Long enough that a test which had to wait for its end would run into its own limit.
ENDLESS = Query(
    "test.endless",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000000000) "
    "select count(*) as n from n",
)
WAIT_S = 5
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """An open database with one table."""
    opened = await Database.open(tmp_path / "state.sqlite")
    async with opened.writing() as tx:
        await tx.script(SCHEMA)
    yield opened
    await opened.close()


async def put_unit(database: Database, unit: int) -> None:
    """One unit of work that is only whole with both its halves."""
    async with database.writing() as tx:
        await tx.run(PUT, unit=unit, half="first")
        await tx.run(PUT, unit=unit, half="second")


async def driver_threads() -> list[threading.Thread]:
    """The threads of open connections; one that was told to stop gets the moment it needs."""
    threads = [one for one in threading.enumerate() if "_connection_worker" in one.name]
    for thread in threads:
        await asyncio.to_thread(thread.join, 1)
    return [one for one in threads if one.is_alive()]


async def halves(database: Database) -> dict[int, int]:
    """How many halves each unit has."""
    async with database.reading() as read:
        return {row["unit"]: row["n"] for row in await read.all(ALL)}


@pytest.mark.requirement("FR-S14")
async def test_random_cancellations_leave_no_open_transaction_and_no_half_unit(
    database: Database,
) -> None:
    """500 calls are cancelled at random points of the loop; each unit is whole or absent."""
    chance = random.Random(7)
    tasks: list[asyncio.Task[None]] = []
    acknowledged: set[int] = set()

    async def work(unit: int) -> None:
        await put_unit(database, unit)
        acknowledged.add(unit)

    for unit in range(500):
        tasks.append(asyncio.create_task(work(unit)))
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        if chance.random() < 0.7:
            chance.choice(tasks).cancel()
    for index, task in enumerate(tasks):
        if index % 3 == 0:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    found = await halves(database)
    assert set(found.values()) <= {2}
    assert acknowledged <= set(found)
    # The next one finds no transaction of somebody else's.
    await asyncio.wait_for(put_unit(database, 1_000), WAIT_S)
    assert (await halves(database))[1_000] == 2


@pytest.mark.requirement("FR-S14")
async def test_a_cancellation_amid_the_full_text_index_leaves_the_writer_usable(
    database: Database,
) -> None:
    """That index keeps statements of its own open, with which an interrupt would never end."""
    async with database.writing() as tx:
        await tx.script("create virtual table told using fts5(words);")
    chance = random.Random(11)
    add = Query("test.add", "insert into told (words) values (:words)")
    merge = Query("test.merge", "insert into told (told, rank) values ('merge', :pages)")

    async def work() -> None:
        while True:
            async with database.writing() as tx:
                for _ in range(20):
                    words = " ".join(f"w{chance.randrange(900)}" for _ in range(30))
                    await tx.run(add, words=words)
                await tx.run(merge, pages=-64)
                await tx.run(merge, pages=64)

    for _ in range(60):
        task = asyncio.create_task(work())
        await asyncio.sleep(chance.random() / 50)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(put_unit(database, 1), WAIT_S)


@pytest.mark.requirement("FR-S14")
@pytest.mark.parametrize("point", range(40))
async def test_a_cancellation_at_each_turn_of_the_loop_is_rolled_back_or_complete(
    database: Database, point: int
) -> None:
    """One unit, cancelled after so many turns of the loop: at BEGIN, in the body, at COMMIT."""
    task = asyncio.create_task(put_unit(database, 1))
    for _ in range(point):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert set((await halves(database)).values()) <= {2}
    await asyncio.wait_for(put_unit(database, 2), WAIT_S)


@pytest.mark.requirement("FR-S14")
async def test_a_cancelled_unit_that_was_told_cancelled_twice_still_ends(
    database: Database,
) -> None:
    """A second cancellation during the rollback does not cut the rollback short."""
    entered = asyncio.Event()

    async def work() -> None:
        async with database.writing() as tx:
            await tx.run(PUT, unit=1, half="first")
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.wait_for(put_unit(database, 2), WAIT_S)
    assert await halves(database) == {2: 2}


async def test_an_error_in_the_body_undoes_the_whole_unit(database: Database) -> None:
    """What the body raises comes out as it is."""
    with pytest.raises(KeyError):
        async with database.writing() as tx:
            await tx.run(PUT, unit=1, half="first")
            raise KeyError("body")
    assert await halves(database) == {}


async def test_a_broken_rule_of_the_schema_is_not_called_an_unusable_database(
    database: Database,
) -> None:
    """A constraint says something of the statement, nothing of the file."""
    with pytest.raises(sqlite3.IntegrityError):
        async with database.writing() as tx:
            await tx.run(PUT, unit=None, half="first")
    assert await halves(database) == {}


async def test_a_reader_sees_one_snapshot_while_a_writer_commits(database: Database) -> None:
    """The second statement of a block sees what the first one saw."""
    await put_unit(database, 1)
    async with database.reading() as read:
        before = await read.one(COUNT)
        await put_unit(database, 2)
        after = await read.one(COUNT)
    assert before is not None and after is not None
    assert (before["n"], after["n"]) == (2, 2)
    assert await halves(database) == {1: 2, 2: 2}


async def test_a_reader_cannot_write(database: Database) -> None:
    """The connections of readers are read-only."""
    with pytest.raises(DatabaseUnusable):
        async with database.reading() as read:
            await read.all(PUT, unit=1, half="first")
    assert await halves(database) == {}


@pytest.mark.requirement("FR-S2")
async def test_a_held_write_lock_is_called_busy(
    database: Database,
) -> None:
    """Another process holds the lock past our patience: busy, by name, and nothing broken."""
    async with database.writing() as tx:
        await tx.script("pragma busy_timeout=20")
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(DatabaseBusy) as caught:
        await put_unit(database, 1)
    assert str(database.path) in str(caught.value)
    other.execute("rollback")
    other.close()
    await put_unit(database, 1)


@pytest.mark.requirement("FR-S2")
async def test_two_processes_write_into_one_database(database: Database) -> None:
    """Each of two processes makes 100 units while the other does; all succeed."""
    program = (
        "import asyncio, pathlib, sys\n"
        "from state.database import Database, Query\n"
        "PUT = Query('put', 'insert into halves (unit, half) values (:unit, :half)')\n"
        "async def main(path, first):\n"
        "    database = await Database.open(pathlib.Path(path), readers=1)\n"
        "    for unit in range(first, first + 100):\n"
        "        async with database.writing() as tx:\n"
        "            await tx.run(PUT, unit=unit, half='first')\n"
        "            await tx.run(PUT, unit=unit, half='second')\n"
        "    await database.close()\n"
        "asyncio.run(main(sys.argv[1], int(sys.argv[2])))\n"
    )
    children = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(database.path), str(first), cwd=ROOT
        )
        for first in (0, 100)
    ]
    codes = await asyncio.wait_for(asyncio.gather(*(one.wait() for one in children)), 60)
    assert codes == [0, 0]
    assert await halves(database) == dict.fromkeys(range(200), 2)


@pytest.mark.requirement("FR-F22")
def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """With umask 000 the database and its side files are 0600."""
    program = (
        "import asyncio, os, pathlib, sys\n"
        "os.umask(0)\n"
        "from state.database import Database\n"
        "async def main():\n"
        "    database = await Database.open(pathlib.Path(sys.argv[1]))\n"
        "    async with database.writing() as tx:\n"
        "        await tx.script('create table t (a integer)')\n"
        "    for file in sorted(pathlib.Path(sys.argv[1]).parent.iterdir()):\n"
        "        print(file.name, oct(file.stat().st_mode & 0o777))\n"
        "    await database.close()\n"
        "asyncio.run(main())\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "state.sqlite")],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert [line.split()[0] for line in found] == [
        "state.sqlite",
        "state.sqlite-shm",
        "state.sqlite-wal",
    ]
    assert {line.split()[1] for line in found} == {"0o600"}


async def test_a_file_that_others_could_read_is_narrowed(tmp_path: Path) -> None:
    """An existing file is made private when it is opened."""
    path = tmp_path / "state.sqlite"
    path.touch(mode=0o644)
    os.chmod(path, 0o644)
    opened = await Database.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await opened.close()


@pytest.mark.requirement("FR-S5")
async def test_a_garbage_file_is_refused_by_its_name_and_left_as_it_is(tmp_path: Path) -> None:
    """4 KiB of noise are no database; no connection stays behind."""
    path = tmp_path / "state.sqlite"
    noise = random.Random(1).randbytes(4_096)
    path.write_bytes(noise)
    with pytest.raises(DatabaseUnusable) as caught:
        await Database.open(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == noise
    assert await driver_threads() == []


@pytest.mark.requirement("FR-S14")
@pytest.mark.parametrize("point", [0, 1, 2, 3, 5, 8, 13, 21, 34])
async def test_opening_that_is_cancelled_leaves_no_connection(tmp_path: Path, point: int) -> None:
    """A connection left open would keep the process alive."""
    task = asyncio.create_task(Database.open(tmp_path / "state.sqlite"))
    for _ in range(point):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        await task.result().close()
    assert await driver_threads() == []


@pytest.mark.requirement("FR-S14")
async def test_a_cancelled_search_is_interrupted_and_its_connection_given_back(
    database: Database,
) -> None:
    """Endless queries on every reader are cancelled; the readers serve the next ones."""

    async def search() -> None:
        async with database.reading() as read:
            await read.all(ENDLESS)

    tasks = [asyncio.create_task(search()) for _ in range(3)]
    for _ in range(20):
        await asyncio.sleep(0)
    # Meanwhile writers go on.
    await asyncio.wait_for(put_unit(database, 1), WAIT_S)
    for task in tasks:
        task.cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT_S)
    assert all(task.cancelled() for task in tasks)
    assert await asyncio.wait_for(halves(database), WAIT_S) == {1: 2}


@pytest.mark.requirement("FR-S14")
async def test_a_visit_sees_one_snapshot_while_a_writer_commits(database: Database) -> None:
    """Several statements of one function, in a thread, see the state that the first one saw."""
    begun, go_on = threading.Event(), threading.Event()

    def counted(visit: Visit) -> list[int]:
        first = visit.all(COUNT)[0][0]
        begun.set()
        assert go_on.wait(WAIT_S)
        return [first, visit.all(COUNT)[0][0]]

    task = asyncio.create_task(database.visit(counted))
    assert await asyncio.to_thread(begun.wait, WAIT_S)
    await put_unit(database, 1)
    go_on.set()
    assert await task == [0, 0]
    assert await database.visit(lambda visit: visit.all(COUNT)) == [(2,)]
    with pytest.raises(DatabaseUnusable, match="readonly"):
        await database.visit(lambda visit: visit.all(PUT, unit=1, half="x"))


@pytest.mark.requirement("FR-S14")
async def test_a_cancelled_visit_gives_its_connection_back_when_it_has_ended(
    tmp_path: Path,
) -> None:
    """Nobody else may use the connection while the thread does."""
    opened = await Database.open(tmp_path / "state.sqlite", readers=1)
    begun, go_on = threading.Event(), threading.Event()

    def slow(visit: Visit) -> None:
        begun.set()
        assert go_on.wait(WAIT_S)
        visit.all(Query("test.one", "select 1"))

    task = asyncio.create_task(opened.visit(slow))
    assert await asyncio.to_thread(begun.wait, WAIT_S)
    other = asyncio.create_task(
        opened.visit(lambda visit: visit.all(Query("test.two", "select 2")))
    )
    task.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done() and not other.done()
    go_on.set()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert await asyncio.wait_for(other, WAIT_S) == [(2,)]
    await opened.close()
    with pytest.raises(DatabaseUnusable, match="closed"):
        await opened.visit(slow)


@pytest.mark.requirement("FR-S14")
async def test_closing_ends_every_thread_and_later_calls_are_told(tmp_path: Path) -> None:
    """After close no thread is left, and whoever comes late gets an error instead of silence."""
    opened = await Database.open(tmp_path / "state.sqlite")
    await opened.close()
    await opened.close()
    assert await driver_threads() == []
    with pytest.raises(DatabaseUnusable, match="closed"):
        await asyncio.wait_for(put_unit(opened, 1), WAIT_S)
    with pytest.raises(DatabaseUnusable, match="closed"):
        await asyncio.wait_for(halves(opened), WAIT_S)


@pytest.mark.requirement("FR-S14")
async def test_closing_stops_what_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless readers, with more waiting behind them: close interrupts and tells them."""
    monkeypatch.setattr("state.database.CLOSE_PATIENCE_S", 0.01)
    opened = await Database.open(tmp_path / "state.sqlite", readers=1)

    async def search() -> None:
        async with opened.reading() as read:
            await read.all(ENDLESS)

    tasks = [asyncio.create_task(search()) for _ in range(3)]
    for _ in range(20):
        await asyncio.sleep(0)
    await asyncio.wait_for(opened.close(), WAIT_S)
    outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT_S)
    assert all(isinstance(one, DatabaseUnusable) for one in outcomes), outcomes


async def test_closing_waits_for_a_unit_under_way(tmp_path: Path) -> None:
    """What was begun before the close is whole after it."""
    opened = await Database.open(tmp_path / "state.sqlite")
    async with opened.writing() as tx:
        await tx.script(SCHEMA)
    task = asyncio.create_task(put_unit(opened, 1))
    for _ in range(3):
        await asyncio.sleep(0)
    await opened.close()
    await asyncio.gather(task, return_exceptions=True)
    again = await Database.open(tmp_path / "state.sqlite")
    assert set((await halves(again)).values()) <= {2}
    await again.close()


async def test_a_transaction_runs_the_statements_of_a_script_one_by_one(
    database: Database,
) -> None:
    """Triggers with inner semicolons stay whole, and an error undoes the script."""
    script = (
        "-- A comment; with a semicolon.\n"
        "create table a (x text);\n"
        "create trigger t after insert on a begin\n"
        "  insert into halves (unit, half) values (1, new.x);\n"
        "  insert into halves (unit, half) values (1, new.x || ';');\n"
        "end;\n"
        "insert into a values ('one;two')"
    )
    async with database.writing() as tx:
        await tx.script(script)
    assert await halves(database) == {1: 2}
    with pytest.raises(DatabaseUnusable):
        async with database.writing() as tx:
            await tx.script("insert into a values ('x'); insert into nowhere values (1);")
    assert await halves(database) == {1: 2}


def test_named_queries_are_cut_at_their_names() -> None:
    """A file of statements becomes one statement for each name."""
    text = "-- name: one\n-- Why.\nselect 1;\n\n-- name: two\nselect 2;\n"
    assert parse_named_queries(text) == {"one": "-- Why.\nselect 1;", "two": "select 2;"}


@pytest.mark.parametrize("store", ["threads", "jobs", "outputs", "editions", "spending"])
def test_each_store_has_its_statements(store: str) -> None:
    """Names are known by file, for errors and counters."""
    queries = Queries(store)
    assert len(queries) > 0
    assert all(query.name == f"{store}.{name}" for name, query in queries.items())


async def test_what_follows_a_commit_is_part_of_it(database: Database) -> None:
    """Also when its task is cancelled meanwhile; after a rollback nothing follows."""
    followed: list[int] = []

    async def put(unit: int, *, fails: bool = False) -> None:
        async with database.writing() as tx:
            await tx.run(PUT, unit=unit, half="first")
            tx.then(lambda: followed.append(unit))
            if fails:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        await put(1, fails=True)
    assert followed == []
    await put(2)
    assert followed == [2]
    for steps in range(40):
        task = asyncio.create_task(put(3 + steps))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
    async with database.reading() as read:
        stored = {row["unit"] for row in await read.all(ALL)}
    assert stored == set(followed)
