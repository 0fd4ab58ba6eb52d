"""Questions to clients: one outcome each, whoever comes, goes, refuses or is slow."""

import asyncio
import itertools
from typing import Any

import orjson
import pytest

from protocol.jsonrpc import Response
from protocol.messages.handshake import ServerLagged
from protocol.server_requests import COMMAND_APPROVAL
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer
from server.wire.questions import (
    TABLE,
    Answered,
    Event,
    Expired,
    OpenQuestion,
    Refused,
    Standing,
    Unreadable,
)
from state.ids import ThreadId
from tests.support.clock import ManualClock

THREAD = ThreadId("t")
PARAMS = ServerLagged(thread_id=None, dropped=0)


def _hub(**limits: Any) -> Hub:
    return Hub(ManualClock(), WireLimits(**limits))


def _peer(hub: Hub, *, listens: bool = True) -> Peer:
    peer = hub.attach("pair")
    peer.introduce(Introduction(name="n", version="1", experimental=True))
    peer.initialized = True
    if listens:
        hub.subscribe(peer, THREAD)
    return peer


def _read(result: Any) -> str:
    if not isinstance(result, str):
        raise Unreadable("no text")
    return result


def _put(hub: Hub) -> OpenQuestion[str]:
    return hub.questions.put(COMMAND_APPROVAL, PARAMS, thread_id=THREAD, read=_read)


def _says(peer: Peer, number: int, result: Any = None, *, error: str | None = None) -> None:
    given = None if error is None else {"code": -32601, "message": error}
    peer.answer(Response(id=number, result=result, error=given))


async def _asked(peer: Peer) -> list[int]:
    """The ids of the questions in its outbox."""
    taking = asyncio.create_task(peer.take())
    await asyncio.sleep(0)
    if not taking.done():
        taking.cancel()
        return []
    return [orjson.loads(frame)["id"] for frame in taking.result()]


async def _told(peer: Peer) -> list[dict[str, Any]]:
    """The params of what is in its outbox."""
    taking = asyncio.create_task(peer.take())
    await asyncio.sleep(0)
    if not taking.done():
        taking.cancel()
        return []
    return [orjson.loads(frame)["params"] for frame in taking.result()]


def test_a_decided_question_is_only_settled_and_a_settled_one_is_over() -> None:
    """All pairs of the table."""
    for standing, event in itertools.product(Standing, Event):
        following = TABLE[standing].get(event)
        match standing, event:
            case Standing.SETTLED, _:
                assert following is None
            case _, Event.SETTLED:
                assert following is Standing.SETTLED
            case Standing.OPEN, _:
                assert following is Standing.DECIDED
            case _:
                assert following is None


async def test_the_first_answer_that_can_be_read_counts() -> None:
    """Later ones change nothing, whatever they are."""
    hub = _hub()
    one, two = _peer(hub), _peer(hub)
    question = _put(hub)
    assert await _asked(one) == await _asked(two) == [question.number]
    _says(one, question.number, "yes")
    _says(two, question.number, "no")
    _says(one, question.number, "no")
    assert await question.outcome == Answered("yes")
    assert hub.questions.settle(question) and not hub.questions.settle(question)
    assert hub.questions.of_thread(THREAD) == []


async def test_only_who_was_asked_may_answer() -> None:
    """Not a client that listens elsewhere, nor one that left the thread."""
    hub = _hub()
    asked, stranger = _peer(hub), _peer(hub, listens=False)
    question = _put(hub)
    _says(stranger, question.number, "yes")
    hub.unsubscribe(asked, THREAD)
    _says(asked, question.number, "yes")
    assert not question.outcome.done()


async def test_a_refusal_counts_when_nobody_is_left_who_could_answer() -> None:
    """An error, or an answer that cannot be read; a client that leaves is none."""
    hub = _hub()
    one, two = _peer(hub), _peer(hub)
    question = _put(hub)
    _says(one, question.number, error="unknown method")
    assert not question.outcome.done()
    hub.detach(two)
    assert await question.outcome == Refused("unknown method")
    alone = _hub()
    peer, question = _peer(alone), _put(alone)
    _says(peer, question.number, 5)
    assert await question.outcome == Refused("no text")


