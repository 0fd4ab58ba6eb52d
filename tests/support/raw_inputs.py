"""A table of texts that are no proper request, each with its exact answer."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.wire import WAIT_S, WireClient

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


async def meets_its_answer(
    client: WireClient, raw: Raw, following: tuple[str, Mapping[str, Any]]
) -> None:
    """Send it, then a proper request, which must work; what should not be answered is not.

    Raises: AssertionError.
    """
    expected = client.expect(raw.id) if raw.id is not None and raw.code is not None else None
    await client.link.send(raw.frame)
    before = len(client.frames)
    if raw.code is not None:
        async with asyncio.timeout(WAIT_S):
            reply = await expected if expected is not None else await client.stray()
        assert code_of(reply) == (raw.id, raw.code), raw.name
        assert raw.sentence in reply["error"]["message"], raw.name
        assert "Traceback" not in str(reply) and ".py" not in str(reply), raw.name
        before = len(client.frames)
    assert "result" in await client.reply(*following), raw.name
    if raw.code is None:
        assert len(client.frames) == before + 1, f"{raw.name} was answered"


def code_of(reply: dict[str, Any]) -> tuple[int | str | None, int]:
    """The id and the code of an error."""
    return reply["id"], reply["error"]["code"]
