"""The client that our commands are made of, over every link it has: nothing waits for the lost."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from websockets.asyncio.server import ServerConnection, serve

from server.cli.client import Client, ConnectionLost, Link, RequestRefused, StreamLink
from server.cli.client import WebSocketLink as OurWebSocketLink
from server.cli.talk import say
from server.wire.pair import make_pair
from tests.support.homes import provider_config, serving
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import WAIT_S

Kind = Literal["stream", "websocket", "pair"]
KINDS: tuple[Kind, ...] = ("stream", "websocket", "pair")
CALLS = 1_000
BROKEN = (
    b"{not json",
    b"[1, 2]",
    b"5",
    b'"text"',
    b"null",
    b"{}",
    b'{"id": 1}',
    b'{"id": 1, "error": 5}',
    b'{"id": [1], "result": {}}',
    b'{"id": 1.5, "result": {}}',
    b'{"method": 7}',
    b"[" * 100_000,
)
COMMAND = {"cmd": "touch a", "sandbox_permissions": "require_escalated"}


@dataclass(slots=True)
class _Server:
    """The other end, told what to do; `received` is all that came."""

    receive: Callable[[], Awaitable[bytes | str | None]]
    send: Callable[[bytes], Awaitable[None]]
    close: Callable[[], Awaitable[None]]
    cut: Callable[[], None]
    received: list[dict[str, Any]] = field(default_factory=list)

    async def take(self, count: int) -> None:
        """Read until so many messages have come."""
        async with asyncio.timeout(WAIT_S):
            while len(self.received) < count:
                message = await self.receive()
                assert message is not None
                self.received.append(json.loads(message))

    async def answer(self, number: int) -> None:
        """Reply to that call."""
        await self.send(json.dumps({"id": number, "result": {"n": number}}).encode())


@asynccontextmanager
async def _linked(kind: Kind, folder: Path) -> AsyncIterator[tuple[Link, _Server]]:
    """A link of the product and its other end, which reads nothing by itself."""
    match kind:
        case "stream":
            async with _stream(folder / "s.sock") as made:
                yield made
        case "websocket":
            async with _websocket() as made:
                yield made
        case "pair":
            transport, client = make_pair()

            async def send(data: bytes) -> None:
                await transport.send([data])

            async def close() -> None:
                await transport.close(1001, "")

            def cut() -> None:
                transport._over.set()

            async def receive() -> bytes | None:
                message = await transport.receive()
                assert message is None or isinstance(message, bytes)
                return message

            yield client, _Server(receive, send, close, cut)


@asynccontextmanager
async def _stream(path: Path) -> AsyncIterator[tuple[Link, _Server]]:
    accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    listener = await asyncio.start_unix_server(
        lambda reader, writer: accepted.put_nowait((reader, writer)), path, limit=1 << 20
    )
    link = await StreamLink.unix(path)
    assert link is not None
    reader, writer = await accepted.get()

    async def receive() -> bytes | None:
        return await reader.readline() or None

    async def send(data: bytes) -> None:
        writer.write(data + b"\n")
        await writer.drain()

    async def close() -> None:
        writer.write_eof()

    try:
        yield link, _Server(receive, send, close, writer.transport.abort)
        assert accepted.empty(), "it came a second time"
    finally:
        writer.transport.abort()
        listener.close()


@asynccontextmanager
async def _websocket() -> AsyncIterator[tuple[Link, _Server]]:
    accepted: asyncio.Queue[ServerConnection] = asyncio.Queue()
    over = asyncio.Event()

    async def accept(connection: ServerConnection) -> None:
        accepted.put_nowait(connection)
        await over.wait()

    async with serve(accept, "127.0.0.1", 0, max_size=None, close_timeout=0.1) as listener:
        port = listener.sockets[0].getsockname()[1]
        link = await OurWebSocketLink.connect(f"ws://127.0.0.1:{port}", None)
        connection = await accepted.get()

        async def send(data: bytes) -> None:
            await connection.send(data, text=True)

        try:
            yield link, _Server(connection.recv, send, connection.close, connection.transport.abort)
            assert accepted.empty(), "it came a second time"
        finally:
            over.set()
            connection.transport.abort()


async def _lost(client: Client, waiting: list[asyncio.Future[Any]]) -> None:
    """All that waits ends, what comes later too, and a close raises nothing and leaves nothing."""
    async with asyncio.timeout(WAIT_S):
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(result) for result in results} == {ConnectionLost}
    assert client.pending == 0
    async with asyncio.timeout(WAIT_S / 2):  # a keep-alive that gives up must not be what ends it
        with pytest.raises(ConnectionLost):
            await client.request("later")
        with pytest.raises(ConnectionLost):
            await anext(client.notifications())
        await client.close()
        await client.close()


def _waiting(client: Client, count: int, **params: Any) -> list[asyncio.Future[Any]]:
    """So many calls, and two that read the stream of notifications."""
    reading = [asyncio.ensure_future(anext(client.notifications())) for _ in range(2)]
    return [*(asyncio.ensure_future(client.request("x", params)) for _ in range(count)), *reading]


@pytest.fixture(autouse=True)
def _nothing_is_left_unsaid(caplog: pytest.LogCaptureFixture) -> Any:
    """No task ends with an error that nobody asks for."""
    yield
    gc.collect()
    assert [one.getMessage() for one in caplog.records if one.name == "asyncio"] == []


@pytest.mark.requirement("FR-T6")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["closed", "cut"])
async def test_calls_that_were_accepted_end_when_the_connection_does(
    how: str, kind: Kind, tmp_path: Path
) -> None:
    """In good order or at once; each call was sent once, and no second connection was tried."""
    async with _linked(kind, tmp_path) as (link, server):
        client = Client(link)
        waiting = _waiting(client, CALLS)
        await server.take(CALLS)
        await server.answer(1)
        assert await waiting.pop(0) == {"n": 1}
        if how == "closed":
            await server.close()
        else:
            server.cut()
        await _lost(client, waiting)
        assert [one["id"] for one in server.received] == list(range(1, CALLS + 1))


@pytest.mark.requirement("FR-T6")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", BROKEN, ids=lambda frame: frame[:20].decode())
async def test_a_broken_frame_ends_all_that_waits(frame: bytes, kind: Kind, tmp_path: Path) -> None:
    """Also the call whose answer it might have been."""
    async with _linked(kind, tmp_path) as (link, server):
        client = Client(link)
        waiting = _waiting(client, 10)
        await server.take(10)
        await server.send(frame)
        await _lost(client, waiting)


@pytest.mark.requirement("FR-T6")
@pytest.mark.parametrize("kind", KINDS)
async def test_calls_that_cannot_even_be_sent_end_too(kind: Kind, tmp_path: Path) -> None:
    """The server reads nothing and breaks off, or says nonsense, as only another process does."""
    for frame in (None,) if kind == "pair" else (None, b"{not json"):
        folder = tmp_path / str(frame is None)
        folder.mkdir()
        async with _linked(kind, folder) as (link, server):
            client = Client(link)
            waiting = _waiting(client, CALLS, text="x" * 20_000)
            await asyncio.wait(waiting, timeout=0)
            if frame is None:
                server.cut()
            else:
                await server.send(frame)
            await _lost(client, waiting)


@pytest.mark.requirement("FR-T6")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_thousand_cancelled_calls_leave_nothing(kind: Kind, tmp_path: Path) -> None:
    """Their answers, which come all the same, are nobody's; the connection serves the next."""
    async with _linked(kind, tmp_path) as (link, server):
        client = Client(link)
        waiting = [asyncio.ensure_future(client.request("x")) for _ in range(CALLS)]
        await server.take(CALLS)
        assert client.pending == CALLS
        for one in waiting:
            one.cancel()
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait(waiting)
        assert all(one.cancelled() for one in waiting) and client.pending == 0
        following = asyncio.ensure_future(client.request("x"))
        await server.take(CALLS + 1)
        for number in range(1, CALLS + 2):
            await server.answer(number)
        assert await asyncio.wait_for(following, WAIT_S) == {"n": CALLS + 1}
        await client.close()


