"""What makes a database lost, what does not, and what is done then."""

import asyncio
import fcntl
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from state.errors import DatabaseBroken, DatabaseBusy, DatabaseTooNew, MigrationChanged
from state.file_system import FileSystem
from state.home import Home
from state.migrations import known_migrations
from state.owner import OwnerLock
from state.recovery import SET_ASIDE_MAX, State, open_state
from state.rollouts.items import SessionMeta
from state.rollouts.store import RolloutWriter
from state.soundness import in_use_elsewhere, log_state
from tests.support.clock import ManualClock
from tests.support.rows import NOW_MS, a_thread, thread_id

CHECKOUT = Path(__file__).resolve().parents[3]
CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from state.home import Home
from state.owner import OwnerLock
from state.recovery import open_state
from tests.support.clock import ManualClock
from tests.support.rows import NOW_MS, a_thread, thread_id

async def main():
    home = Home(Path(sys.argv[1]))
    lock = OwnerLock(home)
    lock.try_acquire()
    state = await open_state(home, ManualClock(NOW_MS), "child", lock=lock)
    for number in (1, 2):
        async with state.database.writing() as tx:
            await state.threads.put(tx, a_thread(number, memory_mode="disabled"))
    async with state.database.writing() as tx:
        await state.threads.set_memory_mode(tx, thread_id(2), "polluted")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of its own."""
    made = Home(tmp_path / "home")
    made.prepare()
    return made


@asynccontextmanager
async def owned(home: Home, clock: ManualClock, **options: FileSystem) -> AsyncIterator[State]:
    """The state of a home, opened by its owner."""
    lock = OwnerLock(home)
    assert lock.try_acquire()
    try:
        state = await open_state(home, clock, "owner", lock=lock, **options)
        try:
            yield state
        finally:
            await state.close()
    finally:
        lock.release()


def record(home: Home, number: int, clock: ManualClock) -> None:
    """A transcript of the numbered thread with one typed line."""
    meta = SessionMeta.model_validate(
        {"id": thread_id(number), "cwd": "/home/user/project", "source": "vscode"}
    )
    writer = RolloutWriter.create(home, meta, created_at_ms=NOW_MS, clock=clock)
    content = [{"type": "input_text", "text": f"Please do thing {number}"}]
    message = {"type": "message", "role": "user", "content": content}
    writer.append([{"type": "response_item", "payload": message}])
    writer.close()


async def previews(state: State) -> dict[str, str]:
    """What the threads are about."""
    async with state.database.reading() as read:
        rows = await state.threads.all_enabled(read)
    return {row.thread_id: row.preview for row in rows}


def aside(home: Home) -> list[Path]:
    """What was set aside."""
    return sorted(home.root.glob("state.sqlite.broken-*"))


async def killed(home: Home) -> None:
    """A process that writes rows and ends by kill -9, its write-ahead log left behind."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(home.root),
        cwd=CHECKOUT, env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL


@pytest.mark.requirement("FR-S6", "FR-T19")
async def test_only_the_owner_sets_a_database_aside(home: Home, clock: ManualClock) -> None:
    """Failure table: "State database corrupt". Without the lock it is named and left."""
    record(home, 1, clock)
    noise = random.Random(2).randbytes(4_096)
    home.database.write_bytes(noise)
    with pytest.raises(DatabaseBroken, match=r"state\.sqlite"):
        await open_state(home, clock, "somebody")
    assert home.database.read_bytes() == noise and aside(home) == []
    async with owned(home, clock) as state:
        assert await previews(state) == {thread_id(1): "Please do thing 1"}
    assert [one.read_bytes() for one in aside(home)] == [noise]


@pytest.mark.requirement("FR-S2", "FR-S6")
async def test_what_another_process_has_open_is_busy_and_never_set_aside(
    home: Home, clock: ManualClock
) -> None:
    """Failure table: "State database corrupt". A live holder keeps its file, whatever is in it."""
    home.database.write_bytes(random.Random(2).randbytes(4_096))
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c",
        "import fcntl, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDWR)\n"
        "fcntl.lockf(file, fcntl.LOCK_SH, 1, 0x40000002)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n",
        str(home.database), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    assert await asyncio.wait_for(holder.stdout.readline(), 20) == b"held\n"
    assert in_use_elsewhere(home.database)
    with pytest.raises(DatabaseBusy):
        async with owned(home, clock):
            pass
    assert aside(home) == []
    await holder.communicate(b"")
    assert not in_use_elsewhere(home.database)
    async with owned(home, clock):
        assert len(aside(home)) == 1


