"""The installed server at its end: each signal waits for a running turn, a second may force."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config
from tests.support.installed import MEMORYD, environment
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.wire import RpcError, WireClient
from tests.support.wire_links import LineLink

SOON_S = 30
READY = b"home "
_TEXT = {"type": "text", "text": "hi"}


@dataclass(frozen=True, slots=True)
class _Busy:
    """A server in whose only thread a turn runs."""

    process: asyncio.subprocess.Process
    client: WireClient
    model: ResponsesServer
    thread_id: str

    async def signal(self, number: signal.Signals) -> None:
        """Send it and wait until the server drains, as a refused start shows."""
        self.process.send_signal(number)
        async with asyncio.timeout(SOON_S):
            while True:
                try:
                    await self.client.request("thread/start", {"cwd": "/"})
                except RpcError as refused:
                    assert refused.data == {"reason": "serverShuttingDown"}
                    return

    async def status(self) -> int:
        """How the process ended."""
        return await asyncio.wait_for(self.process.wait(), SOON_S)


async def _patiently(client: WireClient, method: str) -> dict[str, Any]:
    """A notification of a process that may still be loading its client library."""
    for _ in range(SOON_S // 5):
        with contextlib.suppress(TimeoutError):
            return await client.notification(method)
    raise TimeoutError(method)


@asynccontextmanager
async def _busy(folder: Path) -> AsyncIterator[_Busy]:
    home = folder / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        config = provider_config(model.base_url) + "\n[server]\ndrain_s = 60\n"
        (home / "config.toml").write_text(config, "utf-8")
        process = await asyncio.create_subprocess_exec(
            MEMORYD,
            "serve",
            "--listen",
            "ws://127.0.0.1:0",
            env=environment(home),
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            while READY not in (line := await process.stderr.readline()):
                assert line, "it ended at its start"
            reader, writer = await asyncio.open_unix_connection(home / "run" / "relay.sock")
            client = WireClient(LineLink(reader, writer))
            await client.initialize()
            started = await client.request("thread/start", {"cwd": str(folder)})
            thread_id = str(started["thread"]["id"])
            model.script(Reply(text="slow and whole", hangs=True))
            words = [{"type": "text", "text": "hi"}]
            await client.request("turn/start", {"threadId": thread_id, "input": words})
            await _patiently(client, "item/agentMessage/delta")
            try:
                yield _Busy(process, client, model, thread_id)
            finally:
                await client.close()
                writer.close()
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


@pytest.mark.requirement("MR-9-25")
@pytest.mark.parametrize(
    "numbers",
    [
        (signal.SIGINT,),
        (signal.SIGTERM,),
        (signal.SIGHUP,),
        (signal.SIGHUP, signal.SIGHUP, signal.SIGHUP),
    ],
)
async def test_an_end_by_signal_waits_for_the_running_turn(
    numbers: Sequence[signal.Signals], tmp_path: Path
) -> None:
    """Its client hears the whole of it; what reads still works meanwhile, and status is 0."""
    async with _busy(tmp_path) as busy:
        for number in numbers:
            await busy.signal(number)
        read = await busy.client.request("thread/read", {"threadId": busy.thread_id})
        assert read["thread"]["status"]["type"] == "active"
        assert busy.process.returncode is None
        busy.model.release()
        ended = (await _patiently(busy.client, "turn/completed"))["turn"]
        assert ended["status"] == "completed"
        assert await busy.status() == 0


@pytest.mark.requirement("MR-9-25")
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_one_forces(
    first: signal.Signals, second: signal.Signals, tmp_path: Path
) -> None:
    """Though the turn would go on for ever, with the status that clients expect."""
    async with _busy(tmp_path) as busy:
        await busy.signal(first)
        busy.process.send_signal(second)
        assert await busy.status() == 0
