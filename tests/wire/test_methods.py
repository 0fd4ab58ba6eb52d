"""Methods of threads and turns: what they promise beyond their shapes."""

import asyncio
import json
from pathlib import Path

import pytest

from state.ids import ThreadId
from state.rollouts.history import read_history
from state.stores.outputs import Output
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Reply, ResponsesServer, says
from tests.support.wire import KINDS, Kind

NOBODY = "00000000-0000-7000-8000-000000000000"
FRAME_BYTES_MAX = 64 * 1024


async def test_the_reply_comes_before_what_it_causes(tmp_path: Path) -> None:
    """Clients drop what comes before they know the id."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        await client.request("thread/name/set", {"threadId": thread, "name": " a name "})
        await client.notification("thread/name/updated")
        order = [frame.get("method") or "reply" for frame in client.frames]
        for caused in ("thread/started", "thread/status/changed", "thread/name/updated"):
            place = order.index(caused)
            assert "reply" in order[:place]
        assert order.index("thread/started") == order.index("reply", 1) + 1
        assert order[order.index("turn/started") - 2] == "reply"
        assert order[order.index("thread/name/updated") - 1] == "reply"


async def test_everyone_hears_of_a_thread_and_only_listeners_hear_what_is_said(
    tmp_path: Path,
) -> None:
    """A second client joins by resuming."""
    async with (
        serving(tmp_path) as home,
        home.wire.client("pair") as first,
        home.wire.client("pair") as second,
    ):
        thread = await started(first)
        await second.notification("thread/started")
        await said(first, thread, "hello")
        await second.notification("thread/status/changed")
        assert second.notifications("item/completed") == []
        await second.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        await said(first, thread, "again")
        await second.notification("turn/completed")
        assert second.notifications("item/completed") != []


@pytest.mark.requirement("FR-T9")
@pytest.mark.parametrize("kind", KINDS)
async def test_of_simultaneous_starts_one_begins_a_turn_and_the_others_join_it(
    kind: Kind, tmp_path: Path
) -> None:
    """From two clients, many times."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as first,
        home.wire.client(kind) as second,
    ):
        thread = await started(first)
        await said(first, thread, "hello")
        await second.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        for number in range(20):
            params = {"threadId": thread, "input": [{"type": "text", "text": f"say {number}"}]}
            one, other = await asyncio.gather(
                first.request("turn/start", params), second.request("turn/start", params)
            )
            assert one["turn"]["id"] == other["turn"]["id"]
            await first.notification("turn/completed")
            await second.notification("turn/completed")
        begun = [frame for frame in first.frames if frame.get("method") == "turn/started"]
        assert len(begun) == 21


@pytest.mark.requirement("FR-T9")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_start_that_requires_idle_leaves_a_busy_thread_alone(
    kind: Kind, tmp_path: Path
) -> None:
    """Nothing is recorded, told or changed, and no model is called."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
        home.wire.client("pair") as watcher,
    ):
        thread, state = await started(client), home.server.services.state
        await said(client, thread, "hello")
        await watcher.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        model.script(Reply(hangs=True))  # nothing is told of it meanwhile
        words = [{"type": "text", "text": "first"}]
        turn = await client.request("turn/start", {"threadId": thread, "input": words})
        await model.wait_for_requests(2)
        await watcher.notification("turn/started")
        path = Path((await client.request("thread/read", {"threadId": thread}))["thread"]["path"])
        live = home.server.services.live.require(ThreadId(thread))

        async def seen() -> tuple[object, ...]:
            await watcher.request("thread/loaded/list", {})
            async with state.database.reading() as read:
                row = await state.threads.get(read, ThreadId(thread))
            told = [one for one in watcher.frames if "method" in one]
            return await asyncio.to_thread(path.read_bytes), row, live.settings, told

        before = await seen()
        changes = {"model": "another", "effort": "high", "approvalPolicy": "never", "cwd": "/"}
        start = {"threadId": thread, "input": words, "requireIdle": True}
        for more in ({}, changes):
            error = await error_of(client, "turn/start", {**start, **more})
            assert error["data"] == {
                "kind": "threadBusy",
                "retryable": True,
                "activeTurnId": turn["turn"]["id"],
            }
        assert await seen() == before
        model.release()
        await watcher.notification("turn/completed")
        assert len(model.requests) == 2
        items = await client.request("thread/items/list", {"threadId": thread})
        kinds = [one["item"]["type"] for one in items["data"]]
        assert kinds == ["userMessage", "agentMessage", "userMessage"]
        await client.request("turn/start", {**start, **changes})
        await watcher.notification("turn/completed")
        assert (live.settings.model, live.settings.cwd) == ("another", "/")


async def test_a_stale_interrupt_says_whether_the_thread_is_idle(tmp_path: Path) -> None:
    """And touches nothing."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        error = await error_of(client, "turn/interrupt", {"threadId": thread, "turnId": NOBODY})
        assert error["message"] == "no active turn to interrupt"
        assert error["data"] == {"kind": "noActiveTurn", "activeTurnId": None}


