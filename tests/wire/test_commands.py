"""`command/exec` and the lines of shell that a user types, over the wire."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from server.agent.sandbox.sandbox import Ready
from tests.support.homes import Serving, serving
from tests.support.responses_server import ResponsesServer, says
from tests.support.wire import RpcError, WireClient
from tests.wire.test_shell import told

MARK = "987322"


@asynccontextmanager
async def attached(folder: Path, config: str = "") -> AsyncIterator[tuple[Serving, WireClient]]:
    """A server with a sandbox, and a client."""
    (folder / "project").mkdir()
    async with serving(folder, config=config) as home, home.wire.client("pair") as client:
        status = await home.server.services.machine.sandbox.status()
        if not isinstance(status, Ready):
            pytest.skip(str(status))
        yield home, client


def is_marked() -> bool:
    """Whether a process with the mark of these tests is there."""
    for process in psutil.process_iter():
        try:
            if MARK in process.cmdline():
                return True
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return False


def until_marked() -> None:
    """Wait for such a process; it is looked for, since nobody tells of it."""
    for _ in range(1_000):
        if is_marked():
            return
        time.sleep(0.02)
    raise AssertionError("the command did not start")


async def test_a_command_gives_its_streams_and_its_code(tmp_path: Path) -> None:
    """Read-only by default; with a policy of its own it may write."""
    async with attached(tmp_path) as (_, client):
        cwd = str(tmp_path / "project")
        script = "echo out; echo err >&2; touch made; exit 3"
        plain = await client.request(
            "command/exec", {"command": ["sh", "-c", script], "cwd": cwd, "timeoutMs": 60_000}
        )
        assert plain["exitCode"] == 3 and plain["stdout"] == "out\n"
        assert plain["stderr"].startswith("err\n") and "Read-only" in plain["stderr"]
        assert list((tmp_path / "project").iterdir()) == []
        policy = {"type": "workspaceWrite", "excludeSlashTmp": True}
        asked = {"command": ["sh", "-c", script], "cwd": cwd, "sandboxPolicy": policy}
        assert (await client.request("command/exec", asked))["stderr"] == "err\n"
        assert [one.name for one in (tmp_path / "project").iterdir()] == ["made"]


async def test_a_command_sees_no_secret_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its variables nor its keys; what the client sets is there."""
    monkeypatch.setenv("SOME_API_KEY", "a-secret-value")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:a-secret-value@host/db")
    monkeypatch.setenv("PLAIN", "kept")
    async with attached(tmp_path) as (home, client):
        ran = await client.request(
            "command/exec",
            {
                "command": ["sh", "-c", f"env; cat {home.home.access_key} {home.home.config}"],
                "env": {"GIVEN": "by the client", "PLAIN": None},
                "timeoutMs": 60_000,
            },
        )
        key = home.home.access_key.read_text().strip()
    assert "GIVEN=by the client" in ran["stdout"] and "PLAIN" not in ran["stdout"]
    assert "a-secret-value" not in ran["stdout"] and key not in ran["stdout"]
    assert "MEMORYD_HOME" not in ran["stdout"] and ran["exitCode"] != 0


async def test_a_command_streams_takes_input_and_can_be_ended(tmp_path: Path) -> None:
    """All it printed was told before the reply."""
    async with attached(tmp_path) as (_, client):
        started = {
            "command": ["sh", "-c", f"read line; echo got-$line; exec sleep {MARK}"],
            "processId": "p1", "streamStdin": True, "streamStdoutStderr": True,
            "disableTimeout": True,
        }  # fmt: skip
        reply = client.expect("exec-1")
        await client.link.send(
            json.dumps({"id": "exec-1", "method": "command/exec", "params": started}).encode()
        )
        data = base64.b64encode(b"words\n").decode()
        while True:  # it is registered as soon as it runs
            try:
                await client.request("command/exec/write", {"processId": "p1", "deltaBase64": data})
                break
            except RpcError as error:
                assert "no active command/exec" in error.message
        delta = await told(client, "command/exec/outputDelta")
        assert base64.b64decode(delta["deltaBase64"]) == b"got-words\n"
        assert delta["stream"] == "stdout" and delta["capReached"] is False
        await client.request("command/exec/terminate", {"processId": "p1"})
        result = (await reply)["result"]
    assert result["exitCode"] == 137 and result["stdout"] == "" and not is_marked()


