"""Starting, steering, stopping and compacting: what a late, stale or early request is told."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.admissions import exactly_one_begins, said_by_user, steered, words
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.wire import KINDS, WAIT_S, Kind, WireClient

NOBODY = "00000000-0000-7000-8000-000000000000"
STEERS = 40


async def _running(client: WireClient, model: ResponsesServer, thread: str) -> str:
    model.script(Reply(text="slow", hangs=True))
    before = len(model.requests)
    params = {"threadId": thread, "input": words("busy")}
    turn = await client.request("turn/start", params)
    await model.wait_for_requests(before + 1)
    return str(turn["turn"]["id"])


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T9")
@pytest.mark.parametrize("kind", KINDS)
async def test_of_two_starts_for_an_idle_thread_exactly_one_begins(
    kind: Kind, tmp_path: Path
) -> None:
    """Two clients, one moment, many times: the other is refused, recorded nowhere, not modelled."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as first,
        home.wire.client(kind) as second,
    ):
        await exactly_one_begins(first, second, model, str(tmp_path))


@pytest.mark.requirement("FR-T9", "FR-T10")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_thread_that_is_told_to_be_idle_takes_a_start_for_an_idle_one(
    kind: Kind, tmp_path: Path
) -> None:
    """Also while the end of its turn is still being written, when it takes nothing more."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        thread = await started(client)
        await said(client, thread, "hello")
        running = await _running(client, model, thread)
        steer = {"threadId": thread, "input": words("more"), "expectedTurnId": NOBODY}
        async with asyncio.timeout(WAIT_S), home.server.services.state.database.writing():
            model.release()
            while not (await error_of(client, "turn/steer", steer))["data"]["idle"]:
                """It still takes input; its row waits for the lock that is held here."""
            start = {"threadId": thread, "input": words("more"), "requireIdle": True}
            starting = asyncio.create_task(client.request("turn/start", start))
            await asyncio.sleep(0)
            await client.request("thread/loaded/list", {})  # answered behind the admission
            assert client.notifications("turn/completed") == []
        behind = (await starting)["turn"]["id"]
        ended = [(await client.notification("turn/completed"))["turn"] for _ in range(2)]
        assert [(one["id"], one["status"]) for one in ended] == [
            (running, "completed"),
            (behind, "completed"),
        ]
        assert await said_by_user(client, thread) == ["hello", "busy", "more"]


@pytest.mark.requirement("FR-T10")
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_steered_at_the_end_of_a_turn_is_said_once_after_one_retry_at_most(
    kind: Kind, tmp_path: Path
) -> None:
    """The answer is whole, so the turn is over in the same moment, before, or a little later."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        thread, wanted, stale = await started(client), list[str](), 0
        for number in range(STEERS):
            params = {"threadId": thread, "input": words(f"ask {number}")}
            turn = str((await client.request("turn/start", params))["turn"]["id"])
            while (await client.notification("item/completed"))["item"]["type"] != "agentMessage":
                """Of what the user said."""
            taken, retries = await steered(client, thread, turn, f"and {number}")
            stale += retries
            wanted += [f"ask {number}", f"and {number}"]
            while (await client.notification("turn/completed"))["turn"]["id"] != taken:
                """The one before it."""
        assert await said_by_user(client, thread) == wanted
        assert 0 <= stale <= STEERS


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
            "input": words("and be brief"),
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


async def test_a_thread_in_which_nothing_was_said_is_compacted_at_once(tmp_path: Path) -> None:
    """The terminal client of the original ends itself when that is refused; no model is asked."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        assert await client.request("thread/compact/start", {"threadId": thread}) == {}
        item = (await client.notification("item/completed"))["item"]
        assert item["type"] == "contextCompaction"
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert model.requests == []
        await said(client, thread, "hello")
        assert model.requests[-1].user_texts[-1] == "hello"
        listed = await client.request("thread/list", {})
        assert [row["preview"] for row in listed["data"]] == ["hello"]
        turns = await client.request("thread/turns/list", {"threadId": thread})
        assert len(turns["data"]) == 2


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
        steer = {"threadId": thread, "input": words("more"), "expectedTurnId": compaction}
        error = await error_of(client, "turn/steer", steer)
        assert error["message"] == "cannot steer a compact turn"
        info = {"activeTurnNotSteerable": {"turnKind": "compact"}}
        assert error["data"]["codexErrorInfo"] == info
        turn = await client.request("turn/start", {"threadId": thread, "input": words("behind it")})
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