@pytest.mark.requirement("FR-S6")
async def test_a_check_during_a_long_write_finds_nothing_wrong(
    home: Home, clock: ManualClock
) -> None:
    """Failure table: "State database corrupt". A healthy database is never quarantined."""
    async with owned(home, clock) as state:
        async with state.database.writing() as tx:
            await state.threads.put(tx, a_thread(1))
            other = await type(state.database).open(home.database, check=True)
            await other.close()
    assert aside(home) == []


@pytest.mark.requirement("FR-S6", "FR-S9")
async def test_a_log_without_its_head_is_kept_aside_and_its_rows_come_from_the_journal(
    home: Home, clock: ManualClock
) -> None:
    """Failure table: "State database corrupt". SQLite alone would drop the log without a word."""
    async with owned(home, clock):
        pass
    for number in (1, 2, 3):
        record(home, number, clock)
    await killed(home)
    log = home.root / "state.sqlite-wal"
    with log.open("r+b") as file:
        file.write(random.Random(1).randbytes(64))
    async with owned(home, clock) as state:
        assert state.mishap is not None and "log is damaged" in state.mishap.reason
        async with state.database.reading() as read:
            rows = [await state.threads.get(read, thread_id(number)) for number in (1, 2, 3)]
        modes = [row.memory_mode if row else None for row in rows]
    assert modes == ["disabled", "polluted", "enabled"]
    assert len(aside(home)) == 1


@pytest.mark.requirement("FR-S6")
async def test_a_log_with_a_damaged_end_loses_no_mode(home: Home, clock: ManualClock) -> None:
    """Failure table: "State database corrupt". The transaction that SQLite passed over is told."""
    async with owned(home, clock):
        pass
    record(home, 1, clock)
    record(home, 2, clock)
    await killed(home)
    commits = log_state(home.database).commits
    with (home.root / "state.sqlite-wal").open("r+b") as file:
        file.seek(32 + (commits[-2]) * (24 + 4_096) + 24 + 100)
        file.write(b"\xff" * 64)
    async with owned(home, clock) as state:
        assert state.mishap is not None and "end of its write-ahead log" in state.mishap.reason
        async with state.database.reading() as read:
            row = await state.threads.get(read, thread_id(2))
    assert row is not None and row.memory_mode == "polluted"


async def test_after_a_plain_kill_nothing_is_taken_for_lost(home: Home, clock: ManualClock) -> None:
    """Failure table: "`kill -9` in phase 1": what was acknowledged is there."""
    await killed(home)
    async with owned(home, clock) as state:
        assert state.mishap is None
        async with state.database.reading() as read:
            row = await state.threads.get(read, thread_id(2))
    assert row is not None and row.memory_mode == "polluted"
    assert aside(home) == []


async def test_a_rebuilding_that_is_killed_is_ended_by_the_next_start(
    home: Home, clock: ManualClock
) -> None:
    """Failure table: "State database corrupt". It was noted before it began."""
    record(home, 1, clock)
    async with owned(home, clock) as state:
        assert state.mishap is not None  # transcripts without a database
    connection = sqlite3.connect(home.database)
    mishap = {"file": "f", "reason": "r", "aside": "", "at_ms": 1}
    connection.execute("update meta set value = ? where key = 'mishap'", [json.dumps(mishap)])
    connection.execute("delete from threads")
    connection.commit()
    connection.close()
    async with owned(home, clock) as state:
        assert state.mishap is not None and state.mishap.threads == 1
        assert await previews(state) == {thread_id(1): "Please do thing 1"}


async def test_few_broken_databases_are_kept(home: Home, clock: ManualClock) -> None:
    """FR-S13: what recovery leaves behind has a bound."""
    for number in range(SET_ASIDE_MAX + 2):
        clock.advance(1)
        home.database.write_bytes(random.Random(number).randbytes(4_096))
        async with owned(home, clock):
            pass
    kept = [one.read_bytes() for one in aside(home)]
    wanted = range(2, SET_ASIDE_MAX + 2)
    assert kept == [random.Random(number).randbytes(4_096) for number in wanted]


@pytest.mark.requirement("FR-S9", "FR-T20")
async def test_a_transcript_that_cannot_be_read_keeps_no_other_from_coming_back(
    home: Home, clock: ManualClock
) -> None:
    """It is named and left as it is."""
    record(home, 1, clock)
    bad = home.sessions / f"rollout-2026-01-01T00-00-00-{thread_id(2)}.jsonl"
    bad.write_bytes(b'{"timestamp": "2026')
    os.mkfifo(home.sessions / f"rollout-2026-01-01T00-00-00-{thread_id(3)}.jsonl")
    async with owned(home, clock) as state:
        assert set(await previews(state)) == {thread_id(1)}
        assert state.mishap is not None and state.mishap.unreadable == 1
    assert bad.exists()


