"""A stored thread as a client of small frames brings it in and reads it: newest first, by pages."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.rollout_files import THREAD
from tests.support.wire import WireClient

LONG_WAIT_S = 300.0
FRAME_BYTES_MAX = 64 * 1024
"""What three clients of the field can read at most."""


async def imported(client: WireClient, source: Path) -> None:
    """Bring in a session file."""
    await patiently(client, "thread/import", {"path": str(source)})


async def all_paged(client: WireClient, *, turns: int) -> None:
    """Resume it and page back: every item of so many turns comes once, in frames that fit."""
    resumed = await patiently(client, "thread/resume", {"threadId": THREAD})
    newest = resumed["thread"]["turns"]
    assert 0 < len(newest) < turns and newest[-1]["items"][-1]["id"] == f"a{turns - 1}"
    cursor, seen = resumed["itemsBackwardsCursor"], []
    while cursor is not None:
        page = await patiently(
            client,
            "thread/items/list",
            {"threadId": THREAD, "cursor": cursor, "sortDirection": "desc", "limit": 100},
        )
        seen += [row["item"]["id"] for row in page["data"]]
        cursor = page["nextCursor"]
    assert len(seen) == len(set(seen)) == 2 * turns
    assert max(len(json.dumps(frame)) for frame in client.frames) < FRAME_BYTES_MAX
    assert client.notifications("server/lagged") == []


async def patiently(client: WireClient, method: str, params: dict[str, Any]) -> Any:
    """A call that may take long on a slow machine."""
    number = f"{method}-{len(client.frames)}"
    waiting = client.expect(number)
    message = {"id": number, "method": method, "params": params}
    await client.link.send(json.dumps(message).encode())
    reply = await asyncio.wait_for(waiting, LONG_WAIT_S)
    assert "result" in reply, reply
    return reply["result"]
