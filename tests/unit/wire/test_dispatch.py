"""From a request to its one reply."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from protocol.base import EmptyResult
from protocol.errors import WireError
from protocol.jsonrpc import Request
from protocol.methods import CLIENT_METHODS, INITIALIZE, THREAD_DELETE, Method
from server.wire.dispatch import Bound, Call, Dispatcher, table
from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer


def make_peer() -> Peer:
    """A peer that has shaken hands."""
    peer = Peer(1, "pair", limits=WireLimits(), marker=lambda *_: b"", answered=lambda *_: None)
    peer.introduce(Introduction(name="n", version="1"))
    return peer


def dispatcher(call: Any) -> Dispatcher:
    """One that answers `thread/delete` alone."""
    answers = Dispatcher(call, limits=WireLimits())
    answers.join({THREAD_DELETE.name: call}, unknown)
    return answers


def unknown(error: Exception) -> WireError | None:
    """No error has a place in the table."""
    return None


REQUEST = Request(id=1, method="thread/delete", params={"threadId": "t"})


async def sent(peer: Peer) -> list[dict[str, Any]]:
    """What waits for a peer."""
    peer.end(1000, "")
    return [orjson.loads(frame) for frame in await peer.take()]


async def test_what_follows_a_reply_is_sent_behind_it() -> None:
    """In the order it was asked for."""
    peer = make_peer()

    async def handler(call: Call, params: Any) -> EmptyResult:
        call.after_reply(lambda: call.peer.send(b'"first"', lossless=True))
        call.after_reply(lambda: call.peer.send(b'"second"', lossless=True))
        return EmptyResult()

    await dispatcher(handler).answer(peer, REQUEST)
    assert await sent(peer) == [{"id": 1, "result": {}}, "first", "second"]


async def test_what_follows_a_reply_is_done_though_the_peer_left_or_an_action_failed() -> None:
    """A turn that was admitted begins, whoever hears of it."""
    peer = make_peer()
    done: list[str] = []

    def fail() -> None:
        raise RuntimeError("no")

    async def handler(call: Call, params: Any) -> EmptyResult:
        call.after_reply(fail)
        call.after_reply(lambda: done.append("begun"))
        call.peer.cut(1001, "")
        return EmptyResult()

    await dispatcher(handler).answer(peer, REQUEST)
    assert done == ["begun"]
    assert await sent(peer) == []


async def test_a_parameter_with_a_strange_name_meets_no_argument() -> None:
    """`context`, `self` and the like are keys as any other."""
    peer = make_peer()
    seen: list[Any] = []

    async def handler(call: Call, params: Any) -> EmptyResult:
        seen.append(params.thread_id)
        return EmptyResult()

    params = {"threadId": "t", "self": 1, "call": 2, "context": 3, "invocation": 4, "": 5}
    await dispatcher(handler).answer(peer, Request(id="x", method="thread/delete", params=params))
    assert seen == ["t"]
    assert await sent(peer) == [{"id": "x", "result": {}}]


@pytest.mark.requirement("MR-9-34")
async def test_a_handler_that_gives_no_result_is_an_incident() -> None:
    """Not a reply without content."""
    peer = make_peer()

    async def handler(call: Call, params: Any) -> None:
        return None

    await dispatcher(handler).answer(peer, REQUEST)
    [reply] = await sent(peer)
    assert reply["error"]["code"] == -32603 and set(reply["error"]["data"]) == {"incident"}


class _Odd(EmptyResult):
    """A result whose value has no JSON form."""

    value: Any


@pytest.mark.requirement("MR-9-34")
async def test_a_result_that_is_no_json_is_told_by_the_sentence_of_the_original(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Without a word of what it held; the log has the rest under the number, and the next works."""
    peer = make_peer()
    results: list[EmptyResult] = [_Odd(value=lambda: "sk-secret"), EmptyResult()]

    async def handler(call: Call, params: Any) -> EmptyResult:
        return results.pop(0)

    answers = dispatcher(handler)
    await answers.answer(peer, REQUEST)
    await answers.answer(peer, REQUEST)
    refused, fine = await sent(peer)
    number = refused["error"]["data"]["incident"]
    assert refused["error"] == {
        "code": -32603,
        "message": f"failed to serialize response: incident {number}",
        "data": {"incident": number},
    }
    assert number in caplog.text and "sk-secret" not in caplog.text
    assert fine == {"id": 1, "result": {}}


async def test_what_comes_before_the_table_waits_in_its_order_and_initialize_does_not() -> None:
    """The front alone answers who is there; the rest is answered as soon as it can be."""
    peer = make_peer()
    newcomer = Peer(2, "pair", limits=WireLimits(), marker=lambda *_: b"", answered=lambda *_: None)

    async def handler(call: Call, params: Any) -> EmptyResult:
        return EmptyResult()

    answers = Dispatcher(handler, limits=WireLimits())
    waiting = [
        asyncio.create_task(answers.answer(peer, replace(REQUEST, id=number)))
        for number in range(1, 4)
    ]
    await asyncio.sleep(0)  # each has come as far as it can
    client = {"clientInfo": {"name": "n", "version": "1"}}
    await answers.answer(newcomer, Request(id=0, method="initialize", params=client))
    assert await sent(newcomer) == [{"id": 0, "result": {}}]
    assert not any(task.done() for task in waiting)
    answers.join({THREAD_DELETE.name: handler}, unknown)
    await asyncio.gather(*waiting, answers.settled())
    assert [reply["id"] for reply in await sent(peer)] == [1, 2, 3]


async def test_who_waits_for_a_table_that_never_comes_is_told() -> None:
    """A server that cannot be made whole ends, and says so before."""
    peer = make_peer()

    async def handler(call: Call, params: Any) -> EmptyResult:
        return EmptyResult()

    answers = Dispatcher(handler, limits=WireLimits())
    waiting = asyncio.create_task(answers.answer(peer, REQUEST))
    await asyncio.sleep(0)
    answers.close()
    await waiting
    [reply] = await sent(peer)
    assert reply["error"]["message"] == "the server could not start; its log says why"


def test_a_method_without_a_handler_stops_the_start() -> None:
    """And so does one with two, or one that is not in the list."""

    async def handler(call: Call, params: Any) -> EmptyResult:
        return EmptyResult()

    every = [Bound(method, handler) for method in CLIENT_METHODS if method is not INITIALIZE]
    assert len(table(*every)) == len(CLIENT_METHODS) - 1
    with pytest.raises(ValueError, match="without a handler: account/read"):
        table(*[one for one in every if one.method.name != "account/read"])
    with pytest.raises(ValueError, match=f"{CLIENT_METHODS[-1].name} is bound twice"):
        table(*every, every[-1])
    stranger = Method("x/y", THREAD_DELETE.params, EmptyResult, "s")
    with pytest.raises(ValueError, match="no listed method: x/y"):
        table(*every, Bound(stranger, handler))
