"""The life of threads, connections and requests: idle, dropped in mid-turn, large, taken back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from server.wire.limits import WireLimits
from state.ids import ThreadId
from tests.support.clock import ManualClock
from tests.support.homes import Serving, provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.narrow_link import narrow
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.rollout_files import THREAD, completed, event, session_meta, write_rollout
from tests.support.wire import KINDS, Kind, WireClient
from tests.support.wire_links import WebSocketLink

LONG_WAIT_S = 300.0


async def _minutes(clock: ManualClock, count: int) -> None:
    """Let that many minutes pass, and let whoever wakes do its work."""
    for _ in range(count):
        clock.advance(60)
        for _ in range(10):
            await asyncio.sleep(0)


def _loaded(home: Serving) -> list[str]:
    return [live.id for live in home.server.services.live.loaded()]


@pytest.mark.requirement("MR-9-26")
async def test_a_thread_without_listeners_is_let_go_after_half_an_hour(tmp_path: Path) -> None:
    """Not before, and not one that somebody listens to; everybody hears that it is closed."""
    clock = ManualClock()
    async with (
        serving(tmp_path, clock=clock) as home,
        home.wire.client("pair") as client,
        home.wire.client("pair") as witness,
    ):
        quiet, heard = await started(client), await started(client)
        await said(client, quiet, "hello")
        assert await client.request("thread/unsubscribe", {"threadId": quiet}) == {
            "status": "unsubscribed"
        }
        assert await client.request("thread/unsubscribe", {"threadId": quiet}) == {
            "status": "notSubscribed"
        }
        await _minutes(clock, 29)
        assert _loaded(home) == [quiet, heard]
        await _minutes(clock, 3)
        assert await witness.notification("thread/closed") == {"threadId": quiet}
        assert _loaded(home) == [heard]
        told = [
            frame["params"]["status"]["type"]
            for frame in witness.notifications("thread/status/changed")
            if frame["params"]["threadId"] == quiet
        ]
        assert told[-1] == "notLoaded"
        status = await client.request("thread/unsubscribe", {"threadId": quiet})
        assert status == {"status": "notLoaded"}
        await client.request("thread/resume", {"threadId": quiet, "excludeTurns": True})
        await _minutes(clock, 60)
        assert sorted(_loaded(home)) == sorted([quiet, heard])


@pytest.mark.requirement("MR-9-26")
async def test_a_thread_that_works_is_never_let_go(tmp_path: Path) -> None:
    """Though its last listener left long ago; the time begins with the end of its turn."""
    clock = ManualClock()
    async with (
        ResponsesServer() as model,
        serving(tmp_path, clock=clock, config=provider_config(model.base_url)) as home,
    ):
        async with home.wire.client("pair") as client:
            thread = await started(client)
            model.script(Reply(text="slow", hangs=True))
            words = [{"type": "text", "text": "work"}]
            await client.request("turn/start", {"threadId": thread, "input": words})
            await model.wait_for_requests(1)
        await _minutes(clock, 50)
        assert _loaded(home) == [thread]
        model.release()
        live = home.server.services.live.require(thread)
        await live.wait_idle()
        await _minutes(clock, 29)
        assert _loaded(home) == [thread]
        async with home.wire.client("pair") as witness:
            await _minutes(clock, 3)
            assert await witness.notification("thread/closed") == {"threadId": thread}


async def test_whoever_comes_while_a_thread_is_closing_is_told_to_try_again(
    tmp_path: Path,
) -> None:
    """With the sentence that clients know."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        async with home.server.services.live.apart(ThreadId(thread)):
            for method in ("thread/resume", "turn/start"):
                error = await error_of(client, method, {"threadId": thread, "input": []})
                assert error["message"] == (
                    f"thread {thread} is closing; retry after the thread is closed"
                )
        await client.request("thread/resume", {"threadId": thread, "excludeTurns": True})


