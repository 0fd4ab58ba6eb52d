"""What a running server carries."""

from protocol.base import WireModel


class LoadView(WireModel):
    """What the process carries now; the loop's lags are the longest of a minute and of its life."""

    peers: int
    subscriptions: int
    outbox_messages: int
    outbox_dropped: int
    running_commands: int
    mcp_servers: int
    loop_lag_ms: int
    loop_lag_longest_ms: int
    database_bytes: int
    database_log_bytes: int
