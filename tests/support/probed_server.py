"""A server in a process of its own that also tells how late its event loop woke.

Run as: python probed_server.py HOME. It prints the port of a listener without a credential; when
its stdin ends it stops and prints a list of lags in milliseconds, one for each five of them.
"""

import asyncio
import gc
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from server.assembly import Choices, start_server
from server.settings import load_settings
from server.wire.auth import NoAuth
from server.wire.http import HttpListener, TcpAddress
from server.wire.limits import WireLimits
from state.home import Home

PROBE_S = 0.005
LAGS_MAX = 1_000_000


async def main(home: Path) -> None:
    """Serve until stdin ends."""
    server = await start_server(load_settings(Home(home)), Choices(learning=False))
    where = TcpAddress(host="127.0.0.1", port=0, auth=NoAuth())
    listener = HttpListener(where, server.connect, limits=WireLimits(), clock=server.services.clock)
    await listener.start()
    server.on_stop(listener.stop)
    gc.freeze()
    gc.set_threshold(10_000)  # as `memoryd serve` does
    print(listener.address, flush=True)
    lags_ms: list[float] = []
    probe = asyncio.create_task(_probe(lags_ms))
    await asyncio.to_thread(sys.stdin.read)
    probe.cancel()
    await server.stop(drain_s=0)
    print(json.dumps([round(one, 2) for one in lags_ms]), flush=True)


async def _probe(lags_ms: list[float]) -> None:
    while len(lags_ms) < LAGS_MAX:
        began = time.perf_counter()
        await asyncio.sleep(PROBE_S)
        lags_ms.append((time.perf_counter() - began - PROBE_S) * 1000)


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        uvloop.run(main(Path(sys.argv[1])))
    os._exit(0)