@pytest.mark.requirement("FR-T1")
@pytest.mark.requirement("MR-9-30")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_that_comes_back_in_mid_turn_misses_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    """What the resume shows and what is told from then on make the whole answer, once."""
    answer = "one two three four five six seven eight nine ten eleven twelve"
    gate = asyncio.Event()
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
    ):
        model.script(Reply(text=answer, gate=gate))
        async with home.wire.client(kind) as client:
            thread = await started(client)
            words = [{"type": "text", "text": "count"}]
            await client.request("turn/start", {"threadId": thread, "input": words})
            await client.notification("item/agentMessage/delta")
        async with home.wire.client(kind) as client:
            resumed = await client.request("thread/resume", {"threadId": thread})
            (turn,) = resumed["thread"]["turns"]
            assert (turn["status"], resumed["thread"]["status"]["type"]) == ("inProgress", "active")
            user, message = turn["items"]
            assert user["content"][0]["text"] == "count"
            gate.set()
            ended = (await client.notification("turn/completed"))["turn"]
            assert ended["status"] == "completed"
            deltas = [
                frame["params"]["delta"]
                for frame in client.notifications("item/agentMessage/delta")
                if frame["params"]["itemId"] == message["id"]
            ]
            assert message["text"] + "".join(deltas) == answer
            assert deltas != [] and message["text"] != ""
            done = client.notifications("item/completed")
            assert [frame["params"]["item"]["id"] for frame in done] == [message["id"]]
            page = await client.request("thread/items/list", {"threadId": thread})
            assert [row["item"]["id"] for row in page["data"]] == [user["id"], message["id"]]


@pytest.mark.requirement("FR-T5")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_can_tell_a_lost_socket_from_a_new_server(
    kind: Kind, tmp_path: Path
) -> None:
    """By instance and start time; the limits are told as well."""

    async def instance(home: Serving) -> dict[str, Any]:
        async with home.wire.client(kind, initialize=False) as client:
            result = await client.initialize()
            told: dict[str, Any] = result["memoryd"]
            return told

    async with serving(tmp_path) as home:
        first, again = await instance(home), await instance(home)
    async with serving(tmp_path) as home:
        other = await instance(home)
    assert first == again
    assert other["instanceId"] != first["instanceId"]
    assert other["startedAtMs"] >= first["startedAtMs"] > 0
    assert first["limits"]["replyBytesMax"] > first["limits"]["pageBytesMax"] > 0
    assert first["limits"]["inputCharactersMax"] == 1_048_576