async def test_a_deleted_thread_leaves_nothing(tmp_path: Path) -> None:
    """File, row, what was learned; loaded or not, begun or not."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        path = Path((await client.request("thread/read", {"threadId": thread}))["thread"]["path"])
        assert _exists(path)
        state = home.server.services.state
        async with state.database.writing() as tx:
            await state.outputs.put(tx, _output(thread))
        assert await client.request("thread/delete", {"threadId": thread}) == {}
        await client.notification("thread/deleted")
        assert not _exists(path)
        async with state.database.reading() as read:
            assert await state.threads.get(read, ThreadId(thread)) is None
            assert await state.outputs.get(read, "v1", ThreadId(thread)) is None
        unborn = await started(client)
        await client.request("thread/delete", {"threadId": unborn})
        assert (await client.request("thread/loaded/list", {}))["data"] == []
        ephemeral = await started(client, ephemeral=True)
        for thread_id, sentence in (
            (thread, f"no rollout found for thread id {thread}"),
            (ephemeral, f"thread is not persisted and cannot be deleted: {ephemeral}"),
        ):
            error = await error_of(client, "thread/delete", {"threadId": thread_id})
            assert error["message"] == sentence


async def test_a_name_given_before_the_first_turn_is_kept(tmp_path: Path) -> None:
    """And one given to a stored thread, too."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await client.request("thread/name/set", {"threadId": thread, "name": "early"})
        await said(client, thread, "hello")
        [row] = (await client.request("thread/list", {}))["data"]
        assert row["name"] == "early"
        await home.server.services.live.unload(ThreadId(thread))
        await client.request("thread/name/set", {"threadId": thread, "name": "late"})
        [row] = (await client.request("thread/list", {"searchTerm": "LATE"}))["data"]
        assert (row["name"], row["status"]) == ("late", {"type": "notLoaded"})


async def test_a_prompt_of_any_length_breaks_no_client(tmp_path: Path) -> None:
    """No frame reaches 64 KiB, and the model and the file have the whole text."""
    prompt = "é" * 70_000
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        model.choose = lambda request: says("a long answer. " * 6_000, delta_characters=2_000)
        thread = await started(client)
        await said(client, thread, prompt)
        await said(client, thread, prompt)
        await client.request("thread/resume", {"threadId": thread})
        read = await client.request("thread/read", {"threadId": thread, "includeTurns": True})
        await client.request("thread/turns/list", {"threadId": thread, "itemsView": "full"})
        page = await client.request("thread/items/list", {"threadId": thread})
        await client.request("thread/list", {})
        assert page["nextCursor"] is not None
        sizes = [len(json.dumps(frame, ensure_ascii=False).encode()) for frame in client.frames]
        assert max(sizes) < FRAME_BYTES_MAX
        assert prompt in model.requests[0].user_texts
        [first, *_] = read_history(Path(read["thread"]["path"])).turns
        assert first.items[0].body["content"][0]["text"] == prompt


