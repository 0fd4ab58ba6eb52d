"""Notes of a person: written once, replaced by who saw them, back when they were lost."""

import asyncio
import json
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state.errors import JournalUnusable, PathRefused
from state.home import Home
from state.notes import (
    Kept,
    NameTaken,
    StaleBase,
    drop_note,
    keep_note,
    note_name,
    settle_notes,
)
from state.owner import OwnerLock
from state.recovery import State, open_state
from state.workspace.layout import NOTES
from state.workspace.repo import Baseline
from state.workspace.snapshot import take_snapshot
from tests.support.clock import ManualClock
from tests.support.source import ROOT

NAME = "2026-11-29T10-00-00-tabs.md"
OTHER = "2026-11-29T10-00-01-port.md"


@pytest.fixture
async def state(tmp_path: Path, clock: ManualClock) -> AsyncIterator[State]:
    """The state of a fresh home."""
    opened = await open_state(Home(tmp_path / "home"), clock, "this process")
    yield opened
    await opened.close()


def folder(state: State) -> Path:
    """Where the notes lie."""
    return state.home.memories("v1") / NOTES


def journal_text(state: State) -> str:
    """All of the journal."""
    return state.home.journal.read_text()


async def kept(state: State, name: str, text: str, base: str | None = None) -> Kept:
    """Write one that must be taken."""
    outcome = await keep_note(state, "v1", name, text, base=base)
    assert isinstance(outcome, Kept), outcome
    return outcome


@pytest.mark.requirement("FR-C11")
async def test_a_note_stands_in_its_folder_and_in_the_private_journal(state: State) -> None:
    """Both before the answer; a secret in neither."""
    key = "sk-" + "a1B2" * 12
    note = await kept(state, NAME, f"tabs, always; key {key}")
    assert note.masked and (folder(state) / NAME).read_text() == note.text
    lines = [json.loads(line) for line in journal_text(state).splitlines()]
    assert [(one["name"], one["text"]) for one in lines] == [(NAME, note.text)]
    assert stat.S_IMODE(state.home.journal.stat().st_mode) == 0o600
    assert key not in journal_text(state)


async def test_a_name_is_taken_once(state: State) -> None:
    """A second writer is told, and the first note stands."""
    await kept(state, NAME, "tabs")
    assert await keep_note(state, "v1", NAME, "spaces") == NameTaken(name=NAME)
    assert (folder(state) / NAME).read_text() == "tabs"
    with pytest.raises(PathRefused):
        await keep_note(state, "v1", "tabs.md", "tabs")


@pytest.mark.requirement("FR-S8")
async def test_a_writer_with_an_old_base_is_shown_what_stands_there(state: State) -> None:
    """Who replaces names the text that they saw; the conflict carries the current one."""
    first = await kept(state, NAME, "tabs")
    second = await kept(state, NAME, "tabs of 4", first.note_id)
    stale = await keep_note(state, "v1", NAME, "tabs of 8", base=first.note_id)
    assert stale == StaleBase(name=NAME, current_id=second.note_id, current_text="tabs of 4")
    assert (folder(state) / NAME).read_text() == "tabs of 4"
    gone = await keep_note(state, "v1", OTHER, "x", base=first.note_id)
    assert gone == StaleBase(name=OTHER, current_id=None, current_text=None)
    # Of a note that was replaced the old words are nowhere.
    assert "tabs of 4" in journal_text(state) and '"tabs"' not in journal_text(state)


