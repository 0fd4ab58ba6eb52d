"""The envelope: every text is something, and what is malformed has its answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.base import EmptyResult
from protocol.jsonrpc import (
    NESTING_MAX,
    Malformed,
    Notification,
    Request,
    Response,
    error_reply,
    notification_text,
    parse_frame,
    request_text,
    result_reply,
)


@pytest.mark.parametrize("request_id", [0, -7, 2**63 - 1, "initialize", ""])
def test_a_request_keeps_its_id_and_needs_no_version_member(request_id: int | str) -> None:
    """Ids are echoed with their type; zero and the empty string are ids."""
    frame = parse_frame(json.dumps({"id": request_id, "method": "a/b", "params": {"x": 1}}))
    assert frame == Request(id=request_id, method="a/b", params={"x": 1})


@pytest.mark.parametrize(
    ("text", "code", "request_id"),
    [
        ("this is not json", -32700, None),
        ('{"method": "thread/list"', -32700, None),
        ("\x00", -32700, None),
        ("", -32700, None),
        ('{"a": "\\ud800"}', -32600, None),
        ("[1,2]", -32600, None),
        ("[]", -32600, None),
        ('[{"id":1,"method":"x"}]', -32600, None),
        ("5", -32600, None),
        ("null", -32600, None),
        ('"text"', -32600, None),
        ("{}", -32600, None),
        ('{"id": 77}', -32600, 77),
        ('{"id": 78, "method": 5}', -32600, 78),
        ('{"id": null, "method": "a"}', -32600, None),
        ('{"id": 1.5, "method": "a"}', -32600, None),
        ('{"id": true, "method": "a"}', -32600, None),
        ('{"id": {}, "method": "a"}', -32600, None),
        ('{"id": 9223372036854775808, "method": "a"}', -32600, None),
        ('{"id": 123456789012345678901234567890, "method": "a"}', -32600, None),
        ('{"id": 3, "method": "a", "params": [1]}', -32602, 3),
        ('{"id": 4, "method": "a", "params": "x"}', -32602, 4),
        ('{"id": 5, "method": "a", "params": 1}', -32602, 5),
    ],
)
def test_malformed_input_has_a_reply(text: str, code: int, request_id: int | None) -> None:
    """The codes of JSON-RPC, and a null id where the id was none."""
    frame = parse_frame(text)
    assert isinstance(frame, Malformed)
    reply = json.loads(frame.reply)
    assert (reply["error"]["code"], reply["id"]) == (code, request_id)


def test_a_batch_is_refused_by_name() -> None:
    """Clients see why."""
    frame = parse_frame("[]")
    assert isinstance(frame, Malformed)
    assert frame.error.message == "batches are not supported"


def test_what_has_no_id_is_a_notification_and_is_never_answered() -> None:
    """Also with parameters that are no object: there is no one to tell."""
    assert parse_frame('{"method":"x"}') == Notification(method="x", params=None)
    assert parse_frame('{"method":"x","params":[]}') == Notification(method="x", params=None)


def test_a_reply_is_told_from_a_request() -> None:
    """With a result or an error."""
    assert parse_frame('{"id":1,"result":{}}') == Response(id=1, result={}, error=None)
    failed = parse_frame('{"id":1,"error":{"code":-1,"message":"no"}}')
    assert failed == Response(id=1, result=None, error={"code": -1, "message": "no"})
    odd = parse_frame('{"id":1,"error":"no"}')
    assert odd == Response(id=1, result=None, error={"message": "no"})


def test_a_trace_context_is_kept_and_a_wrong_one_ignored() -> None:
    """It only helps to follow a request."""
    frame = parse_frame('{"id":1,"method":"a","trace":{"traceparent":"00-1"}}')
    assert isinstance(frame, Request) and frame.trace == {"traceparent": "00-1"}
    frame = parse_frame('{"id":1,"method":"a","trace":5}')
    assert isinstance(frame, Request) and frame.trace is None


@given(st.binary(max_size=200))
def test_no_bytes_break_the_envelope(raw: bytes) -> None:
    """Whatever comes is something."""
    assert parse_frame(raw) is not None


def test_what_we_send_carries_no_version_member() -> None:
    """Results, notifications and our own requests."""
    assert json.loads(result_reply("a", EmptyResult())) == {"id": "a", "result": {}}
    told = json.loads(notification_text("x/y", EmptyResult(), emitted_at_ms=5))
    assert told == {"method": "x/y", "params": {}, "emittedAtMs": 5}
    assert json.loads(request_text(0, "q", None)) == {"method": "q", "id": 0}


def test_an_error_without_data_has_no_data_member() -> None:
    """As clients of this protocol expect."""
    frame = parse_frame("x")
    assert isinstance(frame, Malformed)
    assert set(json.loads(error_reply(3, frame.error))["error"]) == {"code", "message"}


def test_what_is_nested_too_deeply_is_refused_under_its_id() -> None:
    """It could be read here and written nowhere; many brackets side by side are no depth."""

    def nested(levels: int, message: str) -> bytes:
        return (message % ("[" * levels + "]" * levels)).encode()

    request = '{"id":7,"method":"m","params":{"a":%s}}'
    assert isinstance(parse_frame(nested(NESTING_MAX - 2, request)), Request)
    for levels in (NESTING_MAX, 900):
        refused = parse_frame(nested(levels, request))
        assert isinstance(refused, Malformed)
        assert (refused.id, refused.error.code) == (7, -32602)
        answer = parse_frame(nested(levels, '{"id":7,"result":%s}'))
        assert isinstance(answer, Response) and answer.error is not None
    wide = b'{"id":7,"method":"m","params":{"a":[%s]}}' % b",".join([b"[{}]"] * 1_000)
    assert isinstance(parse_frame(wide), Request)
