"""Inputs that are no proper request: each has its exact answer, and the next request works."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_server import SECRET, SmallServer
from tests.support.wire import KINDS, Kind, WireClient, wired

PARSE, INVALID, UNKNOWN, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


@dataclass(frozen=True)
class Raw:
    """One input: its bytes, the id of its answer and the code; no code means no answer at all."""

    name: str
    frame: bytes
    id: int | str | None = None
    code: int | None = None
    sentence: str = ""


SET = b'"method":"thread/name/set"'
GOOD = b'"params":{"threadId":"t","name":"n"}'
INPUTS = [
    Raw("bad json", b'{"id":1,"method":', None, PARSE),
    Raw("a word", b"hello", None, PARSE),
    Raw("one quote", b'"', None, PARSE),
    Raw("empty array", b"[]", None, INVALID, "batches are not supported"),
    Raw("batch", b'[{"id":1,"method":"initialize"}]', None, INVALID, "batches"),
    Raw("notification in a batch", b'[{"method":"initialized"}]', None, INVALID, "batches"),
    Raw("number", b"42", None, INVALID),
    Raw("string", b'"text"', None, INVALID),
    Raw("null", b"null", None, INVALID),
    Raw("true", b"true", None, INVALID),
    Raw("empty object", b"{}", None, INVALID),
    Raw("id alone", b'{"id":7}', 7, INVALID, "missing field `method`"),
    Raw("missing method", b'{"id":"a","params":{}}', "a", INVALID, "missing field `method`"),
    Raw("method is a number", b'{"id":3,"method":5}', 3, INVALID),
    Raw("null id", b'{"id":null,' + SET + b"," + GOOD + b"}", None, INVALID),
    Raw("fractional id", b'{"id":1.5,' + SET + b"," + GOOD + b"}", None, INVALID),
    Raw("bool id", b'{"id":true,' + SET + b"," + GOOD + b"}", None, INVALID),
    Raw("object id", b'{"id":{},' + SET + b"," + GOOD + b"}", None, INVALID),
    Raw("id above 64 bit", b'{"id":99999999999999999999,"method":"x"}', None, INVALID),
    Raw("params as string", b'{"id":4,' + SET + b',"params":"x"}', 4, PARAMS),
    Raw("params as array", b'{"id":5,' + SET + b',"params":[1]}', 5, PARAMS),
    Raw("params as number", b'{"id":6,' + SET + b',"params":1}', 6, PARAMS),
    Raw("no params", b'{"id":8,' + SET + b"}", 8, PARAMS, "missing field `params`"),
    Raw("null params", b'{"id":9,' + SET + b',"params":null}', 9, PARAMS),
    Raw(
        "missing field",
        b'{"id":10,' + SET + b',"params":{"name":"n"}}',
        10,
        PARAMS,
        "missing field `threadId`",
    ),
    Raw("wrong type", b'{"id":11,' + SET + b',"params":{"threadId":5,"name":"n"}}', 11, PARAMS),
    Raw("unknown method", b'{"id":12,"method":"no/such"}', 12, UNKNOWN, "unknown variant"),
    Raw(
        "second initialize",
        b'{"id":13,"method":"initialize","params":{"clientInfo":{"name":"a","version":"1"}}}',
        13,
        INVALID,
        "Already initialized",
    ),
    Raw(
        "handler that fails",
        b'{"id":14,' + SET + b',"params":{"threadId":"t","name":"break"}}',
        14,
        INTERNAL,
        "internal error",
    ),
    Raw("unknown notification", b'{"method":"no/such"}'),
    Raw("notification with bad params", b'{"method":"initialized","params":[1]}'),
    Raw("failing notification", b"{" + SET + b',"params":{"threadId":"t","name":"break"}}'),
    Raw("answer to no question", b'{"id":123,"result":{}}'),
    Raw("error to no question", b'{"id":123,"error":{"code":1,"message":"m"}}'),
    Raw(
        "deep nesting",
        b'{"id":15,"method":"x","params":' + b"[" * 5000 + b"]" * 5000 + b"}",
        None,
        PARSE,
    ),
    Raw("lone surrogate", b'{"id":16,"method":"\\ud800"}', 16, UNKNOWN),
    Raw("not a number", b'{"id":NaN,"method":"x"}', None, PARSE),
    Raw("invalid utf-8", b'{"id":17,"method":"\xff\xfe"}', None, PARSE),
    Raw("byte order mark", b'\xef\xbb\xbf{"id":18,"method":"x"}', 18, UNKNOWN),
    Raw("trailing garbage", b'{"id":19,"method":"x"} trailing', None, PARSE),
    Raw("two objects", b'{"id":20,"method":"x"}{"id":21,"method":"x"}', None, PARSE),
    Raw("single quotes", b"{'id':22,'method':'x'}", None, PARSE),
    Raw("control character", b'{"id":23,"method":"\x01"}', None, PARSE),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T14")
async def test_malformed_input_is_answered_exactly_and_the_next_request_works(
    kind: Kind, tmp_path: Path
) -> None:
    """Every input over every transport, on one connection that stays alive."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        for raw in INPUTS:
            await _meets_its_answer(client, raw)


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
        assert _code(await client.stray()) == (None, PARSE)
        await connection.connection.send("")
        assert _code(await client.stray()) == (None, PARSE)
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
        assert _code(await c.reply("no/such"))[1] == UNKNOWN
        assert _code(await c.reply("thread/name/set", {}))[1] == PARAMS
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


async def _meets_its_answer(client: WireClient, raw: Raw) -> None:
    expected = client.expect(raw.id) if raw.id is not None and raw.code is not None else None
    await client.link.send(raw.frame)
    before = len(client.frames)
    if raw.code is not None:
        async with asyncio.timeout(5):
            reply = await expected if expected is not None else await client.stray()
        assert _code(reply) == (raw.id, raw.code), raw.name
        assert raw.sentence in reply["error"]["message"], raw.name
        assert SECRET not in str(reply) and "Traceback" not in str(reply), raw.name
    else:
        before = len(client.frames)
    assert await client.request("thread/name/set", {"threadId": "t", "name": raw.name}) == {}
    if raw.code is None:
        assert len(client.frames) == before + 1, f"{raw.name} was answered"


def _code(reply: dict[str, Any]) -> tuple[int | str | None, int]:
    return reply["id"], reply["error"]["code"]
