"""Parents that can be killed, and somebody who sees what a server still holds for the lost."""

import asyncio
import contextlib
import ctypes
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.installed import MEMORYD, environment
from tests.support.owner_process import relay_link
from tests.support.wire import WireClient
from tests.support.wire_links import LINE_BYTES_MAX, LineLink

LOOK_S = 0.05
_SO_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)
"""One instruction of a packet filter: accept nothing."""
_PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
print(child.pid, flush=True)
for line in sys.stdin.buffer:
    child.stdin.write(line)
    child.stdin.flush()
"""


@dataclass(frozen=True, slots=True)
class Parented:
    """A spawned `app-server` behind a parent that hands on what its client says."""

    parent: asyncio.subprocess.Process
    pid: int
    """Of the server."""
    client: WireClient


@asynccontextmanager
async def parented(home: Path) -> AsyncIterator[Parented]:
    """One that owns the home, or joins the owner that there is; the parent is killed at the end."""
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _PARENT, str(MEMORYD), "app-server"),
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=LINE_BYTES_MAX,
    )
    assert parent.stdin is not None and parent.stdout is not None
    try:
        pid = int(await parent.stdout.readline())
        client = WireClient(LineLink(parent.stdout, parent.stdin))
        await client.initialize()
        yield Parented(parent, pid, client)
    finally:
        with contextlib.suppress(ProcessLookupError):
            parent.kill()
        await parent.wait()


@asynccontextmanager
async def onlooker(home: Path) -> AsyncIterator[WireClient]:
    """A client that only looks, on the relay socket of the owner."""
    async with relay_link(home) as link:
        client = WireClient(link)
        await client.initialize()
        yield client


async def until_load(looking: WireClient, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Ask again and again what the server carries, until that holds; the caller bounds it."""
    while True:
        load = (await looking.request("memory/overview", {}))["server"]["load"]
        if holds(load):
            return
        await asyncio.sleep(LOOK_S)


def drop_packets(connection: socket.socket) -> None:
    """Have the kernel throw away whatever comes for this end, unconfirmed; on Linux alone."""
    program = ctypes.create_string_buffer(_DROP_ALL)
    attached = struct.pack("HL", 1, ctypes.addressof(program))
    connection.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
