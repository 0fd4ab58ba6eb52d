"""The thin client: nothing waits for an answer that cannot come."""

import asyncio
import json
from collections.abc import Callable

import pytest

from server.cli.client import Client, ConnectionLost, RequestRefused
from server.cli.talk import say


class ScriptedLink:
    """A connection whose other side is a function."""

    def __init__(self, answer: Callable[[dict[str, object]], list[bytes | None]]) -> None:
        self._answer = answer
        self._arrived: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def receive(self) -> bytes | None:
        """The next message."""
        return await self._arrived.get()

    async def send(self, data: bytes) -> None:
        """Let the function answer."""
        for message in self._answer(json.loads(data)):
            self._arrived.put_nowait(message)

    async def close(self) -> None:
        """Nothing more will come."""
        self._arrived.put_nowait(None)


@pytest.mark.requirement("FR-T6")
async def test_every_call_and_stream_ends_with_the_connection() -> None:
    """A thousand calls under way, a stream being read, and a call made afterwards."""
    seen = 0

    def answer(message: dict[str, object]) -> list[bytes | None]:
        nonlocal seen
        seen += 1
        return [None] if seen == 1_000 else []

    client = Client(ScriptedLink(answer))
    reading = asyncio.ensure_future(anext(client.notifications()))
    calls = [asyncio.ensure_future(client.request("x")) for _ in range(1_000)]
    async with asyncio.timeout(5):
        results = await asyncio.gather(*calls, reading, return_exceptions=True)
    assert {type(result) for result in results} == {ConnectionLost}
    with pytest.raises(ConnectionLost):
        await client.request("y")
    await client.close()


async def test_an_answer_to_nobody_ends_what_waits() -> None:
    """The server could not read our message, so it could not say which one it was."""
    refusal = {"id": None, "error": {"code": -32700, "message": "not JSON"}}
    client = Client(ScriptedLink(lambda message: [json.dumps(refusal).encode()]))
    with pytest.raises(RequestRefused, match="not JSON"):
        async with asyncio.timeout(5):
            await client.request("x")
    await client.close()


async def test_a_broken_frame_ends_the_connection() -> None:
    """What is no JSON cannot be answered to anybody."""
    client = Client(ScriptedLink(lambda message: [b"{not json"]))
    with pytest.raises(ConnectionLost):
        async with asyncio.timeout(5):
            await client.request("x")
    await client.close()


async def test_a_model_call_that_fails_alike_again_and_again_is_told_once() -> None:
    """Another failure is told too."""

    def note(method: str, **params: object) -> bytes:
        return json.dumps({"method": method, "params": {"threadId": "t", **params}}).encode()

    def failing(message: str) -> bytes:
        return note("error", willRetry=True, error={"message": message})

    def answer(message: dict[str, object]) -> list[bytes | None]:
        turn = {"id": "1", "status": "completed"}
        return [
            json.dumps({"id": message["id"], "result": {"turn": turn}}).encode(),
            *[failing("no connection")] * 5,
            failing("no answer"),
            note("turn/completed", turn=turn),
        ]

    client, told = Client(ScriptedLink(answer)), list[str]()
    await say(client, "t", "hi", on_text=lambda _: None, on_notice=told.append)
    await client.close()
    assert told == [
        "the model call is tried again: no connection",
        "the model call is tried again: no answer",
    ]
