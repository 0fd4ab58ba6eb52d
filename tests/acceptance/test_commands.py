"""The installed command as a person and a script use it."""

import json
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from state.home import Home
from state.owner import OwnerLock
from tests.support.installed import MEMORYD, environment, memoryd, started

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
COMMANDS = (
    "serve",
    "app-server",
    "demo",
    "chat",
    "status",
    "doctor",
    "import",
    "consolidate",
    "pause",
    "resume",
    "reset",
    "remember",
    "correct",
    "schema",
    "eval",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a home will be made."""
    return tmp_path / "home"


@pytest.fixture
def learned(home: Path) -> Path:
    """A home that has learned the sample sessions."""
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    assert memoryd("consolidate", "--wait", home=home).returncode == 0
    return home


def _json(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ran.returncode == 0, ran.stderr
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def test_the_demo_shows_the_main_job_in_about_twenty_lines(home: Path) -> None:
    """Imported, consolidated, asked, answered with a source; nothing of the user's home made."""
    ran = memoryd("demo", "--once", home=home)
    assert ran.returncode == 0, ran.stderr
    lines = [line for line in ran.stdout.splitlines() if line.strip()]
    assert 10 <= len(lines) <= 24
    assert "Imported 5 finished sessions" in ran.stdout
    assert "make check" in ran.stdout
    assert re.search(r"cited: MEMORY\.md:\d+", ran.stdout)
    assert not home.exists()
    folder = re.search(r"home of its own in (\S+),", ran.stdout)
    assert folder is not None and not Path(folder[1]).exists()


def test_without_a_command_the_help_is_shown(home: Path) -> None:
    """As an error: on stderr, with the status of a wrong usage."""
    ran = memoryd(home=home)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "memoryd import codex" in ran.stderr
    assert not home.exists()


def test_a_chat_at_an_address_carries_one_secret_and_shows_none(home: Path) -> None:
    """That of the address, where one stands there; a refusal says whose is wanted."""
    other = home.with_name("other")
    assert memoryd("chat", "hello", home=other).returncode == 0
    assert (other / "keys" / "access").exists()
    server = started(["serve", "--listen", "ws://127.0.0.1:0"], home=home)
    try:
        assert server.stderr is not None
        address = server.stderr.readline().split()[-1]
        secret = (home / "keys" / "access").read_text().strip()
        assert memoryd("chat", "--connect", address, "hello", home=home).returncode == 0
        there = f"{address}/?token={secret}"
        assert memoryd("chat", "--connect", there, "hello", home=other).returncode == 0
        for wrong in (address, f"{address}/?token={secret}x"):
            ran = memoryd("chat", "--connect", wrong, "hello", home=other)
            assert (ran.returncode, ran.stdout) == (1, "")
            assert address.rstrip("/") in ran.stderr and secret not in ran.stderr
            assert "does not know this secret: name the home of that server" in ran.stderr
    finally:
        server.terminate()
        server.communicate()


def test_an_address_that_is_taken_is_told_with_what_to_do(home: Path) -> None:
    """In one line."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = memoryd("serve", "--listen", f"ws://127.0.0.1:{port}", home=home)
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"memoryd: cannot listen on 127.0.0.1:{port}: ")
    assert line.endswith("; `--listen` names another address")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(home: Path, command: str) -> None:
    """Help is on stdout, with status 0, and makes no home."""
    ran = memoryd(command, "--help", home=home)
    assert ran.returncode == 0
    assert ran.stdout.startswith(f"usage: memoryd {command}")
    assert not home.exists()


def test_an_import_is_repeatable_and_leaves_its_source_alone(home: Path) -> None:
    """A dry run changes nothing, the second real run brings in nothing."""
    before = {path: path.stat().st_mtime_ns for path in SAMPLES.iterdir()}
    dry = _json(memoryd("import", str(SAMPLES), "--dry-run", "--json", home=home))
    first = _json(memoryd("import", str(SAMPLES), "--json", home=home))
    second = _json(memoryd("import", str(SAMPLES), "--json", home=home))
    assert (dry["imported"], dry["dryRun"]) == (5, True)
    assert (first["imported"], second["imported"], second["unchanged"]) == (5, 0, 5)
    assert {path: path.stat().st_mtime_ns for path in SAMPLES.iterdir()} == before


def test_each_step_says_what_comes_next(home: Path) -> None:
    """From an import to a question."""
    ran = memoryd("import", str(SAMPLES), home=home)
    assert ran.stdout.splitlines()[-1].startswith("next: `memoryd consolidate --wait`")
    again = memoryd("import", str(SAMPLES), home=home)
    assert "next:" not in again.stdout
    ran = memoryd("consolidate", "--wait", home=home)
    assert ran.stdout.splitlines()[-1].startswith("next: `memoryd search QUESTION`")


def test_learning_without_its_model_fails_with_a_cause_and_what_to_do(home: Path) -> None:
    """The status is 1, and failures that are alike are one line of `memoryd status`."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        'model = "x"\nmodel_provider = "mine"\n\n[model_providers.mine]\n'
        'base_url = "http://127.0.0.1:1/v1"\nrequest_max_retries = 0\n'
    )
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    ran = memoryd("consolidate", "--wait", home=home)
    assert ran.returncode == 1
    assert "failed (5 the model provider cannot be reached)" in ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("next: `memoryd doctor`")
    told = [
        line for line in memoryd("status", home=home).stdout.splitlines() if "  failed  " in line
    ]
    assert len(told) == 1
    assert "and 4 more: the model provider cannot be reached: no connection to" in told[0]
    doctor = memoryd("doctor", home=home)
    assert doctor.returncode == 1 and "everything works" not in doctor.stdout
    [learning] = [line for line in doctor.stdout.splitlines() if line.startswith("FAIL learning")]
    assert told[0].partition("failed  ")[2] in learning
    assert "`memoryd consolidate --wait` tries it now" in doctor.stdout
    assert "memoryd import" not in doctor.stdout


