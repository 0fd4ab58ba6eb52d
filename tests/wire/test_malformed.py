"""Inputs that are no proper request: each has its exact answer, and the next request works."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_inputs import (
    GOOD,
    INPUTS,
    INTERNAL,
    INVALID,
    PARAMS,
    PARSE,
    SET,
    UNKNOWN,
    Raw,
    code_of,
    meets_its_answer,
)
from tests.support.small_server import SECRET, SmallServer
from tests.support.wire import KINDS, WAIT_S, Kind, wired

FAILING = Raw(
    "handler that fails",
    b'{"id":14,' + SET + b',"params":{"threadId":"t","name":"break"}}',
    14,
    INTERNAL,
    "internal error",
)
FOLLOWING = ("thread/name/set", {"threadId": "t", "name": "n"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T14")
async def test_malformed_input_is_answered_exactly_and_the_next_request_works(
    kind: Kind, tmp_path: Path
) -> None:
    """Every input over every transport, on one connection that stays alive."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        for raw in (*INPUTS, FAILING):
            await meets_its_answer(client, raw, FOLLOWING)
        assert SECRET not in str(client.frames)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "first", [b"Content-Length: 10\r\n\r\n{}", b"content-length:1", b" Content-Type: x\r\n\r\n{}"]
)
@pytest.mark.requirement("FR-T13")
async def test_a_header_in_front_ends_the_connection_with_one_clear_error(
    kind: Kind, first: bytes, tmp_path: Path
) -> None:
    """Without a further byte; other framings are recognised, not misread."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind, initialize=False) as c:
        await c.link.send(first)
        told = await c.stray()
        assert code_of(told) == (None, PARSE)
        assert "Content-Length headers are not used here" in told["error"]["message"]
        async with asyncio.timeout(WAIT_S):
            await c.closed.wait()
        assert c.frames == [told]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_header_further_down_is_just_a_text(kind: Kind, tmp_path: Path) -> None:
    """Only the first message can tell the framing."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        await client.link.send(b"Content-Length: 10")
        assert code_of(await client.stray()) == (None, PARSE)
        assert await client.request("thread/name/set", {"threadId": "t", "name": "n"}) == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T14")
async def test_an_id_that_is_used_twice_gets_two_answers(kind: Kind, tmp_path: Path) -> None:
    """Ids belong to the client; both requests are served."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        frame = b'{"id":"twice",' + SET + b"," + GOOD + b"}"
        await client.link.send(frame)
        await client.link.send(frame)
        replies = [await client.stray(), await client.stray()]
        assert replies == [{"id": "twice", "result": {}}] * 2


@pytest.mark.parametrize("kind", ["websocket", "unix-websocket"])
@pytest.mark.requirement("FR-T14")
async def test_a_binary_frame_and_an_empty_one_are_answered(kind: Kind, tmp_path: Path) -> None:
    """A frame is a message; one that is no text cannot be parsed."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        connection: Any = client.link
        await connection.connection.send(b'{"id":1,"method":"initialize"}', text=False)
        assert code_of(await client.stray()) == (None, PARSE)
        await connection.connection.send("")
        assert code_of(await client.stray()) == (None, PARSE)
        assert await client.request("thread/name/set", {"threadId": "t", "name": "n"}) == {}


@pytest.mark.parametrize("kind", ["stdio", "relay"])
async def test_blank_lines_and_carriage_returns_mean_nothing(kind: Kind, tmp_path: Path) -> None:
    """White space between messages is no message."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        for line in (b"", b"\r", b"   "):
            await client.link.send(line)
        await client.link.send(b'{"id":"cr",' + SET + b"," + GOOD + b"}\r")
        assert await client.stray() == {"id": "cr", "result": {}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T14")
async def test_the_order_of_checks_is_decode_then_handshake(kind: Kind, tmp_path: Path) -> None:
    """Before `initialize` a mistake is told first, and a proper request is refused."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind, initialize=False) as c:
        assert code_of(await c.reply("no/such"))[1] == UNKNOWN
        assert code_of(await c.reply("thread/name/set", {}))[1] == PARAMS
        refused = await c.reply("thread/name/set", {"threadId": "t", "name": "n"})
        assert refused["error"] == {"code": INVALID, "message": "Not initialized"}
        assert server.named == []
        await c.initialize(experimental=False)
        gated = await c.reply("thread/memory/read", {"threadId": "t"})
        assert gated["error"]["message"] == (
            "thread/memory/read requires experimentalApi capability"
        )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_request_right_behind_initialize_is_served(kind: Kind, tmp_path: Path) -> None:
    """Clients send it before they have the answer."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind, initialize=False) as c:
        first, second = c.expect(0), c.expect(-1)
        await c.link.send(
            b'{"id":0,"method":"initialize","params":{"clientInfo":{"name":"","version":""}}}'
        )
        await c.link.send(b'{"id":-1,' + SET + b"," + GOOD + b',"trace":{"traceparent":"x"}}')
        async with asyncio.timeout(5):
            assert "result" in await first
            assert await second == {"id": -1, "result": {}}


@pytest.mark.requirement("P9")
async def test_an_unexpected_error_says_a_number_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its text is in no reply, and in the log only its type, place and number."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client("pair") as client:
        caplog.set_level("INFO")
        reply = await client.reply("thread/name/set", {"threadId": "t", "name": "break"})
        error = reply["error"]
        assert error["message"] == "internal error"
        assert set(error["data"]) == {"incident"}
        assert error["data"]["incident"] in caplog.text
        assert SECRET not in caplog.text
        known = await client.reply("thread/name/set", {"threadId": "t", "name": "known"})
        assert known["error"] == {"code": INVALID, "message": "known failure"}
