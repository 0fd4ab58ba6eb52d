"""SIGTERM with many clients whose turns stream: each is told, hears the end, and gets goodbye."""

import asyncio
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config
from tests.support.methods import said
from tests.support.owner_process import START_S, Way, ended, owner_serving, spawned
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.wire import WireClient
from tests.support.wire_links import WebSocketLink

THREADS = 5
FIFTY: tuple[Way, ...] = ("websocket", "unix") * 20 + ("relay",) * 10
JOINED = 9
WORDS = [{"type": "text", "text": "go on"}]
ENDLESS = Reply(text="one more word, " * 2_000, delta_characters=15, tokens_per_s=20)
"""An answer that takes longer than any test waits."""


async def _streams(clients: list[WireClient], threads: int, cwd: Path) -> list[str]:
    """One turn in each thread, and every client has heard a part of the answer; the turns' ids."""
    turns: list[str] = []
    for at, first in enumerate(clients[:threads]):
        thread = (await first.request("thread/start", {"cwd": str(cwd)}))["thread"]["id"]
        await said(first, thread, "hello")
        for other in clients[at + threads :: threads]:
            await other.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        given = {"threadId": thread, "input": WORDS}
        turns.append((await first.request("turn/start", given))["turn"]["id"])
    for at, client in enumerate(clients):
        while (await client.notification("item/agentMessage/delta"))["turnId"] != turns[
            at % threads
        ]:
            """Of the answer before."""
    return turns


async def _told(client: WireClient) -> None:
    """Hear that the server begins to stop."""
    while True:
        told = await client.notification("warning")
        if told["threadId"] is None:
            assert "shutting down" in told["message"]
            return


async def _gone(client: WireClient, turn: str) -> list[dict[str, Any]]:
    """Wait for the end of the connection; what was told of the end of the turn until then."""
    async with asyncio.timeout(START_S):
        await client.closed.wait()
    if isinstance(client.link, WebSocketLink):
        assert client.link.close_code in (1001, 1012)
    ends = [one["params"]["turn"] for one in client.frames if one.get("method") == "turn/completed"]
    return [one for one in ends if one["id"] == turn]


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T16")
@pytest.mark.parametrize("endless", [False, True])
async def test_fifty_streaming_clients_are_told_hear_the_end_and_get_their_code(
    tmp_path: Path, endless: bool
) -> None:
    """Of turns that end in time, and of turns that would go on; nothing of it is a fault."""
    home, gate = tmp_path / "home", asyncio.Event()
    home.mkdir()
    async with ResponsesServer() as model, AsyncExitStack() as stack:
        answer = ENDLESS if endless else Reply(text="one half and another", gate=gate)
        model.choose = lambda request: answer if request.user_texts[-1] == "go on" else None
        config = provider_config(model.base_url) + "\n[server]\ndrain_s = 1\n"
        (home / "config.toml").write_text(config if endless else provider_config(model.base_url))
        owner = await stack.enter_async_context(owner_serving(home, tmp_path))
        clients = [await stack.enter_async_context(owner.client(way)) for way in FIFTY]
        silent = await stack.enter_async_context(owner.client("websocket"))
        assert isinstance(silent.link, WebSocketLink)
        turns = await _streams(clients, THREADS, tmp_path)
        silent.link.fall_silent()
        owner.process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(_told(client) for client in clients))
        gate.set()
        ends = await asyncio.gather(
            *(_gone(client, turns[at % THREADS]) for at, client in enumerate(clients))
        )
        how = "interrupted" if endless else "completed"
        assert [[one["status"] for one in of] for of in ends] == [[how]] * len(clients)
        _, rest = await asyncio.wait_for(owner.process.communicate(), START_S)
        assert owner.process.returncode == 0 and b"Traceback" not in rest
        silent.link.wake()


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T16")
async def test_an_owner_on_pipes_says_goodbye_to_its_own_client_and_to_all_who_joined(
    tmp_path: Path,
) -> None:
    """A byte stream has no close code: it is told, the turn ends, the stream does, status 0."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        model.choose = lambda request: ENDLESS if request.user_texts[-1] == "go on" else None
        (home / "config.toml").write_text(provider_config(model.base_url))
        owner, link = await spawned(home, stderr=subprocess.PIPE)
        bridges = []
        try:
            clients = [WireClient(link)]
            await clients[0].initialize()
            for _ in range(JOINED):
                process, link = await spawned(home, stderr=subprocess.PIPE)
                bridges.append(process)
                clients.append(WireClient(link))
                await clients[-1].initialize()
            [turn] = await _streams(clients, 1, tmp_path)
            owner.send_signal(signal.SIGTERM)
            await asyncio.gather(*(_told(client) for client in clients))
            for client in clients:
                assert [one["status"] for one in await _gone(client, turn)] == ["interrupted"]
            for process in (owner, *bridges):
                assert process.stderr is not None
                rest = await asyncio.wait_for(process.stderr.read(), START_S)
                assert await process.wait() == 0 and b"Traceback" not in rest
        finally:
            for process in (*bridges, owner):
                await ended(process)
