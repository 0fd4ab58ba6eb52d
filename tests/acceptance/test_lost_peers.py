"""Who is gone is noticed: killed, cut off, or silent; what was held for it is let go in time.

The server is a process of its own here, over real sockets and pipes. Ten seconds after a death or
after the last packet, thirty for a client that runs but answers nothing, nothing is left.
"""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from state.home import Home
from state.owner import OwnerLock
from tests.support.homes import provider_config
from tests.support.lost_peers import drop_packets, onlooker, parented, until_load
from tests.support.methods import said
from tests.support.owner_process import WAYS, Owner, Way, owner_serving, spawned
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, calls
from tests.support.wire import WireClient
from tests.support.wire_links import WebSocketLink

GONE_S = 10.0
SILENT_S = 30.0
SOON_S = 30.0
APPROVAL = "item/commandExecution/requestApproval"


@dataclass(frozen=True, slots=True)
class _Scene:
    """A home whose model does what `_work` of a test made it do."""

    home: Path
    model: ResponsesServer
    cwd: Path

    async def thread(self, client: WireClient, **given: Any) -> str:
        """A new one."""
        result = await client.request("thread/start", {"cwd": str(self.cwd), **given})
        return str(result["thread"]["id"])

    async def turn(self, client: WireClient, thread_id: str) -> None:
        """One that begins."""
        words = [{"type": "text", "text": "I prefer small commits, always; please remember."}]
        await client.request("turn/start", {"threadId": thread_id, "input": words})


@asynccontextmanager
async def _scene(folder: Path) -> AsyncIterator[_Scene]:
    home = folder / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        yield _Scene(home, model, folder)


async def _calls_a_model(scene: _Scene, client: WireClient) -> None:
    scene.model.script(Reply(text="slow", hangs=True))
    await scene.turn(client, await scene.thread(client))
    await scene.model.wait_for_requests(1, seconds_max=SOON_S)


async def _asks_a_person(scene: _Scene, client: WireClient) -> None:
    wanted = {"cmd": "touch a && echo ran", "sandbox_permissions": "require_escalated"}
    scene.model.script(calls(Call(name="exec_command", arguments=wanted)))
    thread_id = await scene.thread(client, sandbox="read-only", approvalPolicy="on-request")
    await scene.turn(client, thread_id)
    await client.server_request(APPROVAL)


async def _runs_a_command(scene: _Scene, client: WireClient) -> None:
    scene.model.script(calls(Call(name="exec_command", arguments={"cmd": "exec sleep 1000"})))
    thread_id = await scene.thread(client, sandbox="danger-full-access", approvalPolicy="never")
    await scene.turn(client, thread_id)
    async with asyncio.timeout(SOON_S):
        while not _sleepers():  # noqa: ASYNC110  what is waited for announces nothing
            await asyncio.sleep(0.05)


async def _learns(scene: _Scene, client: WireClient) -> None:
    def choose(request: Recorded) -> Reply | None:
        return Reply(text="", hangs=True) if request.structured else None

    scene.model.choose = choose
    thread_id = await scene.thread(client)
    await said(client, thread_id, "I prefer small commits, always; please remember.")
    await client.request("memory/consolidate/start", {"threadId": thread_id, "wait": False})
    async with asyncio.timeout(SOON_S):
        while _leases(scene.home) == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await scene.model.wait_for_requests(2, seconds_max=SOON_S)