async def test_without_anybody_it_waits_for_who_comes() -> None:
    """A client that left is no answer, also if it had refused; who comes gets the same id."""
    hub = _hub()
    first = _peer(hub)
    question = _put(hub)
    hub.detach(first)
    assert not question.outcome.done()
    late = _peer(hub)
    hub.questions.replay(late, THREAD)
    hub.questions.replay(late, THREAD)
    assert await _asked(late) == [question.number]
    _says(late, question.number, "yes")
    assert await question.outcome == Answered("yes")
    another = _peer(hub)
    hub.questions.replay(another, THREAD)
    assert await _asked(another) == []  # it is decided


async def test_its_time_ends_it() -> None:
    """And an answer that comes then is late."""
    hub = _hub(question_deadline_s_max=0)
    peer, question = _peer(hub), _put(hub)
    assert await question.outcome == Expired(0)
    _says(peer, question.number, "yes")
    assert question.standing is Standing.DECIDED


async def test_a_client_too_slow_to_be_asked_is_as_one_that_left() -> None:
    """The question stays open for the others."""
    hub = _hub(outbox_items_max=1)
    slow, other = _peer(hub), _peer(hub)
    slow.send(b"full", lossless=True)
    question = _put(hub)
    assert slow.is_cut
    hub.detach(slow)
    _says(other, question.number, "yes")
    assert await question.outcome == Answered("yes")


async def test_a_client_is_asked_so_much_at_once_and_no_more() -> None:
    """Further questions are for others, or wait."""
    hub = _hub(questions_max=2)
    peer = _peer(hub)
    questions = [_put(hub) for _ in range(3)]
    assert await _asked(peer) == [0, 1]
    _says(peer, 0, "yes")
    assert await questions[0].outcome == Answered("yes")


async def test_a_thread_that_goes_takes_its_questions_along() -> None:
    """Whoever waits hears a refusal, those that listen hear that it is resolved; others stay."""
    hub = _hub()
    peer, question = _peer(hub), _put(hub)
    other = hub.questions.put(COMMAND_APPROVAL, PARAMS, thread_id=ThreadId("x"), read=_read)
    hub.release(THREAD)
    assert isinstance(await question.outcome, Refused)
    assert not hub.questions.settle(question) and not other.outcome.done()
    told = [orjson.loads(frame) for frame in await peer.take()]
    assert told[-1]["params"] == {"threadId": "t", "requestId": question.number}


async def test_an_answer_behind_the_decision_is_told_as_late_once() -> None:
    """Between decision and settlement and behind it, of the last questions only."""
    hub = _hub(late_answers_max=1)
    first, early, late, left = [_peer(hub) for _ in range(4)]
    question = _put(hub)
    for peer in (first, early, late, left):
        await _asked(peer)
    _says(first, question.number, "yes")
    _says(early, question.number, "no")
    hub.questions.settle(question)
    _says(late, question.number, error="unknown method")
    for peer in (first, early, late):  # what was answered before, by whomever, is no answer
        _says(peer, question.number, "no")
    told = {peer.id: await _told(peer) for peer in (first, early, late)}
    assert [len(told[peer.id]) for peer in (first, early, late)] == [0, 1, 1]
    [params] = told[late.id]
    assert params["threadId"] == "t" and f"request {question.number} came" in params["message"]
    hub.questions.settle(_put(hub))
    _says(left, question.number, "no")
    assert [one["message"] for one in await _told(left) if "message" in one] == []


@pytest.mark.parametrize("decided", [False, True])
async def test_a_question_taken_back_is_over_for_all(decided: bool) -> None:
    """Whoever waits for it is cancelled; an answer finds nothing."""
    hub = _hub()
    peer, question = _peer(hub), _put(hub)
    if decided:
        _says(peer, question.number, "yes")
    assert hub.questions.settle(question)
    _says(peer, question.number, "yes")
    assert question.outcome.cancelled() is not decided
