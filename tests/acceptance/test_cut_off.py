"""Clients of the installed server that are cut off without a word, on every transport it has.

What a turn did meanwhile, what it asked and which server it is: all of it is there for who comes
back, over whatever transport.
"""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from server.cli.client import Client, ConnectionLost, StreamLink, WebSocketLink
from tests.support.homes import provider_config
from tests.support.methods import started
from tests.support.owner_process import (
    JOINING,
    START_S,
    Owner,
    Way,
    ended,
    owner_serving,
    spawned,
)
from tests.support.responses_server import Call, Reply, ResponsesServer, calls, says
from tests.support.wire import WireClient

FIRST = "one two three four five six seven eight nine ten"
SECOND = " ".join(f"word {number}" for number in range(40))
PLAN = Call(name="update_plan", arguments={"plan": []})
COMMAND = "item/commandExecution/requestApproval"
CALLS = 1_000


def _elsewhere(transport: Way) -> Way:
    """The next of them."""
    return JOINING[(JOINING.index(transport) + 1) % len(JOINING)]


async def _begin(client: WireClient, thread: str, text: str = "go") -> None:
    words = [{"type": "text", "text": text}]
    await client.request("turn/start", {"threadId": thread, "input": words})


async def _patiently(client: WireClient, method: str) -> dict[str, Any]:
    """A notification of a server that may still be loading its client library."""
    async with asyncio.timeout(START_S):
        while not client.notifications(method):
            await client.one_more_than(len(client.frames))
    return await client.notification(method)


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T1")
async def test_a_turn_goes_on_without_a_client_and_is_shown_whole_to_who_comes(
    tmp_path: Path,
) -> None:
    """An item ends and another begins meanwhile; snapshot and stream make each of them, once."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        async with owner_serving(home, tmp_path) as owner:
            for transport in JOINING:
                asked = len(model.requests)
                gates = asyncio.Event(), asyncio.Event()
                model.script(Reply(text=FIRST, calls=(PLAN,), gate=gates[0]))
                # It streams while the client resumes, and cannot end before that.
                model.script(Reply(text=SECOND, gate=gates[1], tokens_per_s=40))
                async with owner.link(transport) as link:
                    client = WireClient(link)
                    await client.initialize()
                    thread = await started(client, cwd=str(tmp_path))
                    await _begin(client, thread)
                    await _patiently(client, "item/agentMessage/delta")
                    link.cut()
                    await asyncio.wait_for(client.closed.wait(), START_S)
                gates[0].set()
                await model.wait_for_requests(asked + 2, seconds_max=START_S)
                async with owner.client(_elsewhere(transport)) as client:
                    await _followed(client, thread, gates[1])
                    await client.close()


async def _followed(client: WireClient, thread: str, gate: asyncio.Event) -> None:
    """Resume, let the turn end, and put each item together."""
    resumed = await client.request("thread/resume", {"threadId": thread})
    (turn,) = resumed["thread"]["turns"]
    assert turn["status"] == "inProgress"
    shown = {item["id"]: item for item in turn["items"]}
    texts = {id_: item["text"] for id_, item in shown.items() if item["type"] == "agentMessage"}
    assert FIRST in texts.values()
    gate.set()
    assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
    for frame in client.notifications():
        params = frame["params"]
        match frame["method"]:
            case "item/started":
                assert params["item"]["id"] not in shown, "it was shown as begun before"
                texts[params["item"]["id"]] = ""
            case "item/agentMessage/delta":
                texts[params["itemId"]] += params["delta"]
            case "item/completed":
                assert params["item"]["text"] == SECOND == texts[params["item"]["id"]]
    assert list(texts.values()) == [FIRST, SECOND]
    assert len(client.notifications("item/completed")) == 1
    page = await client.request("thread/items/list", {"threadId": thread})
    ids = [row["item"]["id"] for row in page["data"]]
    assert len(ids) == len(set(ids)) and set(texts) <= set(ids)


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T5")
async def test_a_client_can_tell_a_broken_link_from_a_server_that_was_restarted(
    tmp_path: Path,
) -> None:
    """The same process has one id and one start time on all transports, the next one others."""
    home = tmp_path / "home"
    home.mkdir()
    lives: list[dict[str, Any]] = []
    for _ in range(2):
        async with owner_serving(home, tmp_path) as owner:
            told = [await _instance(owner, transport) for transport in JOINING * 2]
        assert all(one == told[0] for one in told)
        lives.append(told[0])
    for _ in range(2):  # and without a server of its own the spawned process is a new one each time
        process, link = await spawned(home)
        lives.append((await WireClient(link).initialize())["memoryd"])
        await ended(process)
    assert len({one["instanceId"] for one in lives}) == len(lives)
    starts = [one["startedAtMs"] for one in lives]
    assert starts == sorted(set(starts)) and starts[0] > 0


async def _instance(owner: Owner, transport: Way) -> dict[str, Any]:
    async with owner.link(transport) as link:
        client = WireClient(link)
        told: dict[str, Any] = (await client.initialize())["memoryd"]
        link.cut()
        await asyncio.wait_for(client.closed.wait(), START_S)
        return told


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T6")
async def test_all_calls_of_our_own_client_end_when_the_server_is_killed(tmp_path: Path) -> None:
    """A thousand on each link, which a stopped process has not read, and who reads the stream."""
    home = tmp_path / "home"
    home.mkdir()
    async with owner_serving(home, tmp_path) as owner:
        stream = await StreamLink.unix(home / "run" / "relay.sock")
        assert stream is not None
        clients = [
            Client(stream),
            Client(await WebSocketLink.connect(f"ws://127.0.0.1:{owner.port}", None)),
        ]
        for client in clients:
            await client.open("0")
        owner.process.send_signal(signal.SIGSTOP)
        waiting: list[asyncio.Future[Any]] = []
        for client in clients:
            params = {"threadId": "x" * 1_000}
            waiting += [
                asyncio.ensure_future(client.request("thread/read", params)) for _ in range(CALLS)
            ]
            waiting.append(asyncio.ensure_future(anext(client.notifications())))
        await asyncio.wait(waiting, timeout=0)
        os.kill(owner.process.pid, signal.SIGKILL)
        async with asyncio.timeout(START_S):
            results = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(one) for one in results} == {ConnectionLost}
        for client in clients:
            assert client.pending == 0
            await client.close()


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T7")
async def test_what_was_asked_outlives_who_was_asked_and_is_decided_once(tmp_path: Path) -> None:
    """Two come in place of the one that was cut off: same id, one answer, one that is late."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    async with ResponsesServer() as model:
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        async with owner_serving(home, tmp_path) as owner:
            for transport in JOINING:
                made = project / transport
                wanted = {"cmd": f"touch {made}", "sandbox_permissions": "require_escalated"}
                model.script(calls(Call(name="exec_command", arguments=wanted)), says("done"))
                async with owner.link(transport) as link:
                    client = WireClient(link)
                    await client.initialize()
                    given = {"cwd": str(project), "sandbox": "read-only"}
                    thread = await started(client, approvalPolicy="on-request", **given)
                    await _begin(client, thread)
                    await _patiently(client, "thread/status/changed")
                    first = await client.server_request(COMMAND)
                    link.cut()
                    await asyncio.wait_for(client.closed.wait(), START_S)
                await _decided(owner, transport, thread, first)
                assert made.exists()


async def _decided(owner: Owner, transport: Way, thread: str, first: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        pair = [
            await stack.enter_async_context(owner.client(one))
            for one in (transport, _elsewhere(transport))
        ]
        for client in pair:
            await client.request("thread/resume", {"threadId": thread})
            assert await client.server_request(COMMAND) == first
        await pair[0].answer(first["id"], {"decision": "accept"})
        for client in pair:
            resolved = await client.notification("serverRequest/resolved")
            assert resolved == {"threadId": thread, "requestId": first["id"]}
        await pair[1].answer(first["id"], {"decision": "decline"})
        late = await pair[1].notification("warning")
        assert late["threadId"] == thread and "came too late" in late["message"]
        for client in pair:
            ended_ = (await client.notification("turn/completed"))["turn"]
            assert ended_["status"] == "completed"
            assert client.notifications("warning") == []
            await client.close()