@pytest.mark.requirement("FR-S8")
async def test_two_processes_that_add_to_one_note_lose_no_line(
    state: State, tmp_path: Path
) -> None:
    """A hundred rounds each, read and replaced with the base; two hundred lines."""
    program = (
        "import asyncio, pathlib, sys\n"
        "from state.clock import SystemClock\n"
        "from state.home import Home\n"
        "from state.notes import Kept, NameTaken, StaleBase, keep_note\n"
        "from state.recovery import open_state\n"
        "async def main(root, who):\n"
        "    state = await open_state(Home(pathlib.Path(root)), SystemClock(), who)\n"
        "    for number in range(100):\n"
        "        text, base = '', None\n"
        "        while True:\n"
        "            line = f'{text}{who} {number}\\n'\n"
        f"            said = await keep_note(state, 'v1', {NAME!r}, line, base=base)\n"
        "            match said:\n"
        "                case Kept():\n"
        "                    break\n"
        "                case StaleBase():\n"
        "                    text, base = said.current_text, said.current_id\n"
        "                case NameTaken():\n"
        "                    base = 'unseen'\n"
        "    await state.close()\n"
        "asyncio.run(main(*sys.argv[1:]))\n"
    )
    root = str(state.home.root)
    children = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", program, root, who, cwd=ROOT)
        for who in ("one", "two")
    ]
    async with asyncio.timeout(100):
        assert await asyncio.gather(*(child.wait() for child in children)) == [0, 0]
    lines = (folder(state) / NAME).read_text().splitlines()
    assert len(lines) == len(set(lines)) == 200
    journal = state.database.journal
    assert journal is not None
    assert journal.notes("v1") == {}, "this process was told nothing yet"
    await kept(state, OTHER, "port 8080")
    said = {name: one["text"] for name, one in journal.notes("v1").items()}
    assert said == {NAME: (folder(state) / NAME).read_text(), OTHER: "port 8080"}
    numbers = [one["sequence"] for one in journal.entries()]
    assert numbers == sorted(set(numbers))


@pytest.mark.requirement("FR-S8")
async def test_two_tasks_that_note_at_once_lose_no_note(state: State) -> None:
    """A hundred rounds, two hundred notes."""

    async def note(client: str, number: int) -> None:
        minute, second = divmod(number, 60)
        await kept(state, f"2026-11-29T10-{minute:02}-{second:02}-{client}.md", f"{number}")

    for number in range(100):
        await asyncio.gather(note("a", number), note("b", number))
    assert len(list(folder(state).iterdir())) == 200
    assert state.database.journal is not None
    assert len(state.database.journal.notes("v1")) == 200


@pytest.mark.parametrize("how", ["folder", "content"])
async def test_a_lost_folder_gets_its_notes_back(state: State, how: str) -> None:
    """By the first look, and by the next writer, whoever comes first."""
    await kept(state, NAME, "tabs")
    live = state.home.memories("v1")
    shutil.rmtree(live)
    if how == "content":
        live.mkdir()
    assert (await settle_notes(state, "v1")).restored == (NAME,)
    shutil.rmtree(live)
    await kept(state, OTHER, "port 8080")
    assert {path.name for path in folder(state).iterdir()} == {NAME, OTHER}
    settled = await settle_notes(state, "v1")
    assert (settled.restored, settled.done, settled.adopted) == ((), (), ())


async def test_a_note_that_its_owner_deleted_stays_away(state: State) -> None:
    """A person took the file out of a folder that stands; its words leave the journal too."""
    await kept(state, NAME, "tabs")
    await kept(state, OTHER, "port 8080")
    (folder(state) / NAME).unlink()
    assert (await settle_notes(state, "v1")).done == (NAME,)
    shutil.rmtree(state.home.memories("v1"))
    assert (await settle_notes(state, "v1")).restored == (OTHER,)
    assert "tabs" not in journal_text(state)


async def test_a_note_that_was_worked_in_or_dropped_does_not_come_back(state: State) -> None:
    """What the published commit holds is done."""
    await kept(state, NAME, "tabs")
    live = state.home.memories("v1")
    Baseline(live).ensure(0)
    written = take_snapshot(live, files_max=100, bytes_max=10_000)
    Baseline(live).fresh_commit(written, "published", 0)
    await kept(state, OTHER, "port 8080")
    assert (await settle_notes(state, "v1")).done == (NAME,)
    assert await drop_note(state, "v1", OTHER)
    assert not await drop_note(state, "v1", OTHER)
    shutil.rmtree(live)
    assert (await settle_notes(state, "v1")).restored == ()
    assert "tabs" not in journal_text(state) and "8080" not in journal_text(state)