def test_a_second_server_of_a_home_says_where_the_first_one_listens(home: Path) -> None:
    """Clients join it there."""
    home.mkdir(mode=0o700)
    lock = OwnerLock(Home(home))
    assert lock.try_acquire()
    lock.announce("ws://127.0.0.1:4999")
    ran = memoryd("serve", home=home)
    lock.release()
    assert ran.returncode != 0
    assert "it listens on ws://127.0.0.1:4999; clients join it there" in ran.stderr


def test_status_doctor_and_json_agree_on_what_was_learned(learned: Path) -> None:
    """Data on stdout, nothing else there."""
    status = _json(memoryd("status", "--json", home=learned))
    assert status["threads"]["imported"] == 5
    assert status["lastEdition"]["editionId"] == 1
    assert status["spending"]["extractionTokens"] == 0
    plain = memoryd("status", home=learned)
    assert "edition   1 of" in plain.stdout
    doctor = _json(memoryd("doctor", "--json", home=learned))
    # A machine may have no sandbox; then that is the one fault.
    faults = [one["part"] for one in doctor["checks"] if not one["ok"]]
    assert set(faults) <= {"sandbox"} and doctor["ok"] is not bool(faults)
    last = memoryd("doctor", home=learned).stdout.splitlines()[-1]
    assert (last == "everything works") is doctor["ok"]


def test_a_chat_answers_from_memory_and_names_its_source(learned: Path) -> None:
    """One-shot, and with the question on standard input."""
    ran = memoryd("chat", "How do I run the tests in webshop?", home=learned)
    assert ran.returncode == 0
    assert "make check" in ran.stdout and "oai-mem-citation" not in ran.stdout
    assert re.search(r"from MEMORY\.md:\d+", ran.stderr)
    piped = memoryd("chat", home=learned, stdin="Which English do I write?\n")
    assert "British English" in piped.stdout


@pytest.mark.requirement("MR-9-20")
def test_a_reset_asks_first_and_then_holds(learned: Path) -> None:
    """Without a terminal it needs --yes; threads stay."""
    refused = memoryd("reset", home=learned)
    assert refused.returncode == 2 and "--yes" in refused.stderr
    assert memoryd("reset", "--yes", home=learned).returncode == 0
    assert not (learned / "memories" / "MEMORY.md").exists()
    status = _json(memoryd("status", "--json", home=learned))
    assert (status["threads"]["stored"], status["outputs"]) == (5, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("import", "/nowhere/at/all"), "name a file, a folder, `codex` or `claude`"),
        (("import", "codex"), "CODEX_HOME names another place"),
        (("import", "claude"), "CLAUDE_CONFIG_DIR names another place"),
        (("chat", "--cwd", "/nowhere/at/all", "hi"), "/nowhere/at/all is no folder"),
        (("consolidate", "--thread", "nonsense", "--wait"), "`nonsense` is no id of a thread"),
        (("chat", "--thread", "123", "hi"), "`123` is no id of a thread"),
        (("chat", "--thread", "00000000-0000-7000-8000-000000000000", "hi"), "no rollout found"),
        (("chat", "--connect", "http://h/?token=x", "hi"), "http://h/ is no server's address"),
        (("serve", "--listen", "http://127.0.0.1:1"), "ws://IP:PORT"),
        (("serve", "--listen", "ws://0.0.0.0:0"), "without auth"),
        (("serve", "--listen", "unix:///x", "--ws-issuer", "i"), "--ws-issuer needs --ws-auth"),
        (("app-server", "--ws-auth", "capability-token"), "exactly one of"),
        (("-c", "nonsense", "status"), "key=value"),
    ],
)
def test_a_mistake_gets_one_clear_line_and_a_status(
    home: Path, arguments: tuple[str, ...], words: str
) -> None:
    """No traceback, nothing on stdout."""
    ran = memoryd(*arguments, home=home)
    assert ran.returncode != 0
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr and ran.stdout == ""


