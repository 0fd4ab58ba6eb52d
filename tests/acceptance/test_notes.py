"""`memoryd remember` and `correct` as a person uses them, and a receipt that outlives kill -9."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.installed import MEMORYD, environment, memoryd

CHILD = Path(__file__).resolve().parents[1] / "support" / "killed_after_receipt.py"
NOTES = Path("memories") / "extensions" / "ad_hoc" / "notes"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a home will be made."""
    return tmp_path / "home"


def receipt(*arguments: str, home: Path, stdin: str = "") -> dict[str, Any]:
    """What a command printed as JSON."""
    ran = memoryd(*arguments, "--json", home=home, stdin=stdin)
    assert ran.returncode == 0, ran.stderr
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


@pytest.mark.requirement("P13", "FR-U6")
def test_remember_says_what_was_kept_and_from_when_on(home: Path) -> None:
    """Two plain lines, the words joined as they were typed."""
    ran = memoryd("remember", "use", "tabs", "in this project", home=home)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second = ran.stdout.splitlines()
    note_id = first.removeprefix("remembered as ")
    assert note_id.endswith("-use-tabs-in-this-project")
    assert second.startswith("in force for every thread that starts from now on")
    assert (home / NOTES / f"{note_id}.md").read_text() == "use tabs in this project"


def test_remember_says_that_a_line_is_told_to_no_thread(home: Path) -> None:
    """One run of letters without a blank may hide what it says; it is kept all the same."""
    ran = memoryd("remember", "x" * 5_000, home=home)
    assert ran.returncode == 0
    assert "\n1 line of it no thread is told, as it looks like markup or is 256" in ran.stdout


def test_long_texts_come_from_standard_input(home: Path) -> None:
    """Kept to the byte; a dash says the same; more than a note may hold is refused."""
    text = "line one\n\n  line two \n" * 50
    for arguments in (("remember",), ("remember", "-")):
        kept = receipt(*arguments, home=home, stdin=text)
        assert (home / "memories" / kept["path"]).read_text() == text
    ran = memoryd("remember", home=home, stdin="x" * 40_000)
    assert ran.returncode == 1 and "at most 32768 bytes" in ran.stderr


@pytest.mark.requirement("FR-U7")
@pytest.mark.parametrize("command", [("remember",), ("correct", "x"), ("search",), ("chat",)])
def test_bytes_that_are_no_text_are_refused_with_their_place(
    home: Path, command: tuple[str, ...]
) -> None:
    """On the command line and on standard input; nothing is replaced, kept or begun."""
    given: list[tuple[list[bytes], bytes]] = [([b"caf\xe9 au lait"], b"")]
    if command[0] != "search":
        given += [([], b"caf\xe9 au lait"), ([], b"caf\0")]
    for arguments, stdin in given:
        ran = subprocess.run(
            [str(MEMORYD), *command, *arguments],
            input=stdin,
            capture_output=True,
            timeout=110,
            env=environment(home),
        )
        [told] = ran.stderr.decode().splitlines()
        assert ran.returncode == 2 and ran.stdout == b""
        assert told.startswith("memoryd: that is no UTF-8 text: look at byte 3;")
        assert not home.exists()


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "word"),
    [
        (("remember",), "", 2, "standard input is empty"),
        (("remember",), " \n", 2, "standard input is empty"),
        (("remember", " "), "", 2, "the note is empty"),
        (("remember", "sk-" + "a1B2" * 8), "", 1, "nothing but a secret"),
        (("remember", "a", "--memory-version", "v9"), "", 1, "one of v1, v2"),
        (("correct", "nothing", "b"), "", 1, "there is no note nothing"),
        (
            ("correct", "MEMORY.md:3", "b"),
            "",
            1,
            "take a line that a search names",
        ),
        (("correct",), "", 2, "ID"),
    ],
)
def test_mistakes_are_one_clear_line(
    home: Path, arguments: tuple[str, ...], stdin: str, status: int, word: str
) -> None:
    """On standard error, with a status a script can tell; nothing is written."""
    ran = memoryd(*arguments, home=home, stdin=stdin)
    assert (ran.returncode, ran.stdout) == (status, "")
    assert word in ran.stderr
    assert "Traceback" not in ran.stderr and "a1B2" not in ran.stderr
    assert list((home / NOTES).glob("*")) == []


@pytest.mark.requirement("FR-F2")
def test_a_correction_names_what_gives_way(home: Path) -> None:
    """By the id that remember printed; a stale base writes nothing."""
    first = receipt("remember", "The port is 8080.", home=home)
    ran = memoryd("correct", first["noteId"], "The port is 9090.", home=home)
    assert ran.returncode == 0, ran.stderr
    assert f"{first['path']} gives way to it" in ran.stdout
    ran = memoryd("correct", first["noteId"], "x y", "--base", "0" * 40, home=home)
    assert ran.returncode == 1
    assert "says something else than you saw; nothing was written" in ran.stderr
    assert len(list((home / NOTES).glob("*"))) == 2


@pytest.mark.requirement("FR-C11")
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_receipt_outlives_a_kill_right_after_it(home: Path, version: str) -> None:
    """`durable` was true: the next start has the note, in its folder and in force."""
    ran = subprocess.run(
        [sys.executable, CHILD, home, version, "the mascot is a heron"],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    kept = json.loads(ran.stdout)
    assert kept["durable"] is True
    folder = home / ("memories" if version == "v1" else "memories_v2")
    assert (folder / kept["path"]).read_text() == "the mascot is a heron"
    # Also when the folder goes before anything was learned: the journal has it.
    (folder / kept["path"]).unlink()
    (folder / kept["path"]).parent.rmdir()
    for path in (*folder.rglob("*"),):
        assert path.is_dir(), path
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    again = receipt("remember", "another", "--memory-version", version, home=home)
    notes = {path.read_text() for path in (folder / again["path"]).parent.iterdir()}
    assert notes == {"another", "the mascot is a heron"}


def test_orders_that_make_no_sense_are_told_in_a_person_s_words(home: Path) -> None:
    """A search for nothing, or for no hits; another agent's memory that is not there."""
    for arguments, status, word in (
        (("search", " "), 2, "nothing to search for"),
        (("search", "x", "--limit", "0"), 2, "--limit is at least 1, not 0"),
    ):
        ran = memoryd(*arguments, home=home)
        assert (ran.returncode, ran.stdout) == (status, "") and word in ran.stderr
        assert not home.exists()
    (home.parent / ".claude" / "projects").mkdir(parents=True)
    ran = memoryd("import", "claude", home=home)
    assert ran.returncode == 1 and len(ran.stderr.splitlines()) == 1
    assert "no memory files" in ran.stderr and "nothing was brought in" in ran.stderr
