"""A server of its own answers `initialize` before all of it is loaded, then what waits."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.support.gated_start import LOADED, spawn_arguments
from tests.support.installed import environment

SOON_S = 30
_CLIENT = {"clientInfo": {"name": "n", "version": "1"}, "capabilities": {"experimentalApi": True}}
# What neither owns a home nor answers `initialize`; each takes its share of a start.
LATER = (
    "server.assembly",
    "server.agent",
    "server.handlers.table",
    "server.handlers.turns",
    "memory_read",
    "memory_write.scheduler",
    "memory_write.phase1",
    "memory_write.phase2",
    "jsonrpcserver",
    "jsonschema",
    "dulwich",
    "tenacity",
    "tomlkit",
    "openai",
    "httpx2",
    "starlette",
    "uvicorn",
)
# What no client waits for where there is nothing to learn from.
NOT_WITHOUT_WORK = ("memory_write.phase1.job", "memory_write.phase2.job", "dulwich")


@dataclass(frozen=True, slots=True)
class _Started:
    """A process whose rest is held back."""

    process: asyncio.subprocess.Process
    gate: BinaryIO

    async def send(self, number: int, method: str, params: Mapping[str, Any]) -> None:
        """One request."""
        assert self.process.stdin is not None
        request = {"id": number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        await self.process.stdin.drain()

    async def replies(self, count: int) -> list[dict[str, Any]]:
        """So many replies, in the order in which they come."""
        assert self.process.stdout is not None
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(SOON_S):
            while len(found) < count:
                line = await self.process.stdout.readline()
                assert line, "the server ended"
                message = json.loads(line)
                found += [message] if "id" in message else []
        return found

    async def told(self) -> list[str]:
        """What it says on standard error until its end."""
        assert self.process.stderr is not None
        async with asyncio.timeout(SOON_S):
            return (await self.process.stderr.read()).decode().splitlines()


@asynccontextmanager
async def _started(home: Path) -> AsyncIterator[_Started]:
    read_fd, gate = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *spawn_arguments(read_fd),
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        limit=2**22,
        pass_fds=(read_fd,),
    )
    os.close(read_fd)
    try:
        with os.fdopen(gate, "wb") as held:
            yield _Started(process, held)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.requirement("FR-T4", "FR-T5")
async def test_initialize_is_answered_by_a_small_part_of_the_server(tmp_path: Path) -> None:
    """What comes behind waits for the rest of it and is answered, also when the input has ended."""
    async with _started(tmp_path / "home") as server:
        await server.send(1, "initialize", _CLIENT)
        [answer] = await server.replies(1)
        assert answer["result"]["memoryd"]["instanceId"]
        await server.send(2, "thread/start", {"cwd": "/"})
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.gate.write(b".")
        server.gate.flush()
        [begun] = await server.replies(1)
        assert begun["id"] == 2 and begun["result"]["thread"]["id"]
        early, late = [set(line.split()) for line in await server.told() if line.startswith(LOADED)]
        assert await server.process.wait() == 0
    assert "server.front" in early and "server.assembly" in late
    assert [name for name in LATER if name in early] == []
    assert [name for name in NOT_WITHOUT_WORK if name in late] == []


async def test_a_signal_that_comes_while_it_is_loaded_ends_it_in_order(tmp_path: Path) -> None:
    """As one that comes later: what waits is answered, and the status is 0."""
    async with _started(tmp_path / "home") as server:
        await server.send(1, "initialize", _CLIENT)
        await server.replies(1)
        await server.send(2, "thread/start", {"cwd": "/"})
        server.process.send_signal(signal.SIGTERM)
        await server.send(3, "no/such", {})
        [refused] = await server.replies(1)
        server.gate.write(b".")
        server.gate.flush()
        [begun] = await server.replies(1)
        assert (refused["id"], begun["id"]) == (3, 2)
        assert begun["result"]["thread"]["id"]
        async with asyncio.timeout(SOON_S):
            assert await server.process.wait() == 0


@pytest.mark.requirement("FR-T4")
async def test_a_server_that_cannot_be_made_whole_answers_who_waits_and_ends(
    tmp_path: Path,
) -> None:
    """Instead of a client that waits for ever, or a connection that breaks without a word."""
    async with _started(tmp_path / "home") as server:
        await server.send(1, "initialize", _CLIENT)
        await server.replies(1)
        await server.send(2, "thread/start", {"cwd": "/"})
        # Answered by the front, so what was sent before has been read.
        await server.send(3, "no/such", {})
        [refused] = await server.replies(1)
        assert refused["id"] == 3
        server.gate.close()
        [waiting] = await server.replies(1)
        assert waiting["id"] == 2
        assert "could not start" in waiting["error"]["message"]
        assert any("the gate stayed closed" in line for line in await server.told())
        assert await server.process.wait() == 1