async def test_a_reset_takes_the_notes_of_its_version_alone(state: State) -> None:
    """The text leaves the journal with the order."""
    await kept(state, NAME, "tabs")
    assert isinstance(await keep_note(state, "v2", NAME, "spaces"), Kept)
    async with state.database.writing() as tx:
        await state.outputs.clear(tx, "v1", at_ms=1)
    shutil.rmtree(state.home.memories("v1"))
    shutil.rmtree(state.home.memories("v2"))
    assert (await settle_notes(state, "v1")).restored == ()
    assert (await settle_notes(state, "v2")).restored == (NAME,)
    assert '"tabs"' not in journal_text(state)


async def test_a_note_that_somebody_wrote_as_a_file_is_taken_in(state: State) -> None:
    """Then it comes back like any other, and so does what a person changed in one."""
    await kept(state, NAME, "tabs")
    (folder(state) / OTHER).write_text("port 8080")
    (folder(state) / NAME).write_text("tabs of 4")
    assert (await settle_notes(state, "v1")).adopted == (OTHER,)
    shutil.rmtree(state.home.memories("v1"))
    await settle_notes(state, "v1")
    assert (folder(state) / OTHER).read_text() == "port 8080"
    assert (folder(state) / NAME).read_text() == "tabs of 4"


async def test_a_note_that_the_journal_cannot_take_is_not_there(state: State) -> None:
    """What was not acknowledged does not stand; nor is a replacement half done."""
    first = await kept(state, NAME, "tabs")
    state.home.journal.unlink()
    state.home.journal.mkdir()
    with pytest.raises(JournalUnusable):
        await keep_note(state, "v1", OTHER, "port 8080")
    with pytest.raises(JournalUnusable):
        await keep_note(state, "v1", NAME, "spaces", base=first.note_id)
    assert [path.name for path in folder(state).iterdir()] == [NAME]
    assert (folder(state) / NAME).read_text() == "tabs"


async def test_notes_outlive_the_journal_being_rewritten_and_the_database(
    state: State, clock: ManualClock
) -> None:
    """A start over a lost database keeps the notes that are not done, and a name's number."""
    await kept(state, NAME, "tabs")
    await kept(state, OTHER, "port 8080")
    await drop_note(state, "v1", OTHER)
    await state.close()
    for path in state.home.root.glob("state.sqlite*"):
        path.unlink()
    shutil.rmtree(state.home.memories("v1"))
    lock = OwnerLock(state.home)
    assert lock.try_acquire()
    again = await open_state(state.home, clock, "other", lock=lock)
    assert (await settle_notes(again, "v1")).restored == (NAME,)
    await again.close()
    lock.release()


def test_a_name_is_made_of_time_and_first_words() -> None:
    """Words of other scripts leave a plain one."""
    assert note_name("Always use tabs, never spaces, in Go code!", now_ms=0) == (
        "1970-01-01T00-00-00-always-use-tabs-never-spaces-in.md"
    )
    assert note_name("请用制表符", now_ms=0) == "1970-01-01T00-00-00-note.md"


@pytest.mark.requirement("FR-C11")
async def test_a_note_that_was_kept_outlives_a_kill_in_both_places(tmp_path: Path) -> None:
    """kill -9 right after the answer: file and journal hold it, whole."""
    program = (
        "import asyncio, os, pathlib, signal, sys\n"
        "from state.clock import SystemClock\n"
        "from state.home import Home\n"
        "from state.notes import Kept, keep_note\n"
        "from state.recovery import open_state\n"
        "async def main(root):\n"
        "    state = await open_state(Home(pathlib.Path(root)), SystemClock(), 'a')\n"
        f"    said = await keep_note(state, 'v1', {NAME!r}, 'tabs, always')\n"
        "    assert isinstance(said, Kept), said\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main(sys.argv[1]))\n"
    )
    root = tmp_path / "home"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, root, cwd=ROOT)
    assert await child.wait() == -signal.SIGKILL
    home = Home(root)
    assert (home.memories("v1") / NOTES / NAME).read_text() == "tabs, always"
    assert '"text":"tabs, always"' in home.journal.read_text()
