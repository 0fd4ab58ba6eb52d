"""Who gets a turn: two clients in one moment, and one that steers what may be over."""

import asyncio
from typing import Any

from tests.support.methods import said
from tests.support.responses_server import Recorded, Reply, ResponsesServer
from tests.support.wire import RpcError, WireClient

ROUNDS = 500
_ROUNDS_OF_A_THREAD = 50


def words(text: str) -> list[dict[str, str]]:
    """An input of one text."""
    return [{"type": "text", "text": text}]


async def said_by_user(client: WireClient, thread: str) -> list[str]:
    """All that stands in the thread, page by page."""
    texts: list[str] = []
    params: dict[str, Any] = {"threadId": thread, "sortDirection": "asc"}
    while True:
        page = await client.request("thread/items/list", params)
        items = [row["item"] for row in page["data"]]
        texts += [one["content"][0]["text"] for one in items if one["type"] == "userMessage"]
        if page["nextCursor"] is None:
            return texts
        params["cursor"] = page["nextCursor"]


async def exactly_one_begins(
    first: WireClient, second: WireClient, model: ResponsesServer, cwd: str, *, rounds: int = ROUNDS
) -> None:
    """Each round one is admitted; the other one is refused, recorded nowhere, and calls no model.

    Raises: AssertionError.
    """
    gate = asyncio.Event()

    def choose(request: Recorded) -> Reply | None:
        return Reply(text="in two halves", gate=gate) if request.user_texts[-1] != "hello" else None

    model.choose = choose
    for _ in range(0, rounds, _ROUNDS_OF_A_THREAD):
        thread = str((await first.request("thread/start", {"cwd": cwd}))["thread"]["id"])
        await said(first, thread, "hello")
        await first.notification("turn/started")
        await second.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        kept = ["hello"]
        for number in range(min(rounds, _ROUNDS_OF_A_THREAD)):
            gate.clear()
            model.requests.clear()
            texts = (f"{number} of the first", f"{number} of the second")
            start = {"threadId": thread, "requireIdle": True}
            replies = await asyncio.gather(
                first.reply("turn/start", {**start, "input": words(texts[0])}),
                second.reply("turn/start", {**start, "input": words(texts[1])}),
            )
            [winner] = [at for at, reply in enumerate(replies) if "result" in reply]
            turn = replies[winner]["result"]["turn"]["id"]
            assert replies[1 - winner]["error"]["data"] == {
                "kind": "threadBusy",
                "retryable": True,
                "activeTurnId": turn,
            }
            kept.append(texts[winner])
            gate.set()
            for client in (first, second):
                ended = (await client.notification("turn/completed"))["turn"]
                assert (ended["id"], ended["status"]) == (turn, "completed")
                assert (await client.notification("turn/started"))["turn"]["id"] == turn
            assert len(model.requests) == 1
        assert await said_by_user(second, thread) == kept
    assert first.notifications("turn/started") + second.notifications("turn/started") == []


async def steered(client: WireClient, thread: str, turn: str, text: str) -> tuple[str, int]:
    """Steer as a careful client does; the turn that took the words, and how many retries that took.

    Raises: RpcError, where one retry did not suffice.
    """
    params: dict[str, Any] = {"threadId": thread, "input": words(text)}
    try:
        taken = await client.request("turn/steer", {**params, "expectedTurnId": turn})
        return str(taken["turnId"]), 0
    except RpcError as error:
        told = error.data
    assert told is not None
    if told["idle"]:
        begun = await client.request("turn/start", {**params, "requireIdle": True})
        return str(begun["turn"]["id"]), 1
    active = {**params, "expectedTurnId": told["activeTurnId"]}
    return str((await client.request("turn/steer", active))["turnId"]), 1