async def _waits_for_the_disk(scene: _Scene, client: WireClient) -> None:
    thread_id = await scene.thread(client)
    await said(client, thread_id, "hello")
    lock = sqlite3.connect(scene.home / "state.sqlite", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")  # held until this test is over
    _LOCKS.append(lock)
    client.expect("waits")
    given = {"threadId": thread_id, "name": "n"}
    asked = {"id": "waits", "method": "thread/name/set", "params": given}
    await client.link.send(orjson.dumps(asked))
    await client.request("thread/loaded/list", {})


_LOCKS: list[sqlite3.Connection] = []
Work = Callable[[_Scene, WireClient], Awaitable[None]]
WORK: dict[str, Work] = {
    "a model call": _calls_a_model,
    "a question": _asks_a_person,
    "a command": _runs_a_command,
    "learning": _learns,
    "a locked database": _waits_for_the_disk,
}


def _sleepers() -> list[psutil.Process]:
    return [one for one in psutil.process_iter() if _command(one) == ["sleep", "1000"]]


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _leases(home: Path) -> int:
    with sqlite3.connect(home / "state.sqlite") as database:
        rows = database.execute("select count(*) from jobs where status = 'running'")
        return int(rows.fetchone()[0])


@pytest.fixture(autouse=True)
def _unlocked() -> Any:
    yield
    while _LOCKS:
        _LOCKS.pop().close()


@pytest.mark.requirement("FR-T17")
@pytest.mark.parametrize("work", WORK)
async def test_a_server_on_pipes_goes_with_a_parent_that_is_killed(
    work: str, tmp_path: Path
) -> None:
    """Whatever it is doing: with its children, its lock of the home and its leases."""
    async with _scene(tmp_path) as scene, parented(scene.home) as owner:
        await WORK[work](scene, owner.client)
        server = psutil.Process(owner.pid)
        family = [server, *server.children(recursive=True)]
        owner.parent.kill()
        _, left = await asyncio.to_thread(psutil.wait_procs, family, timeout=GONE_S)
        assert left == []
        lock = OwnerLock(Home(scene.home))
        assert lock.try_acquire()
        lock.release()
        assert _leases(scene.home) == 0


@pytest.mark.requirement("FR-T17")
@pytest.mark.parametrize("kind", [one for one in WAYS if one != "stdio"])
@pytest.mark.parametrize("work", ["a model call", "a question"])
async def test_a_client_that_is_killed_holds_nothing_at_the_server(
    kind: Way, work: str, tmp_path: Path
) -> None:
    """Its subscriptions are gone; a question stays for whoever comes, who alone decides it."""
    async with (
        _scene(tmp_path) as scene,
        owner_serving(scene.home, tmp_path) as owner,
        onlooker(scene.home) as looking,
        _victim(kind, owner) as (client, kill),
    ):
        await WORK[work](scene, client)
        await until_load(looking, lambda load: load["subscriptions"] == 1)
        await kill()
        async with asyncio.timeout(GONE_S):
            await until_load(looking, _is_free)
        if work == "a question":
            [thread_id] = (await looking.request("thread/loaded/list", {}))["data"]
            await looking.request("thread/resume", {"threadId": thread_id})
            asked = await looking.server_request(APPROVAL)
            # A refusal decides only where nobody else is waited for.
            refusal = {"id": asked["id"], "error": {"code": -32601, "message": "not here"}}
            await looking.link.send(orjson.dumps(refusal))
            assert (await looking.notification("turn/completed"))["threadId"] == thread_id


def _is_free(load: dict[str, Any]) -> bool:
    return bool((load["peers"], load["subscriptions"]) == (1, 0))


@asynccontextmanager
async def _victim(
    kind: Way, owner: Owner
) -> AsyncIterator[tuple[WireClient, Callable[[], Awaitable[None]]]]:
    """A client and what ends it as a kill would; behind a relay the kill is of its parent."""
    if kind == "relay":
        async with parented(owner.home) as bridge:
            relay = psutil.Process(bridge.pid)

            async def kill_parent() -> None:
                bridge.parent.kill()
                _, left = await asyncio.to_thread(psutil.wait_procs, [relay], timeout=GONE_S)
                assert left == []

            yield bridge.client, kill_parent
        return
    async with owner.client(kind) as client:
        link = client.link
        assert isinstance(link, WebSocketLink)

        async def kill_socket() -> None:
            link.connection.transport.abort()

        yield client, kill_socket


@pytest.mark.requirement("FR-T17")
async def test_behind_a_relay_the_owners_death_is_the_clients_end(tmp_path: Path) -> None:
    """The client's stream ends, and so does the process that carried it."""
    async with _scene(tmp_path) as scene, owner_serving(scene.home, tmp_path) as owner:
        relay, link = await spawned(scene.home)
        client = WireClient(link)
        await client.initialize()
        await _calls_a_model(scene, client)
        owner.process.kill()
        async with asyncio.timeout(GONE_S):
            await client.closed.wait()
            assert await relay.wait() == 0


@pytest.mark.requirement("FR-T17")
@pytest.mark.skipif(sys.platform != "linux", reason="drops packets by a filter of Linux")
@pytest.mark.parametrize("streams", [False, True], ids=["idle", "streaming"])
async def test_a_client_whose_packets_are_dropped_is_freed(streams: bool, tmp_path: Path) -> None:
    """Its machine confirms nothing any more, whether or not something is on its way to it."""
    async with (
        _scene(tmp_path) as scene,
        owner_serving(scene.home, tmp_path) as owner,
        onlooker(scene.home) as looking,
        owner.client("websocket") as client,
    ):
        thread_id = await scene.thread(client)
        if streams:
            scene.model.script(Reply(text="some words " * 5_000, tokens_per_s=50))
            await scene.turn(client, thread_id)
            await client.notification("item/agentMessage/delta")
        await until_load(looking, lambda load: load["subscriptions"] == 1)
        assert isinstance(client.link, WebSocketLink)
        drop_packets(client.link.connection.transport.get_extra_info("socket"))
        async with asyncio.timeout(GONE_S):
            await until_load(looking, _is_free)
        client.link.connection.transport.abort()  # its goodbye would be waited for


@pytest.mark.requirement("FR-T17")
async def test_a_client_that_runs_and_answers_nothing_is_freed(tmp_path: Path) -> None:
    """Its kernel takes what is sent; on both kinds of socket, under the bounds of the product."""
    async with (
        _scene(tmp_path) as scene,
        owner_serving(scene.home, tmp_path) as owner,
        onlooker(scene.home) as looking,
        owner.client("websocket") as one,
        owner.client("unix") as other,
    ):
        for client in (one, other):
            await scene.thread(client)
        await until_load(looking, lambda load: load["subscriptions"] == 2)
        for client in (one, other):
            assert isinstance(client.link, WebSocketLink)
            client.link.fall_silent()
        async with asyncio.timeout(SILENT_S):
            await until_load(looking, _is_free)
        for client in (one, other):
            assert isinstance(client.link, WebSocketLink)
            client.link.wake()