async def test_time_and_output_of_a_command_are_bounded(tmp_path: Path) -> None:
    """It is ended with all it started, and told by the code that `timeout` uses."""
    async with attached(tmp_path) as (_, client):
        late = {"command": ["sh", "-c", f"setsid sleep {MARK} & sleep {MARK}"], "timeoutMs": 300}
        assert (await client.request("command/exec", late))["exitCode"] == 124
        assert not is_marked()
        much = {"command": ["sh", "-c", "head -c 5000000 /dev/zero"], "outputBytesCap": 7,
                "timeoutMs": 60_000}  # fmt: skip
        assert len((await client.request("command/exec", much))["stdout"]) == 7


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"command": []}, "command must not be empty"),
        ({"command": ["ls"], "tty": True}, "processId"),
        ({"command": ["ls"], "size": {"rows": 1, "cols": 1}}, "size needs tty"),
        ({"command": ["ls"], "disableTimeout": True, "timeoutMs": 5}, "disableTimeout"),
        ({"command": ["ls"], "cwd": "/does/not/exist"}, "does not exist"),
        ({"command": ["a\0b"]}, "null character"),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    params: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    """With a sentence that says what to change."""
    async with attached(tmp_path) as (_, client):
        with pytest.raises(RpcError, match=sentence):
            await client.request("command/exec", params)


async def test_a_command_ends_with_its_connection(tmp_path: Path) -> None:
    """Nobody would read it any more."""
    async with attached(tmp_path) as (home, _):
        async with home.wire.client("pair") as other:
            params = {"command": ["sh", "-c", f"echo begun; sleep {MARK}"], "processId": "x",
                      "streamStdoutStderr": True, "disableTimeout": True}  # fmt: skip
            await other.link.send(
                json.dumps({"id": 77, "method": "command/exec", "params": params}).encode()
            )
            await told(other, "command/exec/outputDelta")
            # The shell printed before it started the command.
            await asyncio.to_thread(until_marked)
        await home.server.services.hub.wait_for_at_most(1)
        for process in psutil.process_iter():
            try:
                if MARK in process.cmdline():
                    process.wait(timeout=30)
            except psutil.NoSuchProcess:
                continue
        assert not is_marked()


async def test_a_line_that_the_user_types_is_a_turn_of_its_own(tmp_path: Path) -> None:
    """It runs with the user's rights, asks no model, and the next turn knows of it."""
    async with ResponsesServer() as model:
        config = f"""
            model = "mock-model"
            model_provider = "mock"
            [model_providers.mock]
            base_url = {json.dumps(model.base_url)}
            """
        async with attached(tmp_path, config) as (_, client):
            cwd = str(tmp_path / "project")
            thread = (await client.request("thread/start", {"cwd": cwd}))["thread"]["id"]
            line = "echo from-the-user > made; cat made"
            assert await client.request(
                "thread/shellCommand", {"threadId": thread, "command": line}
            ) == {}  # fmt: skip
            ended = await told(client, "turn/completed")
            assert ended["turn"]["status"] == "completed" and model.requests == []
            [item] = [
                one["params"]["item"]
                for one in client.frames
                if one.get("method") == "item/completed"
            ]
            assert item["source"] == "userShell" and item["aggregatedOutput"] == "from-the-user\n"
            assert item["processId"] is None and item["exitCode"] == 0
            model.script(says("seen"))
            await client.request(
                "turn/start", {"threadId": thread, "input": [{"type": "text", "text": "and now?"}]}
            )
            await told(client, "turn/completed")
            [asked] = model.requests
    assert any(
        "<user_shell_command>" in text and "from-the-user" in text for text in asked.user_texts
    )


async def test_a_line_of_the_user_can_be_interrupted(tmp_path: Path) -> None:
    """With everything it started."""
    async with attached(tmp_path) as (_, client):
        thread = (await client.request("thread/start", {"cwd": str(tmp_path / "project")}))[
            "thread"
        ]
        line = f"echo begun; setsid -f sleep {MARK}; sleep {MARK}"
        await client.request("thread/shellCommand", {"threadId": thread["id"], "command": line})
        turn = (await told(client, "turn/started"))["turn"]
        await told(client, "item/commandExecution/outputDelta")
        await client.request("turn/interrupt", {"threadId": thread["id"], "turnId": turn["id"]})
        assert (await told(client, "turn/completed"))["turn"]["status"] == "interrupted"
    assert not is_marked()
