"""The owner is killed: while turns stream, and right behind the reply that takes a user's words."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from server.wire.sockets import connect_unix
from tests.bench.sides import free_port
from tests.support.homes import provider_config
from tests.support.installed import MEMORYD, environment
from tests.support.methods import said
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer
from tests.support.wire import WireClient
from tests.support.wire_links import LINE_BYTES_MAX, LineLink, WebSocketLink

START_S = 60.0
PLAN = Call(name="update_plan", arguments={"plan": []})
ANSWER = "one two three four five six seven eight nine ten"
TRANSPORTS = ("stdio", "websocket", "unix") * 2
OPTIONS: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None}


@dataclass(slots=True)
class Acknowledged:
    """What one client was told: it must be there whatever happens to the owner."""

    thread_id: str
    turns: dict[str, str] = field(default_factory=dict)
    """Of each turn that was answered, what its user said."""
    items: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Owner:
    """One `memoryd serve`, and where it listens."""

    home: Path
    process: asyncio.subprocess.Process
    port: int
    socket: Path

    @asynccontextmanager
    async def client(self, transport: str) -> AsyncIterator[WireClient]:
        """A client of that transport; stdio is a spawned `app-server` that joins the owner."""
        async with AsyncExitStack() as stack:
            client = WireClient(await self._link(transport, stack))
            await client.initialize()
            yield client

    async def _link(self, transport: str, stack: AsyncExitStack) -> LineLink | WebSocketLink:
        match transport:
            case "websocket":
                where = connect(f"ws://127.0.0.1:{self.port}", **OPTIONS)
                return WebSocketLink(await stack.enter_async_context(where))
            case "unix":
                where = connect("ws://localhost/", sock=connect_unix(self.socket), **OPTIONS)
                return WebSocketLink(await stack.enter_async_context(where))
        spawned, link = await _spawned(self.home)
        stack.push_async_callback(_ended, spawned)
        return link


async def _spawned(home: Path) -> tuple[asyncio.subprocess.Process, LineLink]:
    """An `app-server` on pipes: it joins the owner, or is the owner where there is none."""
    spawned = await asyncio.create_subprocess_exec(
        MEMORYD,
        "app-server",
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=LINE_BYTES_MAX,
    )
    assert spawned.stdin is not None and spawned.stdout is not None
    return spawned, LineLink(spawned.stdout, spawned.stdin)


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    async with asyncio.timeout(START_S):
        await process.wait()


@asynccontextmanager
async def _serving(home: Path, folder: Path) -> AsyncIterator[Owner]:
    """A server that listens for all of them, ended however the block ends."""
    port, socket = free_port(), folder / "clients.sock"
    process = await asyncio.create_subprocess_exec(
        MEMORYD,
        *("serve", "--ws-auth", "none", "--listen", f"ws://127.0.0.1:{port}"),
        *("--listen", f"unix://{socket}"),
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        told = ""
        async with asyncio.timeout(START_S):
            while str(socket) not in told or str(port) not in told:
                line = (await process.stderr.readline()).decode()
                assert line, told
                told += line
        yield Owner(home, process, port, socket)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def _begun(client: WireClient, cwd: Path) -> Acknowledged:
    """One turn that ended, and one that is in the middle of its answer."""
    started = await client.request("thread/start", {"cwd": str(cwd)})
    known = Acknowledged(started["thread"]["id"])
    first = await said(client, known.thread_id, "plain")
    known.turns[first["id"]] = "plain"
    words = [{"type": "text", "text": "slow"}]
    reply = await client.request("turn/start", {"threadId": known.thread_id, "input": words})
    known.turns[reply["turn"]["id"]] = "slow"
    while (await client.notification("item/agentMessage/delta"))["turnId"] != reply["turn"]["id"]:
        """Of the first turn; the words of the second are in its file before its first delta."""
    return known


def _told(client: WireClient, known: Acknowledged) -> None:
    for frame in client.frames:
        if frame.get("method") == "item/completed":
            known.items.add(frame["params"]["item"]["id"])


async def _compared(client: WireClient, known: Acknowledged) -> None:
    """Everything that was acknowledged is there, nothing seems to run, and the thread goes on."""
    resumed = await client.request("thread/resume", {"threadId": known.thread_id})
    turns = {turn["id"]: turn for turn in resumed["thread"]["turns"]}
    assert list(turns) == list(known.turns)
    assert [turn["status"] for turn in turns.values()] == ["completed", "interrupted"]
    for turn_id, text in known.turns.items():
        assert turns[turn_id]["items"][0]["content"][0]["text"] == text
    shown = {item["id"] for turn in turns.values() for item in turn["items"]}
    assert known.items <= shown
    assert (await said(client, known.thread_id, "plain"))["status"] == "completed"


@pytest.mark.timeout(600)
@pytest.mark.requirement("P10", "P11", "FR-T20")
async def test_a_killed_owner_loses_nothing_that_any_client_was_told(tmp_path: Path) -> None:
    """Six clients on three transports in mid-answer; the next owner has it all."""
    home = tmp_path / "home"
    home.mkdir()
    gate = asyncio.Event()

    def choose(request: Recorded) -> Reply:
        slow = request.user_texts[-1] == "slow" and not gate.is_set()
        return Reply(text=ANSWER, gate=gate) if slow else Reply(text=ANSWER)

    async with ResponsesServer() as model:
        model.choose = choose
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        acknowledged: list[Acknowledged] = []
        async with _serving(home, tmp_path) as owner, AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(owner.client(transport)) for transport in TRANSPORTS
            ]
            acknowledged = await asyncio.gather(*(_begun(one, tmp_path) for one in clients))
            owner.process.send_signal(signal.SIGKILL)
            for client, known in zip(clients, acknowledged, strict=True):
                async with asyncio.timeout(START_S):
                    await client.closed.wait()
                _told(client, known)
        gate.set()
        async with _serving(home, tmp_path) as owner:
            for transport, known in zip(reversed(TRANSPORTS), acknowledged, strict=True):
                async with owner.client(transport) as client:
                    await _compared(client, known)


@asynccontextmanager
async def _owned(
    transport: str, home: Path, folder: Path
) -> AsyncIterator[tuple[asyncio.subprocess.Process, WireClient]]:
    """An owner and its one client; over stdio the spawned process is the owner itself."""
    if transport == "websocket":
        async with _serving(home, folder) as owner, owner.client(transport) as client:
            yield owner.process, client
        return
    process, link = await _spawned(home)
    try:
        client = WireClient(link)
        await client.initialize()
        yield process, client
    finally:
        await _ended(process)


async def _start(client: WireClient, thread_id: str, text: str) -> None:
    words = [{"type": "text", "text": text}]
    await client.request("turn/start", {"threadId": thread_id, "input": words})


async def _take_words(client: WireClient, model: ResponsesServer, cwd: Path) -> dict[str, str]:
    """Have words taken in every way that there is, the last of them a moment ago; by thread."""

    async def thread() -> str:
        return str((await client.request("thread/start", {"cwd": str(cwd)}))["thread"]["id"])

    joined, behind, injected, new = [await thread() for _ in range(4)]
    asked = len(model.requests)
    # An answer with a call is not cut, so what joins its turn waits for an end that never comes.
    await _start(client, joined, "call")
    while (await client.notification("item/completed"))["item"]["type"] != "reasoning":
        """The call is right behind it."""
    await _start(client, joined, "these words joined")
    await said(client, behind, "plain")
    await client.request("thread/compact/start", {"threadId": behind})
    await model.wait_for_requests(asked + 3, seconds_max=START_S)
    await _start(client, behind, "these words are behind")
    content = [{"type": "input_text", "text": "these words were injected"}]
    item = {"type": "message", "role": "user", "content": content}
    await client.request("thread/inject_items", {"threadId": injected, "items": [item]})
    await _start(client, new, "these words are new")
    return {
        joined: "these words joined",
        behind: "these words are behind",
        injected: "these words were injected",
        new: "these words are new",
    }


@pytest.mark.timeout(300)
@pytest.mark.requirement("P11")
@pytest.mark.parametrize("transport", ["stdio", "websocket"])
async def test_words_that_were_acknowledged_outlive_a_kill_right_behind_the_reply(
    tmp_path: Path, transport: str
) -> None:
    """In a new thread, in a turn that goes on, behind a compaction, and put in by a program."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:

        def choose(request: Recorded) -> Reply | None:
            last = request.user_texts[-1]
            if last == "call":
                return Reply(reasoning="why", calls=(PLAN,), hangs=True)
            return Reply(text="notes", hangs=True) if "colleague" in request.text else None

        model.choose = choose
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        async with _owned(transport, home, tmp_path) as (process, client):
            taken = await _take_words(client, model, tmp_path)
            process.send_signal(signal.SIGKILL)
        model.choose = lambda _: None
        async with _owned(transport, home, tmp_path) as (_, client):
            for thread_id, text in taken.items():
                shown = await client.request("thread/resume", {"threadId": thread_id})
                if "injected" not in text:
                    last = shown["thread"]["turns"][-1]
                    assert last["status"] == "interrupted"
                    assert last["items"][-1]["content"][0]["text"] == text
                await said(client, thread_id, "and now")
                assert [one for one in model.requests[-1].user_texts if one == text] == [text]
                page = await client.request("thread/items/list", {"threadId": thread_id})
                texts = [
                    row["item"]["content"][0]["text"]
                    for row in page["data"]
                    if row["item"]["type"] == "userMessage"
                ]
                assert texts.count(text) == ("injected" not in text)
