"""Raw input to the installed server, over every way to it: long, endless, framed and malformed."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.owner_process import START_S, WAYS, Way, owned
from tests.support.raw_inputs import INPUTS, PARSE, code_of, meets_its_answer
from tests.support.wire import WireClient
from tests.support.wire_links import WebSocketLink

MIB = 1 << 20
CAP_MIB = 16
OFFERED_MIB = 100
CUT = (1009, 1006)
"""The close code of a frame above the limit, and what a client has that still sends: the system
resets a connection that is closed with bytes unread, at times before the code is read."""
LISTED = ("thread/loaded/list", dict[str, object]())


def _peak_mib(process_id: int, *, anew: bool = False) -> float:
    """The largest resident size of a process, counted from now on if wanted; 0 if nobody tells."""
    folder = Path("/proc") / str(process_id)
    if not folder.exists():
        return 0.0
    if anew:
        (folder / "clear_refs").write_text("5")
    lines = [one for one in (folder / "status").read_text().splitlines() if "VmHWM" in one]
    return int(lines[0].split()[1]) / 1024 if lines else 0.0  # one that ended has no size


def _long(number: int, size: int) -> bytes:
    """A proper request with a key that nobody reads."""
    return json.dumps({"id": number, "method": LISTED[0], "params": {"more": "x" * size}}).encode()


@pytest.mark.requirement("FR-T11")
@pytest.mark.parametrize("way", WAYS)
async def test_a_long_message_is_answered_by_its_id_and_the_next_one_works(
    way: Way, tmp_path: Path
) -> None:
    """Five megabytes are read; twenty are refused by their id, or close the one WebSocket."""
    home = tmp_path / "home"
    home.mkdir()
    async with owned(way, home, tmp_path) as (_, client):
        five, twenty = client.expect(-5), client.expect(-20)
        await client.link.send(_long(-5, 5 * MIB))
        async with asyncio.timeout(START_S):
            assert (await five)["result"]["data"] == []
        with contextlib.suppress(ConnectionClosed):
            await client.link.send(_long(-20, 20 * MIB))
        if isinstance(client.link, WebSocketLink):
            async with asyncio.timeout(START_S):
                await client.closed.wait()
            assert client.link.close_code in CUT
            return
        async with asyncio.timeout(START_S):
            assert "longer than" in (await twenty)["error"]["message"]
        assert await client.request(*LISTED)


@pytest.mark.requirement("FR-T11")
@pytest.mark.parametrize("way", WAYS)
async def test_a_message_without_an_end_is_closed_and_memory_stays_below_twice_the_cap(
    way: Way, tmp_path: Path
) -> None:
    """A hundred megabytes are offered; the connection ends long before."""
    home = tmp_path / "home"
    home.mkdir()
    async with owned(way, home, tmp_path) as (process, client):
        await client.request(*LISTED)
        before = peak = _peak_mib(process.pid, anew=True)
        sent = 0

        async def pieces() -> AsyncIterator[bytes]:
            nonlocal sent, peak
            for _ in range(OFFERED_MIB):
                yield b"x" * MIB
                sent += 1
                peak = max(peak, await asyncio.to_thread(_peak_mib, process.pid))

        await _offered(client, pieces())
        async with asyncio.timeout(START_S):
            await client.closed.wait()
        peak = max(peak, _peak_mib(process.pid))
        print(f"{way}: {sent} MiB were taken, memory grew by {peak - before:.1f} MiB")
        assert CAP_MIB <= sent < OFFERED_MIB / 2
        assert peak - before < 2 * CAP_MIB
        if isinstance(client.link, WebSocketLink):
            assert client.link.close_code in CUT
        else:
            told = [one for one in client.frames if "error" in one]
            assert [one["id"] for one in told] == [None, None]
            assert "it is closed" in told[1]["error"]["message"]


async def _offered(client: WireClient, pieces: AsyncIterator[bytes]) -> None:
    """As much as the server takes of one message."""
    try:
        if isinstance(client.link, WebSocketLink):
            await client.link.connection.send(pieces, text=True)
            return
        async for piece in pieces:
            await client.link.send_bytes(piece)  # type: ignore[attr-defined]  # a stream of bytes
    except (ConnectionClosed, ConnectionError):
        return


@pytest.mark.requirement("FR-T13")
@pytest.mark.parametrize("way", WAYS)
async def test_header_framing_gets_one_clear_error_and_the_end(way: Way, tmp_path: Path) -> None:
    """Though the client keeps its side open and sends nothing more."""
    home = tmp_path / "home"
    home.mkdir()
    async with owned(way, home, tmp_path, initialize=False) as (process, client):
        body = b'{"id":1,"method":"initialize","params":{}}'
        await client.link.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        told = await client.stray()
        assert code_of(told) == (None, PARSE) and "Content-Length" in told["error"]["message"]
        async with asyncio.timeout(START_S):
            await client.closed.wait()
            assert client.frames == [told]
            if way == "stdio":
                assert await process.wait() == 0


@pytest.mark.requirement("FR-T14")
@pytest.mark.parametrize("way", WAYS)
async def test_malformed_input_is_answered_exactly_and_the_next_request_works(
    way: Way, tmp_path: Path
) -> None:
    """The whole table on one connection of a real server, and no id is answered twice or never."""
    home = tmp_path / "home"
    home.mkdir()
    async with owned(way, home, tmp_path) as (_, client):
        for raw in INPUTS:
            await meets_its_answer(client, raw, LISTED)
        frame = b'{"id":"twice","method":"thread/loaded/list"}'
        await client.link.send(frame)
        await client.link.send(frame)
        assert [(await client.stray())["id"] for _ in range(2)] == ["twice"] * 2
