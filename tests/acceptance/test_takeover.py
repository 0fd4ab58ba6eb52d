"""Several servers on one home: all serve, one works; when it is killed, the next takes over."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config
from tests.support.installed import MEMORYD, environment
from tests.support.responses_server import Recorded, Reply, ResponsesServer, says_json

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
LEASE_S = 90
EMPTY = {"rollout_summary": "", "rollout_slug": "", "raw_memory": ""}


class Attached:
    """A client of `memoryd app-server`, which owns the home or joins the one that does."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._number = 0

    @classmethod
    async def start(cls, home: Path) -> "Attached":
        """Start one and shake hands."""
        process = await asyncio.create_subprocess_exec(
            MEMORYD,
            "app-server",
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            limit=2**22,
        )
        made = cls(process)
        info = {"name": "test", "title": None, "version": "1"}
        await made.ask(
            "initialize", {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        )
        return made

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        async with asyncio.timeout(30):
            while line := await self.process.stdout.readline():
                message = json.loads(line)
                if message.get("id") == self._number and "method" not in message:
                    assert "result" in message, message
                    result: dict[str, Any] = message["result"]
                    return result
        raise AssertionError(f"the connection ended before {method} was answered")

    async def end(self) -> None:
        """Hang up."""
        if self.process.returncode is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            async with asyncio.timeout(20):
                await self.process.wait()


@pytest.mark.requirement("FR-S7", "MW-F-two-servers")
async def test_three_servers_serve_one_works_and_another_takes_over(tmp_path: Path) -> None:
    """Killed in mid-job; the next one finishes at once, not when the lease ends."""
    home = tmp_path / "home"
    home.mkdir()
    gate = asyncio.Event()

    def choose(request: Recorded) -> Reply | None:
        if not request.structured:
            return None
        return says_json(EMPTY) if gate.is_set() else Reply(text="", hangs=True)

    async with ResponsesServer() as model:
        model.choose = choose
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        servers = [await Attached.start(home) for _ in range(3)]
        pids = {(await server.ask("memory/overview", {}))["server"]["pid"] for server in servers}
        assert pids == {servers[0].process.pid}
        await servers[0].ask("thread/import", {"path": str(SAMPLES)})
        await servers[0].ask("memory/consolidate/start", {"wait": False})
        await model.wait_for_requests(5, seconds_max=20)
        servers[0].process.send_signal(signal.SIGKILL)
        gate.set()
        killed_s = time.monotonic()
        for server in servers:
            await server.end()
        following = [await Attached.start(home) for _ in range(2)]
        async with asyncio.timeout(30):
            while True:
                view = await following[1].ask("memory/overview", {})
                if view["jobs"]["done"] == 5:
                    break
                await asyncio.sleep(0.05)
        assert time.monotonic() - killed_s < LEASE_S / 3
        assert view["server"]["pid"] == following[0].process.pid
        assert len([one for one in model.requests if one.structured]) == 10
        for server in reversed(following):  # the owner stays while others are attached
            await server.end()
