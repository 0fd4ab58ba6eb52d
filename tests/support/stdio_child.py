"""A process with a small server on stdio, in which everything prints that can.

Start it with `spawn_arguments()`. It may be told a loop (`uvloop`) and what the client is to see.
"""

import asyncio
import ctypes
import logging
import os
import subprocess
import sys
from pathlib import Path

from server._stdout import reserve_stdout
from server.wire.stdio import StdioServer
from tests.support.small_server import SmallServer
from tests.support.source import ROOT

NOISE = ("print", "library", "child", "descriptor", "logging")


def spawn_arguments(loop: str = "asyncio") -> list[str]:
    """The command line of such a process."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    code += f"from tests.support.stdio_child import main; main({loop!r})"
    return [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", code]


def main(loop: str) -> None:
    """Serve until the end of input."""
    if loop == "uvloop":
        import uvloop

        uvloop.run(_serve())
    else:
        asyncio.run(_serve())


async def _serve() -> None:
    stdout = reserve_stdout()
    logging.basicConfig(level=logging.DEBUG)
    _make_noise()
    server = SmallServer()
    before = _memory("VmRSS")
    await StdioServer(server.connect, limits=server.limits, stdout_fd=stdout).run()
    print(f"grew by {_memory('VmHWM') - before} KiB", flush=True)
    _make_noise()


def _memory(name: str) -> int:
    """A figure of this process in KiB; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    [line] = [one for one in status.read_text().splitlines() if one.startswith(name)]
    return int(line.split()[1])


def _make_noise() -> None:
    """Print in every way that a library might."""
    print("print", flush=True)
    ctypes.CDLL(None).puts(b"library")
    ctypes.CDLL(None).fflush(None)
    subprocess.run(["echo", "child"], check=True)
    os.write(1, b"descriptor\n")
    logging.getLogger("x").debug("logging")
