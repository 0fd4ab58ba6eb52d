"""A large thread over a link that carries a packet at a time, to the installed server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.large_thread import write_plain_thread
from tests.support.narrow_link import narrow, narrow_unix
from tests.support.owner_process import JOINING, Owner, Way, owner_serving
from tests.support.paging import LONG_WAIT_S, all_paged, imported
from tests.support.rollout_files import THREAD
from tests.support.wire import WireClient

TURNS, TEXT_BYTES = 10_000, 4_000
PIPELINED = 300
OVERLOADED = -32001


@asynccontextmanager
async def _slowly(owner: Owner, transport: Way, folder: Path) -> AsyncIterator[WireClient]:
    """A client whose way to the owner is narrow; a bridge takes it for the owner's own socket."""
    match transport:
        case "websocket":
            async with narrow(f"ws://127.0.0.1:{owner.port}") as url:
                port = int(url.rstrip("/").rpartition(":")[2])
                async with replace(owner, port=port).client(transport) as client:
                    yield client
        case "unix":
            async with (
                narrow_unix(owner.socket, folder / "way.sock"),
                replace(owner, socket=folder / "way.sock").client(transport) as client,
            ):
                yield client
        case "relay" | "stdio" | "socket":
            socket = Path("run", "relay.sock")
            way = folder / transport
            async with (
                narrow_unix(owner.home / socket, way / socket),
                replace(owner, home=way).client(transport) as client,
            ):
                yield client


@pytest.mark.timeout(900)
@pytest.mark.requirement("FR-T4")
async def test_twenty_thousand_items_come_whole_over_a_slow_link(tmp_path: Path) -> None:
    """Forty megabytes, by pages that fit, on every transport; and whoever asks for all at once."""
    home = tmp_path / "home"
    home.mkdir()
    source = await asyncio.to_thread(
        write_plain_thread, tmp_path, turns=TURNS, text_bytes=TEXT_BYTES
    )
    assert source.stat().st_size > 40_000_000
    async with owner_serving(home, tmp_path) as owner:
        async with owner.client("unix") as client:
            await imported(client, source)
            await client.close()
        for transport in JOINING:
            async with _slowly(owner, transport, tmp_path) as client:
                await all_paged(client, turns=TURNS)
                await _all_at_once(client)
                await client.close()


async def _all_at_once(client: WireClient) -> None:
    """More pages than there is room for: each call is answered, a refused one by overload."""
    params = {"threadId": THREAD, "limit": 100, "sortDirection": "asc"}
    refused = PIPELINED
    while refused:
        calls = [client.begin("thread/items/list", params) for _ in range(refused)]
        async with asyncio.timeout(LONG_WAIT_S):
            replies = [await call for call in await asyncio.gather(*calls)]
        errors = [reply["error"]["code"] for reply in replies if "error" in reply]
        assert set(errors) <= {OVERLOADED} and len(errors) < refused
        refused = len(errors)
    assert not client.closed.is_set()
