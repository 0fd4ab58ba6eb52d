"""Clients that are slow, many or leaving: nobody else notices, and nothing is lost silently."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.exceptions import InvalidStatus

from protocol.messages.items import AgentMessageDelta
from protocol.messages.threads import ThreadIdNotice
from protocol.methods import AGENT_MESSAGE_DELTA, THREAD_CLOSED
from server.wire.limits import WireLimits
from server.wire.transport import TOO_SLOW
from state.ids import ThreadId
from tests.support.small_server import SmallServer
from tests.support.wire import KINDS, WAIT_S, Kind, WireClient, wired
from tests.support.wire_links import LineLink, Link, WebSocketLink

THREAD = ThreadId("t")
NOTICE = ThreadIdNotice(thread_id="t")
HELLO = orjson.dumps(
    {
        "id": 0,
        "method": "initialize",
        "params": {
            "clientInfo": {"name": "n", "version": "1"},
            "capabilities": {"experimentalApi": True},
        },
    }
)
LISTEN = b'{"id":1,"method":"thread/unsubscribe","params":{"threadId":"t"}}'


def delta(text: str) -> AgentMessageDelta:
    """A piece of progress."""
    return AgentMessageDelta(thread_id="t", turn_id="u", item_id="i", delta=text)


async def listening(link: Link) -> None:
    """Shake hands and subscribe, without a task that reads on."""
    await link.send(HELLO)
    assert await link.receive() is not None
    await link.send(LISTEN)
    assert await link.receive() is not None


async def settled(predicate: Any) -> None:
    """Let other tasks run until it holds."""
    async with asyncio.timeout(WAIT_S):
        while not predicate():  # noqa: ASYNC110  what is waited for announces nothing
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T3")
async def test_under_saturation_what_must_arrive_arrives_and_progress_is_counted(
    kind: Kind, tmp_path: Path
) -> None:
    """Sent and dropped pieces add up, and the marker comes before progress goes on."""
    server = SmallServer(limits=WireLimits(outbox_items_max=200))
    async with (
        wired(server.connect, tmp_path, limits=server.limits) as wire,
        wire.client(kind) as client,
    ):
        await client.request("thread/unsubscribe", {"threadId": "t"})
        pieces = 1000
        for number in range(pieces):  # no await: the writer has no turn in between
            server.hub.publish(AGENT_MESSAGE_DELTA, delta(str(number)), thread_id=THREAD)
            if number % 20 == 19:
                server.hub.publish(THREAD_CLOSED, NOTICE, thread_id=THREAD)
        lag = await client.notification("server/lagged")
        server.hub.publish(AGENT_MESSAGE_DELTA, delta("after"), thread_id=THREAD)
        await client.request("thread/name/set", {"threadId": "t", "name": "n"})
        got = [one["params"]["delta"] for one in client.notifications("item/agentMessage/delta")]
        assert lag == {"threadId": "t", "dropped": pieces - (len(got) - 1)}
        assert got[:-1] == [str(number) for number in range(len(got) - 1)] and got[-1] == "after"
        assert len(client.notifications("thread/closed")) == 50
        assert client.notifications("server/lagged") == []


@pytest.mark.parametrize("kind", ["websocket", "unix-websocket", "relay", "pair"])
@pytest.mark.requirement("FR-T2", "MR-9-27")
async def test_a_client_that_never_reads_is_closed_and_holds_up_nobody(
    kind: Kind, tmp_path: Path
) -> None:
    """Fifty megabytes go to both; the reader gets all, the other one's memory is let go."""
    # No time for a farewell: the one that is too slow has its own.
    server = SmallServer(limits=WireLimits(outbox_bytes_max=1 << 20, close_s=0))
    async with (
        wired(server.connect, tmp_path, limits=server.limits) as wire,
        wire.client(kind) as reader,
        wire.link(kind) as sleeper,
    ):
        await reader.request("thread/unsubscribe", {"threadId": "t"})
        await listening(sleeper)
        slow = server.hub.peers[-1]
        big = ThreadIdNotice(thread_id="x" * 100_000)
        sent = 500
        for number in range(1, sent + 1):
            server.hub.publish(THREAD_CLOSED, big, thread_id=THREAD)
            if number % 5 == 0:
                await settled(lambda: len(reader.notifications("thread/closed")) == number)  # noqa: B023
        assert slow.ending is not None and slow.ending.code == TOO_SLOW
        assert slow.ending.reason == f"too slow, {slow.dropped} dropped"
        await settled(lambda: slow not in server.hub.peers)
        assert server.hub.subscribers(THREAD) == 1
        received = 0
        while await sleeper.receive() is not None:
            received += 1
        if kind in ("websocket", "unix-websocket", "pair"):
            assert (sleeper.close_code, sleeper.close_reason) == (4008, slow.ending.reason)
        assert received < sent


