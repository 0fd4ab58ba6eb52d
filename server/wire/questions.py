"""Our questions to clients: put to all that listen, answered by the first, open until settled.

Invariant: a question has one outcome and is settled once; while it is open, each client that
listens to its thread has it under the same id, also one that came later. A client that leaves is
no answer, and an error of one client counts as the refusal of that client alone.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from protocol.base import WireModel
from protocol.jsonrpc import Response
from protocol.server_requests import ServerRequest
from server.wire.encoding import request_frame
from server.wire.limits import WireLimits
from server.wire.peer import Peer
from state.ids import ThreadId

T = TypeVar("T")


class Standing(Enum):
    """Where a question stands."""

    OPEN = "open"
    DECIDED = "decided"
    """It has its outcome; whoever asked has not heard it yet."""
    SETTLED = "settled"


class Event(Enum):
    """What may happen to it."""

    ANSWERED = "answered"
    REFUSED = "refused"
    """Every client that has it answered with an error."""
    EXPIRED = "expired"
    SETTLED = "settled"


TABLE: Mapping[Standing, Mapping[Event, Standing]] = MappingProxyType(
    {
        Standing.OPEN: MappingProxyType(
            {
                Event.ANSWERED: Standing.DECIDED,
                Event.REFUSED: Standing.DECIDED,
                Event.EXPIRED: Standing.DECIDED,
                Event.SETTLED: Standing.SETTLED,
            }
        ),
        Standing.DECIDED: MappingProxyType({Event.SETTLED: Standing.SETTLED}),
        Standing.SETTLED: MappingProxyType({}),
    }
)


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """The first answer that could be read."""

    value: T


@dataclass(frozen=True, slots=True)
class Refused:
    """Nobody who has it will answer; the message is that of the last one."""

    message: str


@dataclass(frozen=True, slots=True)
class Expired:
    """Its time is over."""

    seconds: float


class Unreadable(Exception):
    """An answer that does not fit its question; the message says how."""


Read = Callable[[Any], T]
"""Makes a value of a client's result; raises `Unreadable`."""


@dataclass(slots=True, eq=False)
class OpenQuestion(Generic[T]):
    """One question; made and changed by `Questions`."""

    number: int
    request: ServerRequest
    thread_id: ThreadId
    read: Read[T]
    frame: bytes
    plain_frame: bytes
    """The same without what may still change."""
    outcome: "asyncio.Future[Answered[T] | Refused | Expired]"
    standing: Standing = Standing.OPEN
    asked: dict[int, Peer] = field(default_factory=dict)
    """The clients that have it and did not answer."""
    refusals: dict[int, str] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None

    def take(self, event: Event) -> bool:
        """Make the step if the table has it."""
        following = TABLE[self.standing].get(event)
        if following is None:
            return False
        self.standing = following
        return True


