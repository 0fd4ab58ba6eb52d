"""The journal beside the database: on the disk first, short, and carried out after a crash."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from state.database import Database
from state.errors import JournalUnusable
from state.home import Home
from state.journal import GROWTH_MAX, LINES_KEPT_MIN, Journal, latest
from state.owner import OwnerLock
from state.recovery import open_state
from tests.support.clock import ManualClock
from tests.support.rows import a_thread, thread_id

NAME = "The surprise for Ada"
CHILD = Path(__file__).resolve().parents[2] / "support" / "journal_child.py"


def mode(number: int, word: str) -> dict[str, Any]:
    """A line about a mode."""
    return {"what": "mode", "thread_id": thread_id(number), "mode": word}


def said(journal: Journal) -> list[tuple[str, Any]]:
    """What it says, in short."""
    return [(one["what"], one.get("mode", one.get("name"))) for one in journal.entries()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal lies."""
    return tmp_path / "journal.jsonl"


def test_lines_are_numbered_private_and_found_again(path: Path, clock: ManualClock) -> None:
    """Numbers go on after a start; the file is its owner's alone."""
    Journal.open(path, clock).append([mode(1, "disabled"), mode(2, "polluted")])
    journal = Journal.open(path, clock)
    journal.append([mode(1, "enabled")])
    assert [one["sequence"] for one in journal.entries()] == [1, 2, 3]
    assert [one["sequence"] for one in journal.entries(after=2)] == [3]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.requirement("FR-S9")
def test_a_torn_line_swallows_no_other(path: Path, clock: ManualClock) -> None:
    """What a crash left of a line is passed over, and the next one begins anew."""
    Journal.open(path, clock).append([mode(1, "disabled")])
    with path.open("ab") as file:
        file.write(b'{"sequence": 2, "what": "mo')
    Journal.open(path, clock).append([mode(2, "polluted")])
    assert said(Journal.open(path, clock)) == [("mode", "disabled"), ("mode", "polluted")]


def test_the_last_append_can_be_taken_back(path: Path, clock: ManualClock) -> None:
    """For a transaction that was told and then not committed."""
    journal = Journal.open(path, clock)
    journal.append([mode(1, "disabled")])
    journal.append([mode(2, "polluted")])
    journal.take_back()
    journal.append([mode(3, "disabled")])
    assert [one["thread_id"] for one in journal.entries()] == [thread_id(1), thread_id(3)]
    assert journal.sequence == 2