@pytest.mark.requirement("FR-S5")
async def test_a_home_of_a_later_memoryd_is_not_altered_in_a_single_byte(
    home: Home, clock: ManualClock
) -> None:
    """Both versions are named; the log beside the database is not even brought in."""
    await killed(home)
    connection = sqlite3.connect(home.database)
    connection.execute("insert into migrations values (99, '0099_later', '', 0)")
    connection.commit()
    log = home.root / "state.sqlite-wal"
    assert log.stat().st_size > 0
    files = [home.database, home.journal, log]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    names = sorted(os.listdir(home.root))
    with pytest.raises(DatabaseTooNew, match=rf"version 99.*knows {known_migrations()[-1].number}"):
        async with owned(home, clock):
            pass
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == before
    assert sorted(os.listdir(home.root)) == names
    connection.close()


@pytest.mark.requirement("FR-S4")
async def test_a_changed_migration_is_refused_with_its_number_and_a_copy(
    home: Home, clock: ManualClock
) -> None:
    """The copy is made once, however often it is tried."""
    async with owned(home, clock):
        pass
    connection = sqlite3.connect(home.database)
    connection.execute("update migrations set digest = 'other' where number = 1")
    connection.commit()
    connection.close()
    for _ in range(2):
        with pytest.raises(MigrationChanged, match=r"0001_first.*state\.sqlite\.refused"):
            async with owned(home, clock):
                pass
    copies = sorted(home.root.glob("state.sqlite.refused*"))
    assert len([one for one in copies if not one.name.endswith(("-wal", "-shm"))]) == 1
    assert copies[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("FR-S3")
async def test_a_shared_file_system_is_told_and_gets_no_write_ahead_log(
    home: Home, clock: ManualClock
) -> None:
    """And a home that was moved there changes its way with the next start."""
    async with owned(home, clock) as state:
        assert state.notes == ()
    async with owned(home, clock, file_system=FileSystem("nfs4")) as state:
        async with state.database.writing() as tx:
            await state.threads.put(tx, a_thread(1))
        assert not (home.root / "state.sqlite-wal").exists()
        assert "nfs4" in state.notes[0]
    connection = sqlite3.connect(home.database)
    assert connection.execute("pragma journal_mode").fetchone() == ("delete",)
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.requirement("FR-S16")
@pytest.mark.parametrize("kind", ["fifo", "folder", "link"])
async def test_a_special_file_in_place_of_the_database_is_refused_and_not_opened(
    home: Home, clock: ManualClock, kind: str, tmp_path: Path
) -> None:
    """No hang, no rename, nothing outside is touched."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    match kind:
        case "fifo":
            os.mkfifo(home.database)
        case "folder":
            home.database.mkdir()
        case _:
            home.database.symlink_to(outside)
    with pytest.raises(Exception, match="not a regular file"):
        async with owned(home, clock):
            pass
    assert aside(home) == [] and outside.read_bytes() == b"mine"


def test_the_lock_bytes_are_those_of_sqlite(tmp_path: Path) -> None:
    """Our own file lock on them is what a process of another program would see."""
    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("create table t (a)")
    connection.execute("begin exclusive")
    child = os.fork()
    if child == 0:
        file = os.open(path, os.O_RDWR)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x4000_0000)
            os._exit(0)
        except OSError:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    connection.close()


@pytest.mark.requirement("FR-S3", "FR-S2")
async def test_two_processes_on_a_shared_disk_lose_no_write(home: Home) -> None:
    """A thousand writes without a write-ahead log, and the database is sound after them."""
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from state.database import Database, Query\n"
        "ADD = Query('test.add', 'insert into t (who, what) values (:who, :what)')\n"
        "async def main():\n"
        "    database = await Database.open(Path(sys.argv[1]), write_ahead=False, readers=0)\n"
        "    for number in range(500):\n"
        "        async with database.writing() as tx:\n"
        "            await tx.run(ADD, who=sys.argv[2], what=number)\n"
        "    await database.close()\n"
        "asyncio.run(main())\n"
    )
    connection = sqlite3.connect(home.database)
    connection.execute("create table t (who text, what integer)")
    connection.commit()
    connection.close()
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(home.database), who,
            cwd=CHECKOUT, env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        )
        for who in ("one", "other")
    ]  # fmt: skip
    for writer in writers:
        assert await asyncio.wait_for(writer.wait(), 60) == 0
    connection = sqlite3.connect(home.database)
    found = connection.execute("select who, count(*) from t group by who").fetchall()
    assert found == [("one", 500), ("other", 500)]
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()
