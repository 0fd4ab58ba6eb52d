"""The command among other programs: closed streams, full disks, pipes, odd bytes, keys pressed."""

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.support.installed import MEMORYD, environment, memoryd

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a home will be made."""
    return tmp_path / "home"


def _shell(line: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell, in which $M is the command."""
    return subprocess.run(
        ["bash", "-c", line],
        env={**environment(home), "M": str(MEMORYD)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )


@pytest.mark.parametrize(
    "line",
    [
        "$M status | head -1",
        "$M status >&-",
        "$M status --json >&-",
        "$M chat <&-",
        "$M chat hi >&-",
        "$M status 2>&-",
        "mkdir gone && cd gone && rmdir ../gone && $M status",
        "PYTHONUTF8=0 PYTHONIOENCODING=ascii LC_ALL=C $M chat 'Schweizer Rechtschreibung?'",
        "$M chat $'caf\\xe9'",
        "printf 'caf\\xe9 deploy' | $M chat",
        "$M import $'bad\\xff.jsonl'",
        "$M import /dev/null",
    ],
)
def test_nothing_around_the_command_makes_it_hang_or_show_a_traceback(
    home: Path, tmp_path: Path, line: str
) -> None:
    """Whatever the streams and the folder are."""
    ran = _shell(f"cd {tmp_path} && {line}", home)
    assert "Traceback" not in ran.stderr, ran.stderr
    assert "Exception ignored" not in ran.stderr, ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["status", "status --json", "chat hi", "doctor"])
def test_an_output_that_cannot_be_written_is_told(home: Path, command: str) -> None:
    """With a status other than 0 and one line."""
    ran = _shell(f"$M {command} >/dev/full", home)
    assert ran.returncode == 1
    assert ran.stderr.splitlines() == [
        f"memoryd: standard output cannot be written: {os.strerror(errno.ENOSPC)}"
    ]


def test_a_home_with_a_very_long_path_can_be_served_and_joined(tmp_path: Path) -> None:
    """Longer than the address of a socket may be."""
    home = tmp_path / ("long" * 40)
    with subprocess.Popen(
        [MEMORYD, "serve", "--listen", "ws://127.0.0.1:0"],
        env=environment(home),
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        assert "listens on" in server.stderr.readline()
        joined = memoryd("status", home=home)
        server.terminate()
    assert f"process {server.pid}" in joined.stdout


def test_a_home_behind_a_link_is_the_same_home(home: Path, tmp_path: Path) -> None:
    """As people keep their dot folders elsewhere."""
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    (tmp_path / "link").symlink_to(home)
    assert "5 stored" in memoryd("status", home=tmp_path / "link").stdout


def test_a_clean_exit_leaves_everything_in_the_database_file(home: Path) -> None:
    """Nothing waits in a log beside it, so that a copy of the file is a copy of all."""
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    assert [path.name for path in home.glob("state.sqlite*")] == ["state.sqlite"]


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.shown = ""
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.execve(MEMORYD, [str(MEMORYD), *arguments], {**environment(home), "TERM": "xterm"})
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

    def until(self, words: str, seconds: float = 30) -> str:
        """Read until these words are shown."""
        deadline = time.monotonic() + seconds
        while words not in self.shown:
            left = deadline - time.monotonic()
            assert left > 0, self.shown
            if select.select([self._master], [], [], left)[0] and not self._read():
                break
        assert words in self.shown, self.shown
        return self.shown

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def ended(self) -> int:
        """Read to the end; the status."""
        while self._read():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self._master)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # on Linux the end of a terminal is an error
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_a_conversation_on_a_terminal(home: Path) -> None:
    """A prompt, an answer, an empty line, and how to go on."""
    terminal = Terminal(home, "chat")
    terminal.until("> ")
    terminal.type("what do you know about me?\n")
    terminal.until("not a language model")
    terminal.type("\n")
    assert terminal.ended() == 0
    assert "memoryd chat --thread" in terminal.shown


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_one_question_on_a_terminal_says_how_to_go_on(home: Path) -> None:
    """A script that asks gets the answer alone."""
    terminal = Terminal(home, "chat", "what do you know about me?")
    assert terminal.ended() == 0
    assert "memoryd chat --thread" in terminal.shown
    assert "--thread" not in memoryd("chat", "what do you know about me?", home=home).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_a_word_that_ends_a_conversation_everywhere_ends_this_one_too(home: Path) -> None:
    """It is no question for the model."""
    terminal = Terminal(home, "chat")
    terminal.until("> ")
    terminal.type("exit\n")
    assert terminal.ended() == 0
    assert "memoryd chat --thread" in terminal.shown
    assert "not a language model" not in terminal.shown


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_ctrl_c_at_the_prompt_ends_a_conversation_without_another_key(home: Path) -> None:
    """It says how to go on, as an empty line does, and leaves no traceback."""
    terminal = Terminal(home, "chat")
    terminal.until("> ")
    terminal.type("\x03")
    assert terminal.until("memoryd chat --thread")
    assert terminal.ended() == 130
    assert "Traceback" not in terminal.shown


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_ctrl_c_while_a_demo_serves_shows_no_traceback(home: Path) -> None:
    """Neither of the command nor of the process that learned for it."""
    terminal = Terminal(home, "demo")
    terminal.until("Ctrl-C ends it")
    terminal.type("\x03")
    assert terminal.ended() == 0
    assert "Traceback" not in terminal.shown


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_long_work_shows_how_far_it_is(home: Path) -> None:
    """An import and a consolidation draw a bar and take it away."""
    terminal = Terminal(home, "import", str(SAMPLES))
    assert terminal.ended() == 0
    assert "importing" in terminal.shown and "5 session files found" in terminal.shown
    terminal = Terminal(home, "consolidate", "--wait")
    assert terminal.ended() == 0
    assert "consolidating" in terminal.shown


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_a_reset_on_a_terminal_takes_the_end_of_input_for_a_no(home: Path) -> None:
    """And says that nothing was deleted."""
    terminal = Terminal(home, "reset")
    terminal.until("to go on: ")
    terminal.type("\x04")
    assert terminal.ended() == 1
    assert "nothing was deleted" in terminal.shown and "Traceback" not in terminal.shown


@pytest.mark.skipif(sys.platform != "linux", reason="written for the terminals of Linux")
def test_serve_shows_the_lines_for_attaching_on_a_terminal_only(home: Path) -> None:
    """The secret among them; Ctrl-C ends it with status 0."""
    terminal = Terminal(home, "serve", "--listen", "ws://127.0.0.1:0")
    terminal.until("Python SDK")
    terminal.until("home  ")
    assert (home / "keys" / "access").read_text().strip() in terminal.shown
    os.kill(terminal.pid, signal.SIGINT)
    assert terminal.ended() == 0
