"""What the process carries now: clients, threads, children, delays, sizes; counts alone."""

from pathlib import Path

from protocol.messages.load import LoadView
from server.handlers.services import Services


def load_view(services: Services) -> LoadView:
    """Everything counted at this moment; blocks on the sizes of two files."""
    hub, database = services.hub, services.state.home.database
    peers = hub.peers
    return LoadView(
        peers=len(peers),
        subscriptions=hub.subscriptions,
        outbox_messages=sum(one.waiting for one in peers),
        outbox_dropped=sum(one.dropped for one in peers),
        running_commands=services.machine.terminals.count,
        mcp_servers=services.mcp.running,
        loop_lag_ms=services.loop_lag.recent_ms,
        loop_lag_longest_ms=services.loop_lag.longest_ms,
        database_bytes=_size(database),
        database_log_bytes=_size(database.with_name(f"{database.name}-wal")),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # there is no log beside it
        return 0
