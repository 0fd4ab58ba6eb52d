"""The original's command without a terminal works on a server of ours, and so does what spawns it.

The TypeScript SDK has no app-server of its own: it runs `codex exec`, which `--remote` points to
our server. `pytest -m slow tests/acceptance/test_codex_exec.py`; it needs npm and the network.
"""

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_clients import Bench, acting, npm_client
from tests.support.responses_server import ResponsesServer

CODEX, SDK = "@openai/codex@0.171.0", "@openai/codex-sdk@0.163.0"
RUN_S_MAX = 100
COMMAND = {"cmd": "touch from-command.txt && echo command-ran"}
WRITABLE = 'sandbox_mode = "workspace-write"\n'


@asynccontextmanager
async def _bench(modules: Path, folder: Path) -> AsyncIterator[tuple[Bench, "Terminal"]]:
    """A server whose model acts inside the project, since nobody is there to ask, and `codex`."""
    async with ResponsesServer() as model:
        model.choose = partial(acting, command=COMMAND)
        bench = Bench.made(folder, model.base_url)
        config = bench.home / "config.toml"
        config.write_text(WRITABLE + config.read_text("utf-8"), "utf-8")
        async with bench.serving() as (url, secret):
            program = modules / ".bin" / "codex"
            yield bench, Terminal(program, folder, bench.project, url, secret)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program and the SDK, installed once."""
    return npm_client(tmp_path_factory.mktemp("exec") / "client", CODEX, SDK, peers=True)


class Terminal:
    """Runs the original's command against one server, with nothing of the user's around it."""

    def __init__(self, codex: Path, folder: Path, project: Path, url: str, secret: str) -> None:
        self._codex, self._project = codex, project
        self.remote = ("--remote", url, "--remote-auth-token-env", "SERVER_SECRET")
        home = folder / "codex-home"
        home.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        more = {"HOME": str(folder), "CODEX_HOME": str(home), "SERVER_SECRET": secret}
        self.environment = kept | more

    async def run(self, *words: str, status: int = 0) -> tuple[str, str]:
        """Run it to its end: what it printed on both streams."""
        process = await asyncio.create_subprocess_exec(
            self._codex,
            *words,
            cwd=self._project,
            env=self.environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            limit=1 << 20,
        )
        out, err = await asyncio.wait_for(process.communicate(), RUN_S_MAX)
        assert process.returncode == status, err.decode()[-4_000:]
        return out.decode(), err.decode()

    async def exec(self, *words: str, status: int = 0) -> list[dict[str, Any]]:
        """`codex exec --json`: its lines."""
        out, _ = await self.run(
            "exec", *self.remote, "--json", "--skip-git-repo-check", *words, status=status
        )
        return [json.loads(line) for line in out.splitlines()]


def _answer(lines: list[dict[str, Any]]) -> str:
    said = [
        line["item"]["text"]
        for line in lines
        if line["type"] == "item.completed" and line["item"]["type"] == "agent_message"
    ]
    return str(said[-1])


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_exec_runs_resumes_archives_and_deletes_on_our_server(
    modules: Path, tmp_path: Path
) -> None:
    """Each command finds the thread that the one before it left."""
    async with _bench(modules, tmp_path) as (bench, codex):
        lines = await codex.exec("run the command")
        thread = lines[0]["thread_id"]
        assert lines[0]["type"] == "thread.started" and lines[-1]["type"] == "turn.completed"
        assert lines[-1]["usage"]["input_tokens"] > 0
        [command] = [
            line["item"]
            for line in lines
            if line["type"] == "item.completed" and line["item"]["type"] == "command_execution"
        ]
        assert command["aggregated_output"] == "command-ran\n" and command["exit_code"] == 0
        assert _answer(lines) == "You said: run the command -- mock-final"
        again = await codex.exec("resume", thread, "edit the file")
        assert again[0]["thread_id"] == thread and bench.acted()
        failed = await codex.exec("fail with an error", status=1)
        assert failed[-1]["type"] == "turn.failed"
        for word in ("archive", "unarchive"):
            await codex.run(word, *codex.remote, thread)
        assert _answer(await codex.exec("resume", thread, "back")).startswith("You said: back")
        await codex.run("delete", *codex.remote, "--force", thread)
        _, told = await codex.run("archive", *codex.remote, thread, status=1)
        assert "failed to archive" in told


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_the_typescript_sdk_runs_through_exec(modules: Path, tmp_path: Path) -> None:
    """Its program is a wrapper of two lines, as any program that a person points it to."""
    flow = modules.parent / "ts_flow.mjs"  # node looks for packages from where the script is
    flow.write_text((Path(__file__).parent / "ts_flow.mjs").read_text())
    async with _bench(modules, tmp_path) as (bench, codex):
        program = tmp_path / "codex"
        remote = " ".join(codex.remote)
        program.write_text(
            f'#!/bin/sh\nshift; exec {modules / ".bin" / "codex"} exec {remote} "$@"\n'
        )
        program.chmod(0o755)
        seen = await bench.flow("node", flow, program, cwd=None, **codex.environment)
    for name, text in (("first", "hello"), ("command", "run the command"), ("second", "and again")):
        assert seen[name] == f"You said: {text} -- mock-final", seen
    assert seen["tokens"] and seen["same"] and bench.acted()
    assert seen["output"] == "command-ran\n"
    assert [one["kind"] for one in seen["changes"]] == ["add"]
    assert seen["command_events"][0] == "thread.started"
    assert seen["command_events"][-1] == "turn.completed"
    assert "item.started command_execution" in seen["command_events"]
    assert "item.completed file_change" in seen["edit_events"]
    assert "scripted failure" in seen["failure"]
