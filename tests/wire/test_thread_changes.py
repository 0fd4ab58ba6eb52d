"""What is noted of a thread, what its model sees, how it works, and where it ends."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory_write.phase1.transcript import hear
from state.ids import ThreadId
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.wire import KINDS, Kind, WireClient

NOBODY = "00000000-0000-7000-8000-000000000000"
INJECTED = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "from a program"}],
}


async def _words(client: WireClient, thread: str) -> list[str]:
    page = await client.request("thread/items/list", {"threadId": thread, "limit": 100})
    return [
        row["item"]["content"][0]["text"]
        for row in page["data"]
        if row["item"]["type"] == "userMessage"
    ]


async def _path(client: WireClient, thread: str) -> Path:
    return Path((await client.request("thread/read", {"threadId": thread}))["thread"]["path"])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_revert_ends_the_history_before_a_turn_for_good(kind: Kind, tmp_path: Path) -> None:
    """For pages, for the model and in the file; the thread goes on, here and after a restart."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        thread = await started(client)
        turns = [(await said(client, thread, f"words {number}"))["id"] for number in (1, 2, 3)]
        result = await client.request(
            "thread/revert", {"threadId": thread, "beforeTurnId": turns[1]}
        )
        assert (result["thread"]["turns"], result["thread"]["status"]) == ([], {"type": "idle"})
        assert await client.notification("thread/reverted") == {"threadId": thread}
        page = await client.request(
            "thread/turns/list",
            {
                "threadId": thread,
                "cursor": result["turnsBackwardsCursor"],
                "sortDirection": "desc",
            },
        )
        assert [turn["id"] for turn in page["data"]] == [turns[0]]
        assert "words 2" not in (await _path(client, thread)).read_text()
        await said(client, thread, "words 4")
        assert model.requests[-1].user_texts[-2:] == ["words 1", "words 4"]
        assert await _words(client, thread) == ["words 1", "words 4"]
        error = await error_of(
            client, "thread/revert", {"threadId": thread, "beforeTurnId": turns[2]}
        )
        assert error["message"] == f"turn not found: {turns[2]}"
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        assert await _words(client, thread) == ["words 1", "words 4"]
        resumed = await client.request("thread/resume", {"threadId": thread})
        assert [turn["status"] for turn in resumed["thread"]["turns"]] == ["completed"] * 2


async def test_a_revert_undoes_a_compaction_that_came_later(tmp_path: Path) -> None:
    """The model sees the words themselves again."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await said(client, thread, "words 1")
        second = (await said(client, thread, "words 2"))["id"]
        await client.request("thread/compact/start", {"threadId": thread})
        await client.notification("turn/completed")
        await client.request("thread/revert", {"threadId": thread, "beforeTurnId": second})
        await said(client, thread, "words 3")
        assert model.requests[-1].user_texts[-2:] == ["words 1", "words 3"]
        assert "conversation_summary" not in model.requests[-1].text


async def test_forks_keep_what_their_source_reverts(tmp_path: Path) -> None:
    """And a fork may go back behind the place at which it began."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        turns = [(await said(client, thread, f"words {number}"))["id"] for number in (1, 2)]
        fork = (await client.request("thread/fork", {"threadId": thread}))["thread"]["id"]
        other = (await client.request("thread/fork", {"threadId": thread}))["thread"]["id"]
        await said(client, fork, "own words")
        await client.request("thread/revert", {"threadId": other, "beforeTurnId": turns[1]})
        await client.request("thread/revert", {"threadId": thread, "beforeTurnId": turns[0]})
        assert await _words(client, thread) == []
        assert await _words(client, fork) == ["words 1", "words 2", "own words"]
        assert await _words(client, other) == ["words 1"]
        await said(client, other, "on")
        listed = {row["id"] for row in (await client.request("thread/list", {}))["data"]}
        assert listed == {fork, other}
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert await _words(client, fork) == ["words 1", "words 2", "own words"]
        assert await _words(client, other) == ["words 1", "on"]


