"""The life of one connection, without a transport of its own."""

import asyncio
from collections.abc import Sequence

import orjson
import pytest

from server.wire.limits import WireLimits
from server.wire.transport import TransportKind
from tests.support.small_server import SmallServer

TURNS = 50
BURST = 2 * WireLimits().requests_in_flight_max
INITIALIZE = b'{"id":1,"method":"initialize","params":{"clientInfo":{"name":"n","version":"1"}}}'
NAMING = b'{"id":2,"method":"thread/name/set","params":{"threadId":"t","name":"n"}}'


class _Said:
    """A client that says so much at once and then no more, and still listens."""

    def __init__(self, *messages: bytes) -> None:
        self._messages = list(messages)
        self.heard: list[int] = []
        """The ids of replies, in the order in which they came."""

    @property
    def kind(self) -> TransportKind:
        """As a process behind pipes."""
        return "stdio"

    async def receive(self) -> bytes | None:
        """The next message."""
        return self._messages.pop(0) if self._messages else None

    async def send(self, frames: Sequence[bytes]) -> None:
        """Note whose replies they are."""
        self.heard += [orjson.loads(frame)["id"] for frame in frames]

    async def close(self, code: int, reason: str) -> None:
        """Nothing is held."""


@pytest.mark.requirement("FR-T4")
async def test_what_a_client_asked_before_it_left_is_done_once_the_server_is_whole() -> None:
    """The time for a farewell, here none, counts from there: a script may end its input at once."""
    server = SmallServer(limits=WireLimits(farewell_s=0), whole=False)
    client = _Said(INITIALIZE, NAMING)
    serving = asyncio.ensure_future(server.connect(client))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert client.heard == [1] and not serving.done()
    server.make_whole()
    await serving
    assert server.named == ["n"]


async def test_a_burst_that_meets_a_server_still_loading_is_not_refused() -> None:
    """That it has no turn yet is no overload; what is read waits, the rest is read later."""
    server = SmallServer(whole=False)
    client = _Said(INITIALIZE, *[NAMING] * BURST)
    serving = asyncio.ensure_future(server.connect(client))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    server.make_whole()
    await serving
    assert len(server.named) == BURST