@pytest.mark.requirement("FR-T18")
@pytest.mark.parametrize("kind", KINDS)
async def test_calls_that_were_taken_back_do_not_run(kind: Kind, tmp_path: Path) -> None:
    """Sixty behind a slow one: none has an effect, each gets one error, and the rest goes on."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        thread = await started(client)
        await said(client, thread, "hello")
        state = home.server.services.state
        async with state.database.writing():
            # Whoever writes waits behind this.
            kept = client.expect("kept")
            await _send(client, "kept", thread, "the one that stays")
            replies = []
            for number in range(1_000, 1_060):
                replies.append(client.expect(number))
                await _send(client, number, thread, f"name {number}")
            for number in range(1_000, 1_060):
                await client.notify("$/cancelRequest", {"id": number})
            errors = [(await asyncio.wait_for(one, 5))["error"] for one in replies]
        assert {error["code"] for error in errors} == {-32800}
        assert {error["data"]["kind"] for error in errors} == {"requestCancelled"}
        assert (await asyncio.wait_for(kept, 5))["result"] == {}
        await client.notify("$/cancelRequest", {"id": "kept"})
        await client.notify("$/cancelRequest", {"id": 77})
        await client.notify("$/cancelRequest")
        read = await client.request("thread/read", {"threadId": thread})
        assert read["thread"]["name"] == "the one that stays"
        ids = [frame["id"] for frame in client.frames if "id" in frame]
        assert len(ids) == len(set(map(str, ids)))
        names = client.notifications("thread/name/updated")
        assert [one["params"]["threadName"] for one in names] == ["the one that stays"]


async def _send(client: WireClient, number: int | str, thread: str, name: str) -> None:
    params = {"threadId": thread, "name": name}
    message = {"id": number, "method": "thread/name/set", "params": params}
    await client.link.send(json.dumps(message).encode())


def _large(folder: Path, *, turns: int, text_bytes: int) -> Path:
    """A session of so many turns, each with a question and an answer of that size."""
    lines = [session_meta(history_mode="paginated")]
    for number in range(turns):
        turn = f"01a22885-a46e-7000-937a-{number:012x}"
        said_ = {"type": "UserMessage", "id": f"u{number}", "content": []}
        content = [{"type": "Text", "text": f"{number} " + "x" * text_bytes}]
        answer = {"type": "AgentMessage", "id": f"a{number}", "content": content}
        lines += [
            event("task_started", turn_id=turn),
            completed(said_, turn),
            completed(answer, turn),
            event("task_complete", turn_id=turn),
        ]
    numbered = [{"ordinal": number, **line} for number, line in enumerate(lines)]
    return write_rollout(folder / "source", *numbered)


@pytest.mark.requirement("FR-T4")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_large_thread_is_resumed_in_pages_of_which_none_is_too_long(
    kind: Kind, tmp_path: Path
) -> None:
    """Every item comes, once, in frames that every client can read; nothing is dropped."""
    source = await asyncio.to_thread(_large, tmp_path, turns=1_000, text_bytes=2_000)
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        await _all_paged(client, source, turns=1_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("FR-T4")
async def test_forty_megabytes_come_whole_over_a_narrow_link(tmp_path: Path) -> None:
    """Twenty thousand items; the server's own outbox is where they wait."""
    source = await asyncio.to_thread(_large, tmp_path, turns=10_000, text_bytes=4_000)
    async with (
        serving(tmp_path) as home,
        narrow((await home.wire.http()).address) as url,
        connect(url, compression=None, max_size=None, ping_interval=None) as socket,
    ):
        client = WireClient(WebSocketLink(socket))
        await client.initialize()
        await _all_paged(client, source, turns=10_000)
        await client.close()


async def _all_paged(client: WireClient, source: Path, *, turns: int) -> None:
    await _patiently(client, "thread/import", {"path": str(source)})
    resumed = await _patiently(client, "thread/resume", {"threadId": THREAD})
    newest = resumed["thread"]["turns"]
    assert 0 < len(newest) < turns and newest[-1]["items"][-1]["id"] == f"a{turns - 1}"
    cursor, seen = resumed["itemsBackwardsCursor"], []
    while cursor is not None:
        page = await _patiently(
            client,
            "thread/items/list",
            {"threadId": THREAD, "cursor": cursor, "sortDirection": "desc", "limit": 100},
        )
        seen += [row["item"]["id"] for row in page["data"]]
        cursor = page["nextCursor"]
    assert len(seen) == len(set(seen)) == 2 * turns
    assert max(len(json.dumps(frame)) for frame in client.frames) < 64 * 1024
    assert client.notifications("server/lagged") == []


@pytest.mark.requirement("FR-T4")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_reply_beyond_the_limit_is_an_error_and_no_disconnect(
    kind: Kind, tmp_path: Path
) -> None:
    """The error says what to do, and a smaller page comes on the same connection."""
    limits = WireLimits(outbox_bytes_max=24_000)
    source = await asyncio.to_thread(_large, tmp_path, turns=50, text_bytes=1_000)
    async with serving(tmp_path, wire_limits=limits) as home, home.wire.client(kind) as client:
        await client.request("thread/import", {"path": str(source)})
        params = {"threadId": THREAD, "limit": 100}
        error = await error_of(client, "thread/items/list", params)
        assert error["code"] == -32603 and "ask for less at a time" in error["message"]
        page = await client.request("thread/items/list", {**params, "limit": 5})
        assert len(page["data"]) == 5


async def _patiently(client: WireClient, method: str, params: dict[str, Any]) -> Any:
    """A call that may take long on a slow machine."""
    number = f"{method}-{len(client.frames)}"
    waiting = client.expect(number)
    message = {"id": number, "method": method, "params": params}
    await client.link.send(json.dumps(message).encode())
    reply = await asyncio.wait_for(waiting, LONG_WAIT_S)
    assert "result" in reply, reply
    return reply["result"]
