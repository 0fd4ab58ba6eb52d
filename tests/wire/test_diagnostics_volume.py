"""What a busy hour writes besides what people said, and files that grew beyond all measure."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clock import ManualClock
from tests.support.homes import serving
from tests.support.methods import said, started
from tests.support.source import ROOT

MIB = 1 << 20
HOUR_BYTES_MAX = 50 * MIB
MINUTES = 60
THREADS = 2
WORDS = "I prefer small commits, and the tests of this project run with make check. "


class Counted(logging.Handler):
    """Counts the bytes of every record, whatever its level."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.bytes = 0

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        self.bytes += len(self.format(record).encode()) + 40  # time, level and name


def written() -> int:
    """The bytes that this process handed to the system to write, so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


@pytest.mark.requirement("FR-S13")
@pytest.mark.skipif(sys.platform != "linux", reason="counts what the system counts")
async def test_a_busy_hour_writes_less_than_fifty_megabytes(tmp_path: Path) -> None:
    """All of it: database, write-ahead log, journal, transcripts, memory, log lines at any level.

    Every minute a turn in each thread and a change of its mode; twice in the hour all is learned.
    """
    clock, log, root = ManualClock(), Counted(), logging.getLogger()
    level = root.level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    try:
        async with serving(tmp_path, clock=clock) as home, home.wire.client("pair") as client:
            threads = [await started(client) for _ in range(THREADS)]
            before = written()
            for minute in range(MINUTES):
                for number, thread in enumerate(threads):
                    turn = await said(client, thread, f"{WORDS}This is minute {minute}.")
                    assert turn["status"] == "completed"
                    mode = "disabled" if (minute + number) % 2 else "enabled"
                    change = {"threadId": thread, "mode": mode}
                    await client.request("thread/memoryMode/set", change)
                if minute % 30 == 29:
                    await client.request("memory/consolidate/start", {"wait": True})
                clock.advance(60)
            total = written() - before + log.bytes
            print(f"{total / MIB:.1f} MiB in an hour, {log.bytes / MIB:.2f} of it log lines")
            assert total < HOUR_BYTES_MAX
            # And what stays of it is bounded.
            for name in ("state.sqlite-wal", home.home.journal.name):
                assert (home.home.root / name).stat().st_size < 64 * MIB, name
    finally:
        root.removeHandler(log)
        root.setLevel(level)


OPENED = """
import asyncio, pathlib, resource, sys
from state.clock import SystemClock
from state.home import Home
from state.owner import OwnerLock
from state.recovery import open_state
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
async def main():
    home = Home(pathlib.Path(sys.argv[1]))
    lock = OwnerLock(home)
    assert lock.try_acquire()
    state = await open_state(home, SystemClock(), "next", lock=lock)
    async with state.database.reading() as read:
        row = await state.threads.get(read, sys.argv[2])
    print(row.memory_mode if row else "gone", state.mishap.reason if state.mishap else "sound")
    await state.close()
asyncio.run(main())
"""


def grown(path: Path, size: int) -> None:
    """Make a file as long as that, with holes for what is new."""
    with path.open("ab") as file:
        file.truncate(size)


@pytest.mark.requirement("FR-S13")
@pytest.mark.parametrize("which", ["log", "garbage log", "journal", "files of others"])
async def test_a_file_of_gigabytes_beside_the_database_opens_in_one_of_memory(
    tmp_path: Path, which: str
) -> None:
    """Five gigabytes of log, a quarter of one of journal, five in files that are nobody's."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, WORDS)
        await client.request("thread/memoryMode/set", {"threadId": thread, "mode": "disabled"})
        root, journal = home.home.root, home.home.journal
    log = root / "state.sqlite-wal"
    match which:
        case "log":
            _with_log_of(root, log)
        case "garbage log":
            grown(log, 5 << 30)
        case "journal":
            grown(journal, 256 * MIB)
        case _:
            for name in ("logs_2.sqlite", "state.sqlite.broken-x", "server.log"):
                grown(root / name, 5 << 30)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", OPENED, str(root), thread],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("disabled"), done.stdout
    assert which == "garbage log" or done.stdout.split()[1] == "sound"
    # What was too large is cut down, or named and left for a person.
    if which in ("log", "garbage log"):
        assert not log.exists() or log.stat().st_size <= 64 * MIB
    if which == "garbage log":
        assert "state.sqlite-wal" in done.stderr or "write-ahead log" in done.stderr


def _with_log_of(root: Path, log: Path) -> None:
    """Leave a sound log behind, as a crash would, and let it grow."""
    program = (
        "import os, sqlite3, sys\n"
        "one = sqlite3.connect(sys.argv[1])\n"
        "one.execute('pragma wal_autocheckpoint=0')\n"
        "one.execute('create table grown (x)')\n"
        "one.commit()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(root / "state.sqlite")], check=True)
    assert log.stat().st_size > 0
    grown(log, 5 << 30)
    assert os.stat(log).st_blocks * 512 < 16 * MIB