@pytest.mark.requirement("FR-T6")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_close_of_ours_ends_what_waits_and_raises_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    """Also calls that could not be sent, since the server, as only another process does, hangs."""
    async with _linked(kind, tmp_path) as (link, _):
        client = Client(link)
        waiting = _waiting(client, 20 if kind == "pair" else CALLS, text="x" * 20_000)
        await asyncio.wait(waiting, timeout=0)
        async with asyncio.timeout(WAIT_S):
            await client.close()
        await _lost(client, waiting)


@pytest.mark.requirement("FR-T8")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_question_of_the_server_is_refused_at_once(kind: Kind, tmp_path: Path) -> None:
    """A command of ours answers none, so the turn must not wait for it; its own calls go on."""
    async with _linked(kind, tmp_path) as (link, server):
        client = Client(link)
        await server.send(b'{"id": "q1", "method": "no/such/question", "params": {}}')
        await server.take(1)
        [refusal] = server.received
        assert refusal["id"] == "q1" and refusal["error"]["code"] == -32601
        calling = asyncio.ensure_future(client.request("x"))
        await server.take(2)
        await server.answer(1)
        assert await asyncio.wait_for(calling, WAIT_S) == {"n": 1}
        await client.close()


@pytest.mark.requirement("FR-T8")
async def test_a_turn_of_our_own_client_that_asks_goes_on(tmp_path: Path) -> None:
    """As in `memoryd chat`: nobody can say yes there, so the command does not run."""
    async with ResponsesServer() as model:
        model.script(calls(Call(name="exec_command", arguments=COMMAND)), says("done"))
        async with serving(tmp_path, config=provider_config(model.base_url)) as home:
            client = Client(home.server.attach())
            await client.open("0")
            given = {"cwd": str(tmp_path), "approvalPolicy": "on-request", "sandbox": "read-only"}
            thread = (await client.request("thread/start", given))["thread"]["id"]
            notices: list[str] = []
            async with asyncio.timeout(WAIT_S):
                spoken = await say(
                    client, thread, "go", on_text=lambda _: None, on_notice=notices.append
                )
            await client.close()
        assert spoken.text == "done" and not (tmp_path / "a").exists()
        output = model.requests[-1].body["input"][-1]["output"]
        assert "answers none" in output
        assert [one for one in notices if "answers none" in one] != []


async def test_a_refusal_names_the_call_and_leaves_the_others(tmp_path: Path) -> None:
    """An error that is nobody's ends all, since it may be anybody's."""
    async with _linked("stream", tmp_path) as (link, server):
        client = Client(link)
        waiting = [asyncio.ensure_future(client.request(f"m{n}")) for n in range(3)]
        await server.take(3)
        await server.send(b'{"id": 1, "error": {"code": 5, "message": "no"}}')
        with pytest.raises(RequestRefused, match="m0: no"):
            await asyncio.wait_for(waiting[0], WAIT_S)
        assert client.pending == 2
        await server.send(b'{"id": null, "error": {"code": -32700, "message": "not JSON"}}')
        for one in waiting[1:]:
            with pytest.raises(RequestRefused, match="not JSON"):
                await asyncio.wait_for(one, WAIT_S)
        assert client.pending == 0
        await client.close()