class Questions:
    """Every open question of this process."""

    def __init__(self, listeners: Callable[[ThreadId], Iterable[Peer]], limits: WireLimits) -> None:
        self._listeners = listeners
        self._limits = limits
        self._numbers = itertools.count(0)
        self._open: dict[int, OpenQuestion[Any]] = {}
        self._over: dict[int, tuple[ThreadId, set[int]]] = {}
        """Of those settled last, the thread and the clients that had not answered."""

    def put(
        self, request: ServerRequest, params: WireModel, *, thread_id: ThreadId, read: Read[T]
    ) -> OpenQuestion[T]:
        """Ask all that listen to the thread, now and as they come."""
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        question = OpenQuestion(
            number=number,
            request=request,
            thread_id=thread_id,
            read=read,
            frame=request_frame(number, request.name, params, without=()),
            plain_frame=request_frame(
                number, request.name, params, without=request.experimental_fields
            ),
            outcome=loop.create_future(),
        )
        self._open[number] = question
        seconds, bound = request.deadline_s, self._limits.question_deadline_s_max
        wait_s = min((one for one in (seconds, bound) if one is not None), default=None)
        if wait_s is not None:
            question.timer = loop.call_later(wait_s, self._expire, question, float(wait_s))
        for peer in list(self._listeners(thread_id)):
            self._ask(question, peer)
        return question

    def replay(self, peer: Peer, thread_id: ThreadId) -> None:
        """Put what is open in a thread to a client that listens to it from now on."""
        for question in list(self._open.values()):
            if question.thread_id == thread_id and question.standing is Standing.OPEN:
                self._ask(question, peer)

    def answer(self, peer: Peer, response: Response) -> ThreadId | None:
        """Take a client's answer; the thread of its question if that was decided before.

        One to no question of its, or a second one, is ignored.
        """
        if not isinstance(response.id, int):
            return None
        question = self._open.get(response.id)
        if question is None:
            return self._late(peer, response.id)
        if question.asked.pop(peer.id, None) is None:
            return None
        if question.standing is not Standing.OPEN:
            return question.thread_id
        if response.error is not None:
            message = str(response.error.get("message") or "the client answered with an error")
            self._refuse(question, peer, message[:500])
            return None
        try:
            value = question.read(response.result)
        except Unreadable as unreadable:
            self._refuse(question, peer, str(unreadable)[:500])
            return None
        if question.take(Event.ANSWERED):
            question.outcome.set_result(Answered(value))
        return None

    def leave(self, peer: Peer, thread_id: ThreadId | None = None) -> None:
        """Wait no more for a client that is gone, or that listens to a thread no more."""
        for question in list(self._open.values()):
            if thread_id is None or question.thread_id == thread_id:
                question.refusals.pop(peer.id, None)
                if question.asked.pop(peer.id, None) is not None:
                    self._decide_if_all_refused(question)

    def settle(self, question: OpenQuestion[T]) -> bool:
        """Take a question away; False if it was settled before."""
        if not question.take(Event.SETTLED):
            return False
        self._open.pop(question.number, None)
        if question.timer is not None:
            question.timer.cancel()
        if not question.outcome.done():
            question.outcome.cancel()
        self._over[question.number] = question.thread_id, set(question.asked)
        if len(self._over) > self._limits.late_answers_max:
            del self._over[next(iter(self._over))]
        question.asked.clear()
        return True

    def withdraw(self, thread_id: ThreadId) -> list[int]:
        """End the questions of a thread that goes; the ids of those that were open."""
        gone: list[int] = []
        for question in self.of_thread(thread_id):
            if question.take(Event.REFUSED):
                question.outcome.set_result(Refused("the thread is closed"))
            if self.settle(question):
                gone.append(question.number)
        return gone

    def of_thread(self, thread_id: ThreadId) -> list[OpenQuestion[Any]]:
        """The questions of a thread that are not settled."""
        return [one for one in self._open.values() if one.thread_id == thread_id]

    def _ask(self, question: OpenQuestion[Any], peer: Peer) -> None:
        waiting = sum(peer.id in one.asked for one in self._open.values())
        if peer.id in question.asked or waiting >= self._limits.questions_max:
            return
        question.refusals.pop(peer.id, None)
        question.asked[peer.id] = peer
        frame = question.frame if peer.experimental else question.plain_frame
        peer.send(frame, lossless=True, thread_id=question.thread_id)

    def _late(self, peer: Peer, number: int) -> ThreadId | None:
        thread_id, unheard = self._over.get(number, (None, set()))
        if peer.id not in unheard:
            return None
        unheard.discard(peer.id)
        return thread_id

    def _refuse(self, question: OpenQuestion[Any], peer: Peer, message: str) -> None:
        question.refusals[peer.id] = message
        self._decide_if_all_refused(question)

    def _decide_if_all_refused(self, question: OpenQuestion[Any]) -> None:
        """Without a client that could still answer, and with one that said no, it is decided."""
        if not question.asked and question.refusals and question.take(Event.REFUSED):
            message = list(question.refusals.values())[-1]
            question.outcome.set_result(Refused(message))

    def _expire(self, question: OpenQuestion[Any], seconds: float) -> None:
        if question.take(Event.EXPIRED):
            question.outcome.set_result(Expired(seconds))
