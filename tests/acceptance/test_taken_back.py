"""Calls that a client took back before their turn came do nothing, in a server of its own."""

import asyncio
import sqlite3
from pathlib import Path

import orjson
import pytest

from tests.support.methods import said, started
from tests.support.owner_process import WAYS, Way, owned
from tests.support.wire import WireClient

CALLS = range(1_000, 1_060)
WAIT_S = 4.0
"""Under the time that a writer waits for a locked database."""


@pytest.mark.requirement("FR-T18")
@pytest.mark.parametrize("way", WAYS)
async def test_sixty_calls_behind_a_slow_one_are_each_answered_once_and_never_run(
    way: Way, tmp_path: Path
) -> None:
    """The slow one waits for a lock of another process; it goes on when that is gone."""
    home = tmp_path / "home"
    async with owned(way, home, tmp_path) as (_, client):
        thread = await started(client, cwd=str(tmp_path))
        await said(client, thread, "hello")
        lock = sqlite3.connect(home / "state.sqlite", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        slow = client.expect("slow")
        await _name(client, "slow", thread, "the one that stays")
        replies = [client.expect(number) for number in CALLS]
        for number in CALLS:
            await _name(client, number, thread, f"name {number}")
        for number in CALLS:
            await client.notify("$/cancelRequest", {"id": number})
        async with asyncio.timeout(WAIT_S):
            errors = [(await one)["error"] for one in replies]
        assert not slow.done()
        lock.execute("ROLLBACK")
        lock.close()
        assert (await slow)["result"] == {}
        assert {error["code"] for error in errors} == {-32800}
        read = await client.request("thread/read", {"threadId": thread})
        assert read["thread"]["name"] == "the one that stays"
        names = client.notifications("thread/name/updated")
        assert [one["params"]["threadName"] for one in names] == ["the one that stays"]
        answered = [frame["id"] for frame in client.frames if "id" in frame]
        assert len(answered) == len(set(map(str, answered)))


async def _name(client: WireClient, number: int | str, thread: str, name: str) -> None:
    params = {"threadId": thread, "name": name}
    message = {"id": number, "method": "thread/name/set", "params": params}
    await client.link.send(orjson.dumps(message))
