"""Every bound of the wire, by name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """What one peer may cost, and how long a farewell may take."""

    frame_bytes_max: int = 16 << 20
    """The largest message taken from a client."""
    skipped_bytes_max: int = 16 << 20
    """How much of a line that is too long is skipped before the stream is given up."""
    outbox_items_max: int = 32_768
    """Messages that wait for one peer; more of the lossless kind, and it is too slow."""
    outbox_bytes_max: int = 8 << 20
    """The same in bytes; also the largest reply."""
    droppable_share: float = 0.5
    """The part of the outbox that progress may fill; the rest is kept for what must arrive."""
    batch_bytes_max: int = 1 << 16
    """How much is handed to a transport at a time."""
    connections_max: int = 512
    """Clients attached to one listener; a further one is refused."""
    requests_in_flight_max: int = 128
    """Requests of one peer under way while its outbox is empty, each with an equal part of it for
    its reply; more, or as many as have no part left, are answered as overload."""
    questions_max: int = 64
    """Our own requests that wait for one peer's answer."""
    question_deadline_s_max: float | None = None
    """No question waits longer than that, whatever its own time; None leaves each its own."""
    late_answers_max: int = 256
    """Settled questions whose late answers are told from answers to nothing."""
    lag_markers_max: int = 64
    """Threads that are named one by one in lag markers; further ones share a marker."""
    farewell_s: float = 1.5
    """How long a leaving peer's requests may go on, and then how long its outbox may empty."""
    close_s: float = 2.0
    """How long a closed WebSocket may take to say goodbye before it is cut."""
    slow_close_s: float = 30.0
    """The same for one that was closed as too slow, which may wake and read why."""
    ping_interval_s: float = 10.0
    """Time between two questions whether a WebSocket peer is alive."""
    ping_timeout_s: float = 15.0
    """Time for its answer; with the interval under the 30 s after which a dead peer is freed."""
    unreachable_s: float = 7.0
    """How long the other machine may confirm no packet before its WebSocket is cut, in seconds."""
