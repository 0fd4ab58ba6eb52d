"""The outbox of a peer: what is dropped, what is told, and when it is too slow."""

import asyncio
from typing import Any

import pytest

from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer
from server.wire.transport import TOO_SLOW, Ending


def make_peer(**bounds: Any) -> Peer:
    """A peer with small bounds."""
    settings: dict[str, Any] = {"outbox_items_max": 8, "outbox_bytes_max": 800, **bounds}
    return Peer(
        1,
        "pair",
        limits=WireLimits(**settings),
        marker=lambda thread_id, dropped: f"lag {thread_id} {dropped}".encode(),
        answered=lambda *_: None,
    )


async def drained(peer: Peer) -> list[bytes]:
    """All that waits now."""
    frames: list[bytes] = []
    while True:
        taking = asyncio.create_task(peer.take())
        await asyncio.sleep(0)
        if not taking.done():
            taking.cancel()
            return frames
        frames += taking.result()


@pytest.mark.requirement("FR-T3")
async def test_progress_beyond_its_share_is_dropped_and_told_by_one_marker() -> None:
    """What must arrive still has room, and the marker comes behind it with the count."""
    peer = make_peer()
    for number in range(10):
        peer.send(b"delta %d" % number, lossless=False, thread_id="t")
    peer.send(b"completed", lossless=True)
    frames = await drained(peer)
    assert frames == [b"delta 0", b"delta 1", b"delta 2", b"delta 3", b"completed", b"lag t 6"]
    peer.send(b"delta again", lossless=False, thread_id="t")
    assert await peer.take() == [b"delta again"]
    assert peer.ending is None


@pytest.mark.requirement("FR-T3")
async def test_while_a_peer_is_behind_no_progress_overtakes_the_marker() -> None:
    """Room for one message is not yet room: or dropped and sent pieces would alternate."""
    peer = make_peer(batch_bytes_max=1)
    for _ in range(6):
        peer.send(b"d", lossless=False, thread_id="t")
    assert await peer.take() == [b"d"]  # three of four are left: still behind
    peer.send(b"late", lossless=False, thread_id="t")
    rest = await drained(peer)
    assert rest == [b"d", b"d", b"d", b"lag t 3"]


@pytest.mark.requirement("FR-T3")
async def test_each_thread_has_its_own_marker_up_to_a_bound() -> None:
    """Beyond it the rest shares one that names no thread."""
    peer = make_peer(lag_markers_max=2, droppable_share=0.0)
    peer.send(b"full", lossless=True)
    for thread in ("a", "b", "a", "c", "d"):
        peer.send(b"d", lossless=False, thread_id=thread)
    frames = await drained(peer)
    assert frames == [b"full", b"lag a 2", b"lag b 1", b"lag None 2"]


@pytest.mark.requirement("FR-T2", "FR-T3")
async def test_a_peer_that_cannot_take_what_must_arrive_is_closed_as_too_slow() -> None:
    """The reason says how much it will never get; what waited is let go."""
    peer = make_peer()
    for _ in range(6):
        peer.send(b"d", lossless=False)
    for _ in range(5):
        peer.send(b"must", lossless=True)
    # Two deltas were dropped, four and four messages waited, and one found no room.
    assert peer.ending == Ending(TOO_SLOW, "too slow, 11 dropped")
    assert peer.closed.is_set()
    assert await peer.take() == []
    peer.send(b"more", lossless=True)
    assert await peer.take() == []


async def test_bytes_are_bounded_too_and_a_single_large_message_passes() -> None:
    """Else a reply larger than the room could never be sent."""
    peer = make_peer()
    peer.send(b"x" * 2000, lossless=True)
    assert peer.ending is None
    peer.send(b"y", lossless=True)
    assert peer.ending is not None and peer.ending.code == TOO_SLOW


async def test_an_ending_peer_sends_what_waits_and_its_marker() -> None:
    """Nothing new is taken."""
    peer = make_peer()
    for _ in range(5):
        peer.send(b"d", lossless=False, thread_id="t")
    peer.end(1001, "bye")
    peer.send(b"new", lossless=True)
    assert await peer.take() == [b"d"] * 4 + [b"lag t 1"]
    assert await peer.take() == []


async def test_a_marker_that_was_opted_out_is_not_sent() -> None:
    """It is a notification like the others."""
    peer = make_peer()
    peer.introduce(Introduction(name="n", version="1", opted_out=frozenset({"server/lagged"})))
    for _ in range(9):
        peer.send(b"d", lossless=False, thread_id="t")
    assert await drained(peer) == [b"d"] * 4


async def test_the_writer_wakes_for_a_message_and_for_the_end() -> None:
    """It never polls."""
    peer = make_peer()
    waiting = asyncio.create_task(peer.take())
    await asyncio.sleep(0)
    peer.send(b"one", lossless=True)
    assert await waiting == [b"one"]
    waiting = asyncio.create_task(peer.take())
    await asyncio.sleep(0)
    peer.end(1000, "")
    assert await waiting == []