@pytest.mark.requirement("FR-S13")
def test_it_is_rewritten_when_most_of_it_says_nothing_any_more(
    path: Path, clock: ManualClock
) -> None:
    """What stands stays, with its numbers."""
    journal = Journal.open(path, clock)
    lines = [mode(1, "disabled") for _ in range(GROWTH_MAX * LINES_KEPT_MIN // 2)]
    journal.append([*lines, mode(2, "polluted")])
    last = journal.sequence
    journal = Journal.open(path, clock)
    assert said(journal) == [("mode", "disabled"), ("mode", "polluted")]
    assert journal.sequence == last


@pytest.mark.requirement("FR-S13")
def test_it_stays_short_while_one_process_lives(path: Path, clock: ManualClock) -> None:
    """However much is told: of few threads a bounded file, of many all that stands."""
    journal = Journal.open(path, clock)
    longest = 0
    for _ in range(3 * LINES_KEPT_MIN // 20):
        journal.append([mode(number % 7, "disabled") for number in range(20)])
        longest = max(longest, path.read_bytes().count(b"\n"))
    assert longest <= LINES_KEPT_MIN + 20
    last = journal.sequence
    journal.append([mode(8, "enabled")])
    journal.take_back()
    assert journal.sequence == last == 3 * LINES_KEPT_MIN
    assert len(latest(Journal.open(path, clock).entries())) == 7
    for first in range(100, 100 + 2 * LINES_KEPT_MIN, 100):
        journal.append([mode(number, "disabled") for number in range(first, first + 100)])
    assert len(latest(journal.entries())) == 7 + 2 * LINES_KEPT_MIN


@pytest.mark.requirement("FR-S13", "P11")
@pytest.mark.parametrize("acknowledged_min", [LINES_KEPT_MIN - 3, LINES_KEPT_MIN + 3])
def test_a_kill_around_its_shortening_loses_nothing(
    path: Path, clock: ManualClock, acknowledged_min: int
) -> None:
    """kill -9 as lines are told without end: what was acknowledged stands, in a short file."""
    with subprocess.Popen(
        [sys.executable, CHILD, path], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for _ in range(acknowledged_min):
            acknowledged = int(child.stdout.readline())
        child.kill()
        acknowledged = max([acknowledged, *map(int, child.stdout.read().split())])
    journal = Journal.open(path, clock)
    assert journal.sequence >= acknowledged >= acknowledged_min
    assert [one["sequence"] for one in latest(journal.entries())][-1] == journal.sequence
    assert path.read_bytes().count(b"\n") <= LINES_KEPT_MIN + 1


def test_a_name_goes_with_its_thread(path: Path, clock: ManualClock) -> None:
    """P1: a person's words leave the file at once; that it was deleted stays."""
    journal = Journal.open(path, clock)
    journal.append([{"what": "name", "thread_id": thread_id(1), "name": NAME}])
    journal = Journal.open(path, clock)
    journal.append([{"what": "deleted", "thread_id": thread_id(1)}])
    assert NAME not in path.read_text()
    assert said(journal) == [("deleted", None)]


def test_what_is_told_after_a_deletion_lifts_it() -> None:
    """A session that is imported again is there again."""
    lines = [mode(1, "polluted"), {"what": "deleted", "thread_id": thread_id(1)}]
    numbered = [{**one, "sequence": number} for number, one in enumerate(lines)]
    assert [one["what"] for one in latest(numbered)] == ["deleted"]
    again = {"what": "imported", "thread_id": thread_id(1), "sequence": 9}
    assert [one["what"] for one in latest([*numbered, again])] == ["imported"]


async def test_a_journal_that_cannot_be_written_lets_nothing_be_committed(
    database: Database, tmp_path: Path, clock: ManualClock
) -> None:
    """Failure table: "Disk full during a turn": an error, no half change, and it goes on after."""
    from state.stores.threads import ThreadStore

    threads = ThreadStore()
    folder = tmp_path / "in the way"
    folder.mkdir()
    async with database.writing() as tx:
        await threads.put(tx, a_thread(1))
    database.journal = Journal(folder, clock)
    with pytest.raises(JournalUnusable):
        async with database.writing() as tx:
            await threads.set_memory_mode(tx, thread_id(1), "disabled")
    async with database.reading() as read:
        row = await threads.get(read, thread_id(1))
    assert row is not None and row.memory_mode == "enabled"
    folder.rmdir()
    async with database.writing() as tx:
        await threads.set_memory_mode(tx, thread_id(1), "disabled")
    assert folder.is_file()


async def test_what_was_told_and_not_committed_is_carried_out_by_the_next_start(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Failure table: "modes lost in a rebuild": a crash between journal and database."""
    home = Home(tmp_path / "home")
    lock = OwnerLock(home)
    assert lock.try_acquire()
    state = await open_state(home, clock, "first", lock=lock)
    async with state.database.writing() as tx:
        for number in (1, 2, 3):
            await state.threads.put(tx, a_thread(number, name=f"thread {number}"))
    await state.close()
    Journal.open(home.journal, clock).append(
        [mode(1, "polluted"), {"what": "deleted", "thread_id": thread_id(2)},
         {"what": "use", "thread_id": thread_id(3), "use": False}]
    )  # fmt: skip
    for _ in range(2):
        state = await open_state(home, clock, "next", lock=lock)
        async with state.database.reading() as read:
            rows = [await state.threads.get(read, thread_id(number)) for number in (1, 2, 3)]
        await state.close()
        assert rows[0] is not None and rows[0].memory_mode == "polluted"
        assert rows[1] is None
        assert rows[2] is not None and not rows[2].use_memories


async def test_a_journal_that_is_gone_is_written_anew_from_the_database(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Also for a home that never had one."""
    home = Home(tmp_path / "home")
    lock = OwnerLock(home)
    assert lock.try_acquire()
    state = await open_state(home, clock, "first", lock=lock)
    async with state.database.writing() as tx:
        await state.threads.put(tx, a_thread(1, memory_mode="polluted", name="One"))
        await state.threads.put(tx, a_thread(2))
    await state.close()
    home.journal.unlink()
    state = await open_state(home, clock, "next", lock=lock)
    await state.close()
    lines = [json.loads(line) for line in home.journal.read_text().splitlines()]
    assert {(one["what"], one["thread_id"]) for one in lines} == {
        ("mode", thread_id(1)), ("name", thread_id(1)),
    }  # fmt: skip
