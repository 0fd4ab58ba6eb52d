"""A turn over the thin client: what a person is told meanwhile."""

import asyncio
import json
from collections.abc import Callable

from server.cli.client import Client
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
