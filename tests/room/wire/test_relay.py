"""The relay: a bridge of bytes that starts fast and knows nothing."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from server.wire.sockets import bind_unix
from tests.support.small_server import SmallServer
from tests.support.source import ROOT
from tests.support.wire import WAIT_S, WireClient, wired
from tests.support.wire_links import line_link

_RELAY = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from server._relay import relay
found = relay(sys.argv[1], 0, 1)
print(found, *sorted(sys.modules), file=sys.stderr)
"""


@contextmanager
def relaying(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A relaying process on pipes."""
    process = subprocess.Popen(
        [sys.executable, "-c", _RELAY, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(WAIT_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()


@pytest.mark.requirement("P10")
@pytest.mark.parametrize("depth", ["d", "d" * 120])
async def test_a_client_behind_a_relay_talks_to_the_owner(depth: str, tmp_path: Path) -> None:
    """Both ways, and the end of its input ends the relay."""
    home = tmp_path / depth
    server = SmallServer()
    async with wired(server.connect, home) as wire:
        await wire.relay()
        with relaying(home) as process:
            assert process.stdin and process.stdout and process.stderr
            link = await line_link(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
            process.stdin.close()
            client = WireClient(link)
            await client.initialize()
            large = "x" * 1_000_000
            params = {"threadId": "t", "name": large}
            assert await client.request("thread/name/set", params) == {}
            assert server.named == [large]
            server.summary = large
            read = await client.request("thread/memory/read", {"threadId": "t"})
            assert read["summary"] == large
            await client.close()
            link.abandon()
            out = process.stderr.read().decode()
            assert process.wait(WAIT_S) == 0
    assert out.startswith("True ")
    assert server.hub.peers == ()
    modules = set(out.split()[1:])
    assert not modules & {"asyncio", "orjson", "pydantic", "websockets", "server.wire", "state"}


@pytest.mark.parametrize("stale", [False, True])
def test_without_an_owner_the_relay_says_so_at_once_and_reads_nothing(
    stale: bool, tmp_path: Path
) -> None:
    """So that the process can become the owner and serve the same input."""
    if stale:
        bind_unix(tmp_path / "run" / "relay.sock").close()
    with relaying(tmp_path) as process:
        assert process.stdin and process.stderr
        assert process.stderr.readline().startswith(b"False ")
        assert process.wait(WAIT_S) == 0


def test_a_full_pipe_one_way_does_not_stop_the_other(tmp_path: Path) -> None:
    """The client sends all of a large request before it reads anything."""
    listener = bind_unix(tmp_path / "run" / "relay.sock")
    listener.setblocking(True)
    size = 8 << 20
    received: list[int] = []

    def echo() -> None:
        connection, _ = listener.accept()
        with connection:
            count = 0
            while chunk := connection.recv(1 << 16):
                count += len(chunk)
                connection.sendall(chunk)
            received.append(count)

    echoing = threading.Thread(target=echo, daemon=True)
    echoing.start()
    with relaying(tmp_path) as process:
        assert process.stdin and process.stdout
        stdout, output = process.stdout, []
        reading = threading.Thread(target=lambda: output.append(stdout.read()), daemon=True)
        reading.start()
        process.stdin.write(b"x" * size)
        process.stdin.close()
        reading.join(WAIT_S)
        echoing.join(WAIT_S)
    listener.close()
    assert received == [size] and len(output[0]) == size


async def test_the_owner_that_goes_away_ends_the_relay(tmp_path: Path) -> None:
    """The client sees the end of its stream, not silence."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire:
        await wire.relay()
        with relaying(tmp_path) as process:
            assert process.stdin and process.stdout
            link = await line_link(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
            await link.send(orjson.dumps({"id": 1, "method": "x"}))
            assert await link.receive() is not None
            await wire.stop()
            assert await link.receive() is None
            link.abandon()
            assert process.wait(WAIT_S) == 0
