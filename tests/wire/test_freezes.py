"""Nobody waits for a locked database or for a thread of any size: what is small is answered first.

Shown by the order of replies. How long the loop stood still at most is in `tests/bench/freezes.py`.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import orjson
import pytest

from tests.support.homes import Serving, serving
from tests.support.large_thread import write_large_thread, write_pictures
from tests.support.methods import error_of
from tests.support.rollout_files import THREAD
from tests.support.wire import KINDS, WireClient

CLIENTS = 20
FILE_BYTES = 12 << 20
PINGS = 3
LONG_WAIT_S = 300.0
FRAME_BYTES = 64 << 10
"""What three clients of the field can read at most."""


@asynccontextmanager
async def _twenty(home: Serving) -> AsyncIterator[list[WireClient]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(home.wire.client(KINDS[number % len(KINDS)]))
            for number in range(CLIENTS)
        ]


async def _pinged(clients: list[WireClient]) -> None:
    """All of them ask something small, a few times."""
    for _ in range(PINGS):
        await asyncio.gather(*(one.request("thread/loaded/list", {}) for one in clients))


@pytest.mark.requirement("FR-T21")
@pytest.mark.parametrize("loads", [False, True], ids=["read", "resumed"])
async def test_a_large_thread_is_read_while_everybody_is_answered(
    loads: bool, tmp_path: Path
) -> None:
    """Twenty clients of every transport ask three times before the thread is there."""
    path = await asyncio.to_thread(write_large_thread, tmp_path / "s", bytes_min=FILE_BYTES)
    async with serving(tmp_path) as home, _twenty(home) as clients:
        reader, *others = clients
        await reader.request("thread/import", {"path": str(path)})
        method = "thread/resume" if loads else "thread/read"
        params = {"threadId": THREAD} | ({} if loads else {"includeTurns": True})
        reading = reader.expect("large")
        asked = {"id": "large", "method": method, "params": params}
        await reader.link.send(orjson.dumps(asked))
        await _pinged(others)
        assert not reading.done(), "it was read before anybody else was answered"
        reply = await asyncio.wait_for(reading, LONG_WAIT_S)
        assert reply["result"]["thread"]["turns"] != []


@pytest.mark.requirement("FR-T20")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "size",
    [
        pytest.param("pictures", id="forty pictures of 4 MB"),
        pytest.param("gigabytes", marks=pytest.mark.slow, id="3 GB"),
    ],
)
async def test_a_thread_of_any_size_comes_back_and_goes_on_beside_others(
    size: str, tmp_path: Path
) -> None:
    """In frames that every client can read; the others are answered first, and so is its turn."""
    if size == "pictures":
        given = {"count": 40, "picture_bytes": 4 << 20}
        path = await asyncio.to_thread(write_pictures, tmp_path / "s", **given)
    else:
        path = await asyncio.to_thread(write_large_thread, tmp_path / "s", bytes_min=3 << 30)
    async with serving(tmp_path) as home, _twenty(home) as clients:
        reader, *others = clients
        imported = reader.expect("import")
        asked = {"id": "import", "method": "thread/import", "params": {"path": str(path)}}
        await reader.link.send(orjson.dumps(asked))
        await _pinged(others)
        assert "error" not in await asyncio.wait_for(imported, LONG_WAIT_S)
        resuming = reader.expect("large")
        resume = {"id": "large", "method": "thread/resume", "params": {"threadId": THREAD}}
        await reader.link.send(orjson.dumps(resume))
        await _pinged(others)
        reply = await asyncio.wait_for(resuming, LONG_WAIT_S)
        assert reply["result"]["thread"]["turns"] != []
        assert len(orjson.dumps(reply)) < FRAME_BYTES
        if size == "pictures":
            newest = orjson.dumps(reply["result"]["thread"]["turns"][-1]).decode()
            assert "what is in picture 39" in newest and "[image omitted]" in newest
        words = [{"type": "text", "text": "hello again"}]
        await reader.request("turn/start", {"threadId": THREAD, "input": words})
        ended = await reader.notification("turn/completed")
        assert ended["turn"]["status"] == "completed"


@pytest.mark.requirement("FR-T21")
async def test_a_locked_database_holds_up_who_writes_and_nobody_else(tmp_path: Path) -> None:
    """What must be written waits and says why; what is read is answered meanwhile."""
    path = await asyncio.to_thread(write_large_thread, tmp_path / "s", bytes_min=1 << 20)
    async with serving(tmp_path) as home, _twenty(home) as clients:
        writer, *others = clients
        await writer.request("thread/import", {"path": str(path)})
        lock = sqlite3.connect(home.home.database, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        change = {"threadId": THREAD, "mode": "disabled"}
        waiting = asyncio.create_task(error_of(writer, "thread/memoryMode/set", change))
        await _pinged(others)
        for client in others:
            read = {"threadId": THREAD, "includeTurns": True}
            assert (await client.request("thread/read", read))["thread"]["turns"] != []
            assert len((await client.request("thread/list", {}))["data"]) == 1
        assert not waiting.done()
        error = await waiting
        assert error["data"] == {"kind": "databaseBusy", "retryable": True}
        lock.execute("ROLLBACK")
        lock.close()
        assert await writer.request("thread/memoryMode/set", change) == {}