async def test_a_busy_thread_is_not_changed(tmp_path: Path) -> None:
    """Neither reverted nor given items between a call and its output."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        first = (await said(client, thread, "words 1"))["id"]
        model.script(Reply(text="slow", hangs=True))
        words = [{"type": "text", "text": "busy"}]
        await client.request("turn/start", {"threadId": thread, "input": words})
        await model.wait_for_requests(2)
        for method, params in (
            ("thread/revert", {"beforeTurnId": first}),
            ("thread/inject_items", {"items": [INJECTED]}),
        ):
            error = await error_of(client, method, {"threadId": thread, **params})
            assert (error["data"]["kind"], error["data"]["retryable"]) == ("threadBusy", True)
        model.release()
        await client.notification("turn/completed")
        assert await _words(client, thread) == ["words 1", "busy"]


@pytest.mark.parametrize("begun", [True, False])
async def test_injected_items_go_to_the_model_and_are_nobodys_typed_words(
    begun: bool, tmp_path: Path
) -> None:
    """Before a first turn as well; after a restart they are still there."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        if begun:
            await said(client, thread, "words 1")
        params = {"threadId": thread, "items": [INJECTED]}
        assert await client.request("thread/inject_items", params) == {}
        await said(client, thread, "words 2")
        assert "from a program" in model.requests[-1].user_texts
        path = await _path(client, thread)
        heard = await asyncio.to_thread(
            hear, path, thread_id=ThreadId(thread), cwd="/", git_branch=None
        )
        typed = [item.text for item in heard.items if item.kind == "user"]
        assert typed == (["words 1", "words 2"] if begun else ["words 2"])
        await home.server.services.live.unload(ThreadId(thread))
        await client.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        await said(client, thread, "words 3")
        assert model.requests[-1].user_texts.count("from a program") == 1
        for items, sentence in (
            ([], "items must not be empty"),
            ([INJECTED, 5], "items[1] is not a valid response item: it is no object"),
            ([{"type": "nope"}], "items[0] is not a valid response item: unknown type `nope`"),
            ([{"type": "message"}], "items[0] is not a valid response item: missing field `role`"),
        ):
            error = await error_of(
                client, "thread/inject_items", {"threadId": thread, "items": items}
            )
            assert error["message"] == sentence
        error = await error_of(client, "thread/inject_items", {**params, "threadId": NOBODY})
        assert error["message"] == f"thread not found: {NOBODY}"


@pytest.mark.parametrize("loaded", [True, False])
async def test_what_is_noted_of_a_repository_can_be_set_and_cleared(
    loaded: bool, tmp_path: Path
) -> None:
    """A text sets, null clears, what is left out stays; for loaded and stored threads."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        if not loaded:
            await home.server.services.live.unload(ThreadId(thread))
        for given, left in (
            ({"branch": "main", "sha": "abc"}, {"sha": "abc", "branch": "main", "originUrl": None}),
            ({"sha": None}, {"sha": None, "branch": "main", "originUrl": None}),
        ):
            result = await client.request(
                "thread/metadata/update", {"threadId": thread, "gitInfo": given}
            )
            assert result["thread"]["gitInfo"] == left
        read = await client.request("thread/read", {"threadId": thread})
        assert read["thread"]["gitInfo"]["branch"] == "main"
        at_least = "must include at least one field"
        params: Any
        for params, sentence in (
            ({}, f"thread metadata update {at_least}"),
            ({"gitInfo": {}}, f"gitInfo {at_least}"),
            ({"gitInfo": {"originUrl": " "}}, "gitInfo.originUrl must not be empty"),
            ({"projectId": "p"}, "project not found: p"),
        ):
            error = await error_of(client, "thread/metadata/update", {"threadId": thread, **params})
            assert error["message"] == sentence


async def test_other_settings_hold_from_the_next_turn_and_after_a_resume(tmp_path: Path) -> None:
    """They are told once, and only if something changed."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await said(client, thread, "hello")
        params = {"threadId": thread, "model": "other-model", "effort": "low"}
        for _ in range(2):
            assert await client.request("thread/settings/update", params) == {}
        told = await client.notification("thread/settings/updated")
        assert told["threadSettings"]["model"] == "other-model"
        assert client.notifications("thread/settings/updated") == []
        frames = [one.get("method", "a reply") for one in client.frames]
        assert frames[frames.index("thread/settings/updated") - 1] == "a reply"
        await home.server.services.live.unload(ThreadId(thread))
        resumed = await client.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        assert resumed["reasoningEffort"] == "low"
        await said(client, thread, "again")
        assert model.requests[-1].body["reasoning"]["effort"] == "low"


async def test_threads_are_found_by_words_with_the_place_where_they_stand(tmp_path: Path) -> None:
    """In the first message or the name, page by page."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        threads = []
        for number in range(3):
            thread = await started(client)
            await said(client, thread, f"the topic of message {number}")
            threads.append(thread)
        page = await client.request("thread/search", {"searchTerm": "TOPIC", "limit": 2})
        assert [hit["thread"]["id"] for hit in page["data"]] == threads[:0:-1]
        assert page["data"][0]["snippet"] == "the topic of message 2"
        rest = await client.request(
            "thread/search", {"searchTerm": "topic", "cursor": page["nextCursor"]}
        )
        assert [hit["thread"]["id"] for hit in rest["data"]] == threads[:1]
        assert json.dumps(
            await client.request("thread/search", {"searchTerm": "nowhere"})
        ) == json.dumps({"data": [], "nextCursor": None, "backwardsCursor": None})