async def test_a_long_thread_is_resumed_with_its_newest_turns_and_a_way_back(
    tmp_path: Path,
) -> None:
    """The cursor leads to every turn that was left out."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        model.choose = lambda request: says("x" * 9_000, delta_characters=3_000)
        thread = await started(client)
        turns = [(await said(client, thread, f"turn {number}"))["id"] for number in range(8)]
        await home.server.services.live.unload(ThreadId(thread))
        resumed = await client.request("thread/resume", {"threadId": thread})
        shown = [turn["id"] for turn in resumed["thread"]["turns"]]
        assert 0 < len(shown) < 8
        assert shown == turns[-len(shown) :]
        found: list[str] = []
        cursor = resumed["turnsBackwardsCursor"]
        while cursor is not None:
            params = {"threadId": thread, "cursor": cursor, "itemsView": "full", "limit": 100}
            page = await client.request("thread/turns/list", params)
            found += [turn["id"] for turn in page["data"]]
            cursor = page["nextCursor"]
        assert found == turns[::-1]


async def test_lists_hold_threads_of_every_provider_and_page_without_loss(tmp_path: Path) -> None:
    """Filters and cursors together."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        made = []
        for number in range(5):
            thread = await started(client, cwd=f"/projects/{number % 2}")
            await said(client, thread, f"about topic-{number}")
            made.append(thread)
        found: list[str] = []
        cursor = None
        for _ in range(5):
            page = await client.request("thread/list", {"limit": 2, "cursor": cursor})
            found += [row["id"] for row in page["data"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert found == made[::-1]
        for filters, expected in (
            ({"cwd": "/projects/1"}, [3, 1]),
            ({"cwd": ["/projects/1", "/nowhere"]}, [3, 1]),
            ({"searchTerm": "topic-2"}, [2]),
            ({"searchTerm": "  "}, [4, 3, 2, 1, 0]),
            ({"sortDirection": "asc", "limit": 1}, [0]),
            ({"modelProviders": ["nobody"]}, []),
            ({"modelProviders": []}, [4, 3, 2, 1, 0]),
            ({"archived": True}, []),
            ({"sourceKinds": ["cli"]}, []),
            ({"projectId": "x"}, []),
            ({"excludedThreadIds": made[1:]}, [0]),
            ({"includedThreadIds": [made[2]]}, [2]),
        ):
            rows = (await client.request("thread/list", filters))["data"]
            assert [row["id"] for row in rows] == [made[index] for index in expected], filters


async def test_a_draining_server_still_answers_what_only_reads(tmp_path: Path) -> None:
    """What would begin something is told to reconnect; the running turn goes on to its end."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        model.script(Reply(text="slow", hangs=True))
        thread = await started(client)
        words = [{"type": "text", "text": "hello"}]
        await client.request("turn/start", {"threadId": thread, "input": words})
        await model.wait_for_requests(1)
        stopping = asyncio.create_task(home.server.stop(drain_s=5))
        await asyncio.sleep(0)
        assert home.server.services.draining()
        for method, params in (
            ("thread/start", {}),
            ("thread/resume", {"threadId": thread}),
            ("turn/start", {"threadId": thread, "input": []}),
            ("memory/consolidate/start", {}),
        ):
            error = await error_of(client, method, params)
            assert error["message"] == "Server is draining; retry after reconnecting"
            assert error["data"] == {"reason": "serverShuttingDown"}
        for method, params in (
            ("thread/read", {"threadId": thread}),
            ("thread/list", {}),
            ("thread/loaded/list", {}),
            ("memory/status", {}),
        ):
            await client.request(method, params)
        model.release()
        ended = await client.notification("turn/completed")
        assert ended["turn"]["status"] == "completed"
        await stopping


async def test_an_unknown_provider_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """By its name."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        error = await error_of(client, "thread/start", {"modelProvider": "nobody"})
        assert error["message"] == "model provider `nobody` not found"
        error = await error_of(client, "thread/start", {"config": {"memories.version": "v9"}})
        assert error["message"].startswith("failed to load configuration: unknown variant `v9`")
        assert (await client.request("thread/loaded/list", {}))["data"] == []


async def test_too_much_input_is_refused_with_its_size(tmp_path: Path) -> None:
    """The limit itself is fine."""
    async with (
        serving(tmp_path) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        words = [{"type": "text", "text": "x" * 1_048_577}]
        error = await error_of(client, "turn/start", {"threadId": thread, "input": words})
        assert error == {
            "code": -32602,
            "message": "Input exceeds the maximum length of 1048576 characters.",
            "data": {
                "input_error_code": "input_too_large",
                "max_chars": 1_048_576,
                "actual_chars": 1_048_577,
            },
        }


async def test_every_other_method_is_answered_at_once(tmp_path: Path) -> None:
    """Silence makes clients hang, an error does not."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        for method in ("thread/goal/set", "thread/readState/update", "x"):
            error = await error_of(client, method, {})
            assert error["code"] == -32601


def _exists(path: Path) -> bool:
    return path.exists()


def _output(thread_id: str) -> Output:
    return Output(
        version="v1",
        thread_id=ThreadId(thread_id),
        source_updated_at_ms=1,
        raw_memory="likes blue",
        rollout_summary="likes blue",
        rollout_slug=None,
        generated_at_ms=1,
    )
