"""Who hears what."""

import orjson
import pytest

from protocol.base import WireModel
from protocol.messages.handshake import Warning
from protocol.messages.items import AgentMessageDelta
from protocol.messages.threads import ThreadIdNotice
from protocol.methods import (
    AGENT_MESSAGE_DELTA,
    MEMORY_PROGRESS,
    THREAD_DELETED,
    THREAD_REVERTED,
    WARNING,
    NotificationType,
)
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer
from state.ids import ThreadId
from tests.support.clock import ManualClock

THREAD = ThreadId("t")
NOTICE = ThreadIdNotice(thread_id="t")


def make_hub() -> Hub:
    """A hub without peers."""
    return Hub(ManualClock(), WireLimits())


def join(hub: Hub, *, experimental: bool = True, opted_out: frozenset[str] = frozenset()) -> Peer:
    """A peer that has shaken hands."""
    peer = hub.attach("pair")
    peer.introduce(
        Introduction(name="n", version="1", experimental=experimental, opted_out=opted_out)
    )
    peer.initialized = True
    return peer


async def heard(peer: Peer) -> list[str]:
    """The methods of what waits for a peer."""
    peer.end(1000, "")
    return [orjson.loads(frame)["method"] for frame in await peer.take()]


async def test_a_thread_is_heard_by_its_listeners_and_a_broadcast_by_all() -> None:
    """Each once, whatever was subscribed how often."""
    hub = make_hub()
    listener, other = join(hub), join(hub)
    hub.subscribe(listener, THREAD)
    hub.subscribe(listener, THREAD)
    hub.publish(THREAD_REVERTED, NOTICE, thread_id=THREAD)
    hub.publish(THREAD_DELETED, NOTICE, thread_id=THREAD)
    hub.publish(THREAD_REVERTED, NOTICE, thread_id=ThreadId("another"))
    assert await heard(listener) == ["thread/reverted", "thread/deleted"]
    assert await heard(other) == ["thread/deleted"]


@pytest.mark.requirement("FR-T16")
async def test_what_concerns_everyone_is_told_to_all_who_are_ready() -> None:
    """Also by a notification that is about one thread at other times."""
    hub = make_hub()
    plain, declined = join(hub, experimental=False), join(hub, opted_out=frozenset({"warning"}))
    early = hub.attach("pair")
    hub.tell_all(WARNING, Warning(thread_id=None, message="the server is shutting down"))
    assert await heard(plain) == ["warning"]
    assert await heard(declined) == await heard(early) == []


async def test_who_is_not_ready_or_declined_or_may_not_see_it_gets_nothing() -> None:
    """Before the handshake, by exact name, and without the experimental interface."""
    hub = make_hub()
    silent = hub.attach("pair")
    declined = join(hub, opted_out=frozenset({"thread/deleted", "no/such"}))
    stable = join(hub, experimental=False)
    hub.publish(THREAD_DELETED, NOTICE, thread_id=None)
    hub.publish(MEMORY_PROGRESS, NOTICE, thread_id=None)
    assert await heard(silent) == []
    assert await heard(declined) == ["memory/progress"]
    assert await heard(stable) == ["thread/deleted"]


async def test_a_notification_is_serialised_once_and_carries_its_time() -> None:
    """All peers share the same bytes."""
    hub = make_hub()
    peers = [join(hub) for _ in range(3)]
    hub.publish(THREAD_DELETED, NOTICE, thread_id=None)
    frames = [(await peer.take())[0] for peer in peers]
    assert frames[0] is frames[1] is frames[2]
    assert orjson.loads(frames[0]) == {
        "method": "thread/deleted",
        "params": {"threadId": "t"},
        "emittedAtMs": ManualClock().now_ms(),
    }


async def test_nothing_is_serialised_for_nobody() -> None:
    """An unheard delta costs nothing."""

    class Unreadable(WireModel):
        def to_json(self) -> bytes:
            raise AssertionError("was serialised")

    make_hub().publish(AGENT_MESSAGE_DELTA, Unreadable(), thread_id=THREAD)


async def test_subscriptions_end_with_unsubscribe_with_the_thread_and_with_the_peer() -> None:
    """The table is empty afterwards."""
    hub = make_hub()
    first, second, third = join(hub), join(hub), join(hub)
    for peer in (first, second, third):
        hub.subscribe(peer, THREAD)
    assert hub.unsubscribe(first, THREAD) is True
    assert hub.unsubscribe(first, THREAD) is False
    hub.detach(second)
    hub.detach(second)
    assert hub.subscribers(THREAD) == 1
    hub.release(THREAD)
    assert hub.subscribers(THREAD) == 0
    hub.subscribe(second, THREAD)  # it has left
    assert hub.subscribers(THREAD) == 0
    assert hub.peers == (first, third)


async def test_one_peer_can_be_told_alone() -> None:
    """After a resume, for example."""
    hub = make_hub()
    one, other = join(hub), join(hub)
    hub.tell(one, THREAD_REVERTED, NOTICE, thread_id=THREAD)
    assert await heard(one) == ["thread/reverted"]
    assert await heard(other) == []


async def test_a_lone_surrogate_is_replaced_and_the_message_still_arrives() -> None:
    """A model can produce one; UTF-8 cannot hold it."""
    hub = make_hub()
    peer = join(hub)
    hub.subscribe(peer, THREAD)
    odd = AgentMessageDelta.model_construct(
        thread_id="t", turn_id="u", item_id="i", delta="a\ud800b"
    )
    hub.publish(AGENT_MESSAGE_DELTA, odd, thread_id=THREAD)
    [frame] = await peer.take()
    assert orjson.loads(frame)["params"]["delta"] == "a?b"


async def test_a_notification_of_a_thread_needs_its_thread() -> None:
    """Or it would go to nobody, silently."""
    odd = NotificationType("x", ThreadIdNotice, True, "thread")
    with pytest.raises(ValueError, match="needs the thread"):
        make_hub().publish(odd, NOTICE, thread_id=None)
