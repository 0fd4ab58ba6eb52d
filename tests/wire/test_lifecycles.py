"""The life of threads, connections and requests: idle, dropped in mid-turn, large, taken back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from server.agent.inputs import ThreadSettings
from server.agent.live_threads import LiveThreads
from server.handlers.idling import IdleThreads
from server.wire.limits import WireLimits
from state.ids import ThreadId
from tests.support.clock import ManualClock
from tests.support.homes import Serving, provider_config, serving
from tests.support.large_thread import write_plain_thread
from tests.support.methods import error_of, said, started
from tests.support.paging import all_paged, imported
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.rollout_files import THREAD
from tests.support.wire import KINDS, Kind, WireClient


async def _minutes(clock: ManualClock, count: int) -> None:
    """Let that many minutes pass, and let whoever wakes do its work."""
    for _ in range(count):
        clock.advance(60)
        for _ in range(10):
            await asyncio.sleep(0)


def _loaded(home: Serving) -> list[str]:
    return [live.id for live in home.server.services.live.loaded()]


async def test_who_resumes_is_told_what_the_thread_holds_already(tmp_path: Path) -> None:
    """With its turns and without them: clients show how full the window is before the next turn."""
    async with ResponsesServer() as model:
        config = f"model_context_window = 50_000\n{provider_config(model.base_url)}"
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            thread = await started(client)
            await said(client, thread, "hello")
            [told] = client.notifications("thread/tokenUsage/updated")
            for excluded in (True, False):
                async with home.wire.client("pair") as other:
                    params = {"threadId": thread, "excludeTurns": excluded}
                    await other.request("thread/resume", params)
                    again = await other.notification("thread/tokenUsage/updated")
                    assert again == told["params"]
                    assert again["tokenUsage"]["modelContextWindow"] == 50_000


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


async def test_a_thread_to_which_a_client_comes_while_another_is_let_go_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were quiet when it was looked; letting go of the first takes its time."""
    clock = ManualClock()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        services = home.server.services
        idle = IdleThreads(services.live, services.hub, clock, idle_s=60)
        first, second = await started(client), await started(client)
        for thread in (first, second):
            await said(client, thread, "hello")
            await client.request("thread/unsubscribe", {"threadId": thread})
        unload = LiveThreads.unload

        async def slow(live: LiveThreads, thread_id: ThreadId) -> bool:
            await client.request("thread/resume", {"threadId": second, "excludeTurns": True})
            return await unload(live, thread_id)

        monkeypatch.setattr(LiveThreads, "unload", slow)
        clock.advance(10 * 365 * 86_400)  # far behind the time of the threads' turns
        await idle.look()
        clock.advance(60)
        await idle.look()
        assert _loaded(home) == [second]
        monkeypatch.setattr(LiveThreads, "unload", unload)
        await client.request("thread/unsubscribe", {"threadId": second})
        await idle.look()
        assert _loaded(home) == [second]
        clock.advance(60)
        await idle.look()
        assert _loaded(home) == []


@pytest.mark.parametrize("method", ["thread/resume", "thread/fork"])
async def test_nobody_listens_to_a_thread_that_went_while_it_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Such a listener would be held for nothing as long as its client is there."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        await client.request("thread/unsubscribe", {"threadId": thread})
        live = home.server.services.live

        async def gone(settings: ThreadSettings) -> list[str]:
            for one in live.loaded():
                await live.unload(one.id)
            return []

        module = method.replace("thread/resume", "resuming").replace("thread/fork", "forking")
        monkeypatch.setattr(f"server.handlers.{module}.instruction_sources", gone)
        error = await error_of(client, method, {"threadId": thread, "excludeTurns": True})
        assert error["message"].startswith("thread not found")
        assert home.server.services.hub.subscriptions == 0


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


@pytest.mark.requirement("FR-T4")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_large_thread_is_resumed_in_pages_of_which_none_is_too_long(
    kind: Kind, tmp_path: Path
) -> None:
    """Every item comes, once, in frames that every client can read; nothing is dropped."""
    source = await asyncio.to_thread(write_plain_thread, tmp_path, turns=1_000, text_bytes=2_000)
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        await imported(client, source)
        await all_paged(client, turns=1_000)


@pytest.mark.requirement("FR-T4")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_reply_beyond_the_limit_is_an_error_and_no_disconnect(
    kind: Kind, tmp_path: Path
) -> None:
    """The error says what to do, and a smaller page comes on the same connection."""
    limits = WireLimits(outbox_bytes_max=24_000)
    source = await asyncio.to_thread(write_plain_thread, tmp_path, turns=50, text_bytes=1_000)
    async with serving(tmp_path, wire_limits=limits) as home, home.wire.client(kind) as client:
        await client.request("thread/import", {"path": str(source)})
        params = {"threadId": THREAD, "limit": 100}
        error = await error_of(client, "thread/items/list", params)
        assert error["code"] == -32603 and "ask for less at a time" in error["message"]
        page = await client.request("thread/items/list", {**params, "limit": 5})
        assert len(page["data"]) == 5
