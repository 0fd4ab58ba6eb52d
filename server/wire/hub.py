"""Who is attached, who listens to which thread, and the fan-out of notifications.

Invariant: publishing awaits nobody and serialises once, however many peers listen.
"""

import asyncio
import itertools
from collections.abc import Iterable

from protocol.base import WireModel
from protocol.jsonrpc import Response
from protocol.messages.approvals import ServerRequestResolved
from protocol.messages.handshake import ServerLagged, Warning
from protocol.methods import SERVER_LAGGED, SERVER_REQUEST_RESOLVED, WARNING, NotificationType
from server.wire.encoding import notification_frame
from server.wire.limits import WireLimits
from server.wire.peer import Peer
from server.wire.questions import Questions
from server.wire.transport import TransportKind
from state.clock import Clock
from state.ids import ThreadId


class Hub:
    """All peers of this process."""

    def __init__(self, clock: Clock, limits: WireLimits) -> None:
        self._clock = clock
        self._limits = limits
        self._peers: dict[int, Peer] = {}
        self._listeners: dict[ThreadId, dict[int, Peer]] = {}
        self._heard: dict[int, set[ThreadId]] = {}
        self._peer_ids = itertools.count(1)
        self.questions = Questions(self._heard_by, limits)
        self._left = asyncio.Event()

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Everyone attached now, in the order of coming."""
        return tuple(self._peers.values())

    def attach(self, kind: TransportKind) -> Peer:
        """Make the peer of a new connection."""
        peer = Peer(
            next(self._peer_ids),
            kind,
            limits=self._limits,
            marker=self._lag_marker,
            answered=self._answered,
        )
        self._peers[peer.id] = peer
        return peer

    def detach(self, peer: Peer) -> None:
        """Forget a peer and all it listened to; harmless when done twice."""
        self._peers.pop(peer.id, None)
        self._left.set()
        self.questions.leave(peer)
        for thread_id in self._heard.pop(peer.id, ()):
            self._forget(peer, thread_id)

    async def wait_for_at_most(self, peers: int) -> None:
        """Until no more than that many are attached."""
        while len(self._peers) > peers:
            self._left.clear()
            await self._left.wait()

    def subscribe(self, peer: Peer, thread_id: ThreadId) -> None:
        """Let a peer hear what happens in a thread; one that has left hears nothing."""
        if peer.id in self._peers:
            self._listeners.setdefault(thread_id, {})[peer.id] = peer
            self._heard.setdefault(peer.id, set()).add(thread_id)

    def unsubscribe(self, peer: Peer, thread_id: ThreadId) -> bool:
        """Stop that; False if the peer did not listen."""
        heard = self._heard.get(peer.id, set())
        if thread_id not in heard:
            return False
        heard.discard(thread_id)
        self._forget(peer, thread_id)
        self.questions.leave(peer, thread_id)
        return True

    @property
    def subscriptions(self) -> int:
        """How many pairs of a peer and a thread it listens to there are."""
        return sum(map(len, self._heard.values()))

    def subscribers(self, thread_id: ThreadId) -> int:
        """How many peers listen to a thread."""
        return len(self._listeners.get(thread_id, ()))

    def release(self, thread_id: ThreadId) -> None:
        """End every question and every subscription of a thread that goes."""
        for number in self.questions.withdraw(thread_id):
            resolved = ServerRequestResolved(thread_id=thread_id, request_id=number)
            self.publish(SERVER_REQUEST_RESOLVED, resolved, thread_id=thread_id)
        for peer in self._heard_by(thread_id):
            self.unsubscribe(peer, thread_id)

    def publish(
        self, notification: NotificationType, params: WireModel, *, thread_id: ThreadId | None
    ) -> None:
        """Offer a notification to those it is for: a thread's listeners, or everyone."""
        audience: Iterable[Peer]
        if notification.scope == "all":
            audience = self._peers.values()
        elif thread_id is None:
            raise ValueError(f"{notification.name} needs the thread that it is about")
        else:
            audience = self._listeners.get(thread_id, {}).values()
        self._offer(list(audience), notification, params, thread_id=thread_id)

    def tell_all(self, notification: NotificationType, params: WireModel) -> None:
        """Offer to everyone a notification that is usually about one thread."""
        self._offer(self.peers, notification, params, thread_id=None)

    def tell(
        self,
        peer: Peer,
        notification: NotificationType,
        params: WireModel,
        *,
        thread_id: ThreadId | None,
    ) -> None:
        """Offer a notification to one peer alone."""
        self._offer([peer], notification, params, thread_id=thread_id)

    def _offer(
        self,
        audience: Iterable[Peer],
        notification: NotificationType,
        params: WireModel,
        *,
        thread_id: ThreadId | None,
    ) -> None:
        frame: bytes | None = None
        for peer in audience:
            if not _wants(peer, notification):
                continue
            if frame is None:
                frame = notification_frame(
                    notification.name, params, emitted_at_ms=self._clock.now_ms()
                )
            peer.send(frame, lossless=notification.lossless, thread_id=thread_id)

    def _answered(self, peer: Peer, response: Response) -> None:
        thread_id = self.questions.answer(peer, response)
        if thread_id is not None:
            message = (
                f"the answer to request {response.id} came too late and changed nothing: "
                "another client answered first, or the request was taken back"
            )
            late = Warning(thread_id=thread_id, message=message)
            self.tell(peer, WARNING, late, thread_id=thread_id)

    def _heard_by(self, thread_id: ThreadId) -> list[Peer]:
        return list(self._listeners.get(thread_id, {}).values())

    def _forget(self, peer: Peer, thread_id: ThreadId) -> None:
        listeners = self._listeners.get(thread_id)
        if listeners is not None:
            listeners.pop(peer.id, None)
            if not listeners:
                del self._listeners[thread_id]

    def _lag_marker(self, thread_id: str | None, dropped: int) -> bytes:
        params = ServerLagged(thread_id=thread_id, dropped=dropped)
        return notification_frame(SERVER_LAGGED.name, params, emitted_at_ms=self._clock.now_ms())


def _wants(peer: Peer, notification: NotificationType) -> bool:
    """Whether the peer is ready for it, may see it and did not decline it."""
    return (
        peer.initialized
        and (peer.experimental or not notification.experimental)
        and notification.name not in peer.opted_out
    )