@pytest.mark.requirement("FR-F22")
def test_whatever_the_umask_nothing_can_be_read_by_others(home: Path) -> None:
    """Folders 0700, files and sockets 0600, git objects and the database's side files too."""
    for arguments in (("import", str(SAMPLES)), ("consolidate", "--wait"), ("chat", "hello")):
        ran = subprocess.run(
            [MEMORYD, *arguments], env=environment(home), umask=0, capture_output=True, timeout=100
        )
        assert ran.returncode == 0, ran.stderr
    wide = [
        str(path)
        for path in [home, *home.rglob("*")]
        if stat.S_IMODE(path.lstat().st_mode) != (0o700 if path.is_dir() else 0o600)
    ]
    assert wide == []
    assert len(list((home / "memories" / ".git" / "objects").rglob("*"))) > 5


def test_packages_of_our_names_on_the_users_path_do_not_win(home: Path, tmp_path: Path) -> None:
    """A PYTHONPATH with a `server` of its own changes nothing."""
    for name in ("server", "state", "protocol"):
        (tmp_path / "foreign" / name).mkdir(parents=True)
        (tmp_path / "foreign" / name / "__init__.py").write_text("raise SystemExit('foreign')")
    ran = memoryd("status", home=home, env={"PYTHONPATH": str(tmp_path / "foreign")})
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def serving(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and all that it printed on its start."""
    process = started(["serve", "--listen", "ws://127.0.0.1:0"], home=home)
    assert process.stderr is not None
    printed = ""
    while "home " not in printed:
        line = process.stderr.readline()
        assert line, printed
        printed += line
    try:
        yield process, printed
    finally:
        process.kill()
        process.communicate(timeout=20)


@pytest.mark.requirement("FR-T23")
def test_the_secret_is_in_no_log_and_no_process_list(
    home: Path, serving: tuple[subprocess.Popen[str], str]
) -> None:
    """A log file gets the place of the secret; only a terminal gets the secret."""
    process, printed = serving
    secret = (home / "keys" / "access").read_text().strip()
    assert secret not in printed and str(home / "keys" / "access") in printed
    if sys.platform == "linux":
        listed = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        listed += Path(f"/proc/{process.pid}/environ").read_bytes()
        assert secret.encode() not in listed


@pytest.mark.requirement("P10", "MW-F-two-servers")
def test_a_second_server_is_refused_and_every_other_command_joins(
    home: Path, serving: tuple[subprocess.Popen[str], str]
) -> None:
    """One owner: what a joined command does is seen by the next."""
    process, _ = serving
    second = memoryd("serve", "--listen", "ws://127.0.0.1:0", home=home)
    assert second.returncode == 1 and str(process.pid) in second.stderr
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    hello = '{"id":1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}\n'
    bridged = memoryd("app-server", home=home, stdin=hello)
    assert json.loads(bridged.stdout)["id"] == 1
    status = _json(memoryd("status", "--json", home=home))
    assert (status["server"]["pid"], status["threads"]["imported"]) == (process.pid, 5)


@pytest.mark.requirement("FR-T16")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_status_0(
    home: Path, serving: tuple[subprocess.Popen[str], str], number: signal.Signals
) -> None:
    """Without a traceback, its sockets removed."""
    process, _ = serving
    process.send_signal(number)
    _, rest = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert not (home / "run" / "relay.sock").exists()


@pytest.mark.requirement("FR-T12")
def test_stdout_carries_the_protocol_and_nothing_else(home: Path) -> None:
    """Also with debug logs on: each line of stdout is a message."""
    frames = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "x", "version": "1"}}},
        {"id": 2, "method": "thread/start", "params": {"cwd": "/tmp"}},
        {"id": 3, "method": "no/such/method"},
    ]
    text = "".join(json.dumps(frame) + "\n" for frame in frames) + "not json\n"
    ran = memoryd("--debug", "app-server", home=home, stdin=text)
    assert ran.returncode == 0, ran.stderr
    replies = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {reply.get("id", "-") for reply in replies} >= {1, 2, 3, None}


def test_overrides_count_before_and_behind_the_command(home: Path) -> None:
    """Clients put them in either place, `--enable` and `--disable` too."""
    for arguments in (
        ("-c", "memories.bogus=1", "doctor", "--json"),
        ("doctor", "--json", "-c", "memories.bogus=1"),
    ):
        ran = memoryd(*arguments, home=home)
        assert ran.returncode == 1
        assert "memories.bogus" in ran.stdout
    status = _json(memoryd("--disable", "memories", "status", "--json", home=home))
    assert status["enabled"] is False


def test_chat_says_which_tool_servers_are_left_out_and_answers_all_the_same(home: Path) -> None:
    """One that ends at once, and one whose address is none; each with its reason."""
    home.mkdir()
    (home / "config.toml").write_text(
        '[mcp_servers.lame]\ncommand = "false"\n[mcp_servers.ftp]\nurl = "ftp://host"\n', "utf-8"
    )
    ran = memoryd("chat", "hello", home=home)
    assert ran.returncode == 0, ran.stderr
    assert "offline" in ran.stdout
    for name in ("lame", "ftp"):
        assert f"MCP server `{name}` is left out: " in ran.stderr
    assert "no http or https address" in ran.stderr
