"""Standard output of the installed server holds messages alone, whatever prints in its process."""

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config
from tests.support.installed import MEMORYD, environment
from tests.support.noisy_start import LIBRARIES, WAYS, noisy_environment
from tests.support.responses_server import Call, ResponsesServer, calls, says

PATIENCE_S = 100
MANY = 3_000
"""Requests whose replies are more than a pipe holds."""
COMMAND = "echo said by a child; echo said by a child >&2"
FREE = 'sandbox_mode = "danger-full-access"\napproval_policy = "never"\n'
ROLES = ("owner", "bridge")
HELLO = {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "n", "version": "1"}}}


def _lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


@contextmanager
def _home(folder: Path, role: str, config: str = "") -> Iterator[Path]:
    """A home; of a bridge one that is owned by another process."""
    home = folder / "home"
    home.mkdir()
    (home / "config.toml").write_text(config, "utf-8")
    if role == "owner":
        yield home
        return
    with subprocess.Popen(
        [MEMORYD, "app-server"],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdin and owner.stdout
        owner.stdin.write(_lines(HELLO))
        owner.stdin.flush()
        assert json.loads(owner.stdout.readline())["id"] == 0
        yield home
        owner.communicate(timeout=PATIENCE_S)
        assert owner.returncode == 0


def _spawned(home: Path, *, stdout: Any, noisy: bool = True) -> "subprocess.Popen[bytes]":
    """An `app-server` under every debug option; its standard error goes to a file."""
    more = noisy_environment(home.parent / "noise") if noisy else {}
    with (home.parent / "err").open("wb") as err:
        return subprocess.Popen(
            [MEMORYD, "--debug", "app-server"],
            env=environment(home, **more),
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=err,
        )


def _err(home: Path) -> str:
    return (home.parent / "err").read_text("utf-8", "replace")


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T12")
@pytest.mark.parametrize("role", ROLES)
async def test_every_line_parses_though_everything_prints_and_stdout_is_full(
    role: str, tmp_path: Path
) -> None:
    """Libraries as they are loaded, children, threads that crash, and replies that nobody reads."""
    async with ResponsesServer() as model:
        model.script(calls(Call(name="exec_command", arguments={"cmd": COMMAND})), says("done"))
        config = FREE + provider_config(model.base_url)
        out, told = await asyncio.to_thread(_session, tmp_path, role, config)
    messages = [json.loads(line) for line in out.splitlines()]
    ids = sorted(one["id"] for one in messages if "method" not in one)
    assert ids == list(range(MANY))
    said = [one["params"] for one in messages if one.get("method") == "item/completed"]
    [ran] = [one["item"] for one in said if one["item"]["type"] == "commandExecution"]
    assert "said by a child" in ran["aggregatedOutput"]
    heard = [f"as {name} is loaded" for name in LIBRARIES] if role == "owner" else []
    for when in ("at a signal", "at the end", *heard):
        assert [way for way in WAYS if f"{way} {when}" not in told] == [], when


def _session(folder: Path, role: str, config: str) -> tuple[bytes, str]:
    """One turn with a command, then replies that fill the pipe; stdout and stderr as they were."""
    with (
        _home(folder, role, config) as home,
        _spawned(home, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdin and process.stdout
        start = {"id": 1, "method": "thread/start", "params": {"cwd": str(folder)}}
        process.stdin.write(_lines(HELLO, {"method": "initialized"}, start))
        process.stdin.flush()
        out = b""
        while b'"turn/completed"' not in out:
            line = process.stdout.readline()
            assert line, out
            out += line
            if line.startswith(b'{"id":1,'):
                process.send_signal(signal.SIGUSR1)
                thread = json.loads(line)["result"]["thread"]["id"]
                params = {"threadId": thread, "input": [{"type": "text", "text": "go"}]}
                process.stdin.write(_lines({"id": 2, "method": "turn/start", "params": params}))
                process.stdin.flush()
        many = [{"id": number, "method": "thread/loaded/list"} for number in range(3, MANY)]
        process.stdin.write(_lines(*many[: MANY // 2]))
        process.stdin.flush()
        process.send_signal(signal.SIGUSR1)
        process.stdin.write(_lines(*many[MANY // 2 :]))
        rest, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        return out + rest, _err(home)


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T12")
@pytest.mark.parametrize("role", ROLES)
def test_a_process_that_crashes_leaves_whole_lines(role: str, tmp_path: Path) -> None:
    """It is aborted in the middle of its work, as by a fault of a library in C."""
    with _home(tmp_path, role) as home, _spawned(home, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(_lines(HELLO, {"method": "initialized"}))
        process.stdin.flush()
        first = process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        while "crash at a signal" not in _err(home):
            time.sleep(0.01)  # what is waited for announces nothing
        process.send_signal(signal.SIGABRT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == -signal.SIGABRT
        assert [json.loads(line)["id"] for line in (first + out).splitlines()] == [0]
        assert "Fatal Python error: Aborted" in _err(home)


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T12")
def test_a_start_that_fails_says_so_beside_an_empty_stdout(tmp_path: Path) -> None:
    """With its traceback, since it is asked for."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "state.sqlite").mkdir()
    with _spawned(home, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate(_lines(HELLO), timeout=PATIENCE_S)
    assert process.returncode != 0 and out == b""
    assert "Traceback" in _err(home) and "print at the end" in _err(home)


@pytest.mark.requirement("FR-T12")
@pytest.mark.parametrize("role", ROLES)
def test_an_output_that_takes_nothing_ends_the_process_and_nothing_else(
    role: str, tmp_path: Path
) -> None:
    """As on a disk without room; its input stays open."""
    with (
        _home(tmp_path, role) as home,
        Path("/dev/full").open("wb") as full,
        _spawned(home, stdout=full, noisy=False) as process,
    ):
        assert process.stdin
        process.stdin.write(_lines(HELLO))
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 0
        assert "Traceback" not in _err(home)
        process.stdin.close()
