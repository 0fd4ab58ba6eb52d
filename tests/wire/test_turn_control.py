"""Steering, stopping and compacting: what a stale or early request is told."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.wire import KINDS, Kind, WireClient

NOBODY = "00000000-0000-7000-8000-000000000000"


def _words(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


async def _running(client: WireClient, model: ResponsesServer, thread: str) -> str:
    model.script(Reply(text="slow", hangs=True))
    before = len(model.requests)
    params = {"threadId": thread, "input": _words("busy")}
    turn = await client.request("turn/start", params)
    await model.wait_for_requests(before + 1)
    return str(turn["turn"]["id"])


@pytest.mark.requirement("FR-T10")
@pytest.mark.requirement("MR-9-33")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_stale_steer_is_told_what_the_thread_does_now(kind: Kind, tmp_path: Path) -> None:
    """So one retry suffices: with the id that was told, or as a start where the thread is idle."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        thread = await started(client)
        old = (await said(client, thread, "hello"))["id"]
        steer: dict[str, Any] = {
            "threadId": thread,
            "input": _words("and be brief"),
            "expectedTurnId": old,
        }
        error = await error_of(client, "turn/steer", steer)
        assert error["message"] == "no active turn to steer"
        assert (error["data"]["idle"], error["data"]["activeTurnId"]) == (True, None)
        running = await _running(client, model, thread)
        error = await error_of(client, "turn/steer", steer)
        assert error["message"] == f"expected active turn id `{old}` but found `{running}`"
        assert (error["data"]["idle"], error["data"]["activeTurnId"]) == (False, running)
        retried = {**steer, "expectedTurnId": error["data"]["activeTurnId"]}
        assert await client.request("turn/steer", retried) == {"turnId": running}
        error = await error_of(client, "turn/steer", {**retried, "input": []})
        assert error["message"] == "input must not be empty"
        error = await error_of(client, "turn/interrupt", {"threadId": thread, "turnId": old})
        assert error["message"] == f"expected active turn id {old} but found {running}"
        model.release()
        ended = (await client.notification("turn/completed"))["turn"]
        assert (ended["id"], ended["status"]) == (running, "completed")
        assert model.requests[-1].user_texts[-1] == "and be brief"
        page = await client.request("thread/items/list", {"threadId": thread})
        texts = [
            row["item"]["content"][0]["text"]
            for row in page["data"]
            if row["item"]["type"] == "userMessage"
        ]
        assert texts == ["hello", "busy", "and be brief"]
        error = await error_of(client, "turn/interrupt", {"threadId": thread, "turnId": running})
        assert error["message"] == "no active turn to interrupt"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_compaction_is_ordered_told_and_over(kind: Kind, tmp_path: Path) -> None:
    """Reply, active, turn, item begun, item done, idle, end; nothing of it is an answer."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        thread = await started(client)
        params = {"threadId": thread}
        error = await error_of(client, "thread/compact/start", params)
        assert "nothing to compact" in error["message"]
        await said(client, thread, "hello")
        seen = len(client.frames)
        assert await client.request("thread/compact/start", params) == {}
        ended = (await client.notification("turn/completed"))["turn"]
        assert (ended["status"], ended["items"], ended["itemsView"]) == (
            "completed",
            [],
            "notLoaded",
        )
        order = [
            frame.get("method", "reply")
            for frame in client.frames[seen:]
            if frame.get("method") not in ("account/rateLimits/updated",)
        ]
        assert order == [
            "reply",
            "thread/status/changed",
            "turn/started",
            "item/started",
            "thread/tokenUsage/updated",
            "thread/tokenUsage/updated",
            "item/completed",
            "thread/status/changed",
            "turn/completed",
        ]
        error = await error_of(client, "thread/compact/start", {"threadId": NOBODY})
        assert error["message"] == f"thread not found: {NOBODY}"


async def test_a_compaction_takes_no_input_and_can_be_stopped(tmp_path: Path) -> None:
    """Steering names the kind of turn; a start waits behind it."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await said(client, thread, "hello")
        model.script(Reply(text="notes", hangs=True))
        await client.request("thread/compact/start", {"threadId": thread})
        await model.wait_for_requests(2)
        await client.notification("turn/started")
        compaction = (await client.notification("turn/started"))["turn"]["id"]
        steer = {"threadId": thread, "input": _words("more"), "expectedTurnId": compaction}
        error = await error_of(client, "turn/steer", steer)
        assert error["message"] == "cannot steer a compact turn"
        info = {"activeTurnNotSteerable": {"turnKind": "compact"}}
        assert error["data"]["codexErrorInfo"] == info
        turn = await client.request(
            "turn/start", {"threadId": thread, "input": _words("behind it")}
        )
        assert turn["turn"]["id"] != compaction
        await client.request("turn/interrupt", {"threadId": thread, "turnId": compaction})
        ended = [(await client.notification("turn/completed"))["turn"] for _ in range(2)]
        assert [(one["id"], one["status"]) for one in ended] == [
            (compaction, "interrupted"),
            (turn["turn"]["id"], "completed"),
        ]
        model.release()


async def test_the_offline_provider_compacts_by_rules(tmp_path: Path) -> None:
    """Deterministic, and it says what it is."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "we use tabs here")
        await client.request("thread/compact/start", {"threadId": thread})
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        path = Path((await client.request("thread/read", {"threadId": thread}))["thread"]["path"])
        text = await asyncio.to_thread(path.read_text, "utf-8")
        (line,) = [one for one in text.splitlines() if '"compacted"' in one]
        assert "no language model wrote them" in line and "Asked: we use tabs here" in line
        assert (await said(client, thread, "and now"))["status"] == "completed"