@pytest.mark.requirement("MR-9-27")
@pytest.mark.parametrize("kind", KINDS)
async def test_too_many_requests_at_once_are_answered_as_overload(
    kind: Kind, tmp_path: Path
) -> None:
    """At once, each under its id, while the others still run."""
    server = SmallServer(limits=WireLimits(requests_in_flight_max=8))
    async with (
        wired(server.connect, tmp_path, limits=server.limits) as wire,
        wire.client(kind) as client,
    ):
        params = {"threadId": "t", "name": "wait"}
        waiting = [asyncio.create_task(client.reply("thread/name/set", params)) for _ in range(20)]
        done, pending = set[Any](), set(waiting)
        while len(done) < 12:
            finished, pending = await asyncio.wait(
                pending, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED
            )
            done |= finished
        assert {task.result()["error"]["code"] for task in done} == {-32001}
        assert len(pending) == 8
        server.go.set()
        assert [await task for task in pending] and len(server.named) == 8


@pytest.mark.requirement("FR-T4")
@pytest.mark.parametrize("kind", KINDS)
async def test_who_asks_for_more_than_there_is_room_for_is_answered_and_stays(
    kind: Kind, tmp_path: Path
) -> None:
    """It reads nothing meanwhile; each call has its reply, the refused ones overload."""
    limits = WireLimits(outbox_bytes_max=1 << 20, requests_in_flight_max=16)
    server = SmallServer(limits=limits)
    server.summary = "x" * 60_000
    calls = 400
    async with (
        wired(server.connect, tmp_path, limits=limits) as wire,
        wire.link(kind) as link,
    ):
        await listening(link)
        slow = server.hub.peers[-1]
        if isinstance(link, (LineLink, WebSocketLink)):
            link.fall_silent()
        asked = {"method": "thread/memory/read", "params": {"threadId": "t"}}
        for number in range(calls):
            await link.send(orjson.dumps({"id": f"c{number}", **asked}))
        await settled(lambda: slow.waiting > calls // 3)
        if isinstance(link, (LineLink, WebSocketLink)):
            link.wake()
        replies: dict[str, dict[str, Any]] = {}
        async with asyncio.timeout(WAIT_S):
            while len(replies) < calls:
                message = await link.receive()
                assert message is not None, "it was closed"
                reply = orjson.loads(message)
                replies[reply["id"]] = reply
        codes = {reply["error"]["code"] for reply in replies.values() if "error" in reply}
        assert codes == {-32001} and any("result" in reply for reply in replies.values())
        await link.send(b'{"id":"end","method":"thread/loaded/list"}')
        assert await link.receive() is not None
        await link.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_burst_of_quick_requests_is_served_whole(kind: Kind, tmp_path: Path) -> None:
    """The bound is for what is under way, not for what comes in one packet."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client(kind) as client:
        params = {"threadId": "t", "name": "n"}
        async with asyncio.timeout(WAIT_S):
            replies = await asyncio.gather(
                *(client.reply("thread/name/set", params) for _ in range(1000))
            )
        assert all(reply["result"] == {} for reply in replies)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T16")
async def test_stopping_says_goodbye_after_what_was_under_way(kind: Kind, tmp_path: Path) -> None:
    """The request that runs is answered, what waits is sent, then the close code of going away."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.link(kind) as link:
        client = WireClient(link)
        await client.initialize()
        await client.request("thread/unsubscribe", {"threadId": "t"})
        waiting = asyncio.create_task(
            client.reply("thread/name/set", {"threadId": "t", "name": "wait"})
        )
        await asyncio.sleep(0)
        await client.request("thread/name/set", {"threadId": "t", "name": "n"})
        if kind == "stdio":
            await client.link.close()  # its own way of ending: the end of input
        stopping = asyncio.create_task(wire.stop(5))
        server.hub.publish(THREAD_CLOSED, NOTICE, thread_id=THREAD)
        server.go.set()
        assert (await waiting)["result"] == {}
        await client.notification("thread/closed")
        async with asyncio.timeout(WAIT_S):
            await client.closed.wait()
            await stopping
        if kind in ("websocket", "unix-websocket", "pair"):
            assert link.close_code == 1001
        assert server.hub.peers == ()


@pytest.mark.requirement("FR-T16")
async def test_fifty_streaming_clients_are_each_told_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The listener stops inside its time, with requests that never end and clients that sleep."""
    server = SmallServer(limits=WireLimits(farewell_s=0.2, close_s=0.2))
    async with wired(server.connect, tmp_path, limits=server.limits) as wire:
        await wire.http()
        contexts = [wire.link("websocket") for _ in range(50)]
        links = await asyncio.gather(*(context.__aenter__() for context in contexts))
        await asyncio.gather(*(listening(link) for link in links))
        await links[0].send(
            b'{"id":9,"method":"thread/name/set","params":{"threadId":"t","name":"wait"}}'
        )
        for _ in range(20):
            server.hub.publish(AGENT_MESSAGE_DELTA, delta("x" * 1000), thread_id=THREAD)
        async with asyncio.timeout(WAIT_S):
            await wire.stop(2)
        for link in links:
            while await link.receive() is not None:
                pass
            assert link.close_code in (1001, 1012)
        for context in contexts:
            await context.__aexit__(None, None, None)
        assert [one for one in caplog.records if one.levelname in ("ERROR", "WARNING")] == []
        assert server.hub.peers == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("FR-T17")
async def test_a_client_that_leaves_frees_all_it_held(kind: Kind, tmp_path: Path) -> None:
    """Subscriptions, tasks, and the request it no longer waits for."""
    server = SmallServer(limits=WireLimits(farewell_s=0.05))
    async with wired(server.connect, tmp_path, limits=server.limits) as wire:
        before = len(asyncio.all_tasks())
        async with wire.client(kind) as client:
            await client.request("thread/unsubscribe", {"threadId": "t"})
            asking = asyncio.create_task(
                client.reply("thread/name/set", {"threadId": "t", "name": "wait"})
            )
            await client.request("thread/name/set", {"threadId": "t", "name": "n"})
        with pytest.raises(ConnectionResetError):
            await asking
        await settled(lambda: server.hub.peers == ())
        assert server.hub.subscribers(THREAD) == 0
        await settled(lambda: len(asyncio.all_tasks()) <= before)
        assert server.named == ["n"]
    gc.collect()  # a transport left open would warn here


@pytest.mark.parametrize("kind", ["websocket", "unix-websocket"])
@pytest.mark.requirement("FR-T17")
async def test_a_peer_that_answers_no_more_frees_all_it_held(kind: Kind, tmp_path: Path) -> None:
    """Its connection stands, but nothing comes from it, as where packets are dropped."""
    server = SmallServer(limits=WireLimits(ping_interval_s=0.05, ping_timeout_s=0.05))
    async with (
        wired(server.connect, tmp_path, limits=server.limits) as wire,
        wire.link(kind) as link,
    ):
        await listening(link)
        assert server.hub.subscribers(THREAD) == 1
        assert isinstance(link, WebSocketLink)
        link.fall_silent()
        await settled(lambda: server.hub.peers == ())
        assert server.hub.subscribers(THREAD) == 0
        link.wake()


@pytest.mark.parametrize("kind", ["websocket", "unix-websocket", "relay"])
async def test_more_clients_than_the_bound_are_refused(kind: Kind, tmp_path: Path) -> None:
    """And one that leaves makes room."""
    server = SmallServer(limits=WireLimits(connections_max=2))
    async with wired(server.connect, tmp_path, limits=server.limits) as wire:
        async with wire.client(kind), wire.client(kind):
            with pytest.raises((InvalidStatus, ConnectionError)):
                async with wire.client(kind):
                    pass
        await settled(lambda: server.hub.peers == ())
        async with wire.client(kind):
            pass
