"""The installed server as the owner of a home in a process of its own, and clients of all ways.

async with owner_serving(home, tmp_path) as owner, owner.client("relay") as client: ...
"""

import asyncio
import contextlib
import signal
import subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from websockets.asyncio.client import connect

from server.wire.sockets import connect_unix
from tests.bench.sides import free_port
from tests.support.installed import MEMORYD, environment
from tests.support.wire import WireClient
from tests.support.wire_links import LINE_BYTES_MAX, BridgedLink, LineLink, WebSocketLink

Way = Literal["stdio", "relay", "websocket", "unix", "socket"]
WAYS: tuple[Way, ...] = ("stdio", "relay", "websocket", "unix")
"""Those of people's clients. On stdio the process is the owner itself; by the relay it is a second
one that joins it."""
JOINING: tuple[Way, ...] = ("relay", "websocket", "unix", "socket")
"""Those to a server that runs already; on the socket a client is what a relay is to the owner."""
START_S = 60.0
_OPTIONS: dict[str, Any] = {
    "compression": None,
    "max_size": None,
    "ping_interval": None,
    "proxy": None,
}


@dataclass(frozen=True, slots=True)
class Owner:
    """One `memoryd serve`, and where it listens."""

    home: Path
    process: Process
    port: int
    socket: Path

    @asynccontextmanager
    async def client(self, way: Way, *, initialize: bool = True) -> AsyncIterator[WireClient]:
        """A client of that way, which leaves at the end."""
        async with self.link(way) as link:
            client = WireClient(link)
            if initialize:
                await client.initialize()
            yield client

    @asynccontextmanager
    async def link(self, way: Way) -> AsyncIterator[LineLink | WebSocketLink]:
        """The raw link under such a client."""
        async with AsyncExitStack() as stack:
            match way:
                case "websocket":
                    where = connect(f"ws://127.0.0.1:{self.port}", **_OPTIONS)
                    yield WebSocketLink(await stack.enter_async_context(where))
                case "unix":
                    where = connect("ws://localhost/", sock=connect_unix(self.socket), **_OPTIONS)
                    yield WebSocketLink(await stack.enter_async_context(where))
                case "socket":
                    yield await stack.enter_async_context(relay_link(self.home))
                case "relay" | "stdio":
                    process, bridged = await spawned(self.home)
                    stack.push_async_callback(ended, process)
                    yield bridged


@asynccontextmanager
async def relay_link(home: Path) -> AsyncIterator[LineLink]:
    """A link on the socket by which processes join the owner of a home."""
    joined = connect_unix(home / "run" / "relay.sock")
    reader, writer = await asyncio.open_unix_connection(sock=joined, limit=LINE_BYTES_MAX)
    try:
        yield LineLink(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def spawned(
    home: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> tuple[Process, BridgedLink]:
    """An `app-server` on pipes: it joins the owner, or is the owner where there is none."""
    process = await asyncio.create_subprocess_exec(
        MEMORYD,
        "app-server",
        *arguments,
        env=environment(home, **(env or {})),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        limit=LINE_BYTES_MAX,
    )
    return process, BridgedLink(process)


async def ended(process: Process) -> int:
    """Say that nothing more will be sent, and wait; the status."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(START_S):
            return await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def owner_serving(home: Path, folder: Path) -> AsyncIterator[Owner]:
    """A server that listens for all of them, killed at the end if it still runs."""
    port, socket = free_port(), folder / "clients.sock"
    process = await asyncio.create_subprocess_exec(
        MEMORYD,
        *("serve", "--ws-auth", "none", "--listen", f"ws://127.0.0.1:{port}"),
        *("--listen", f"unix://{socket}"),
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        told = ""
        async with asyncio.timeout(START_S):
            while str(socket) not in told or str(port) not in told:
                line = (await process.stderr.readline()).decode()
                assert line, told
                told += line
        yield Owner(home, process, port, socket)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


@asynccontextmanager
async def owned(
    way: Way, home: Path, folder: Path, *, initialize: bool = True
) -> AsyncIterator[tuple[Process, WireClient]]:
    """An owner and its one client; over stdio the spawned process is the owner itself."""
    if way != "stdio":
        async with (
            owner_serving(home, folder) as owner,
            owner.client(way, initialize=initialize) as client,
        ):
            yield owner.process, client
        return
    process, link = await spawned(home)
    try:
        client = WireClient(link)
        if initialize:
            await client.initialize()
        yield process, client
    finally:
        await ended(process)
