"""A server in a process of its own that also tells how late its event loop woke.

Run as: python probed_server.py HOME. It prints the port of a listener without a credential; when
its stdin ends it stops and prints a list of gaps, one for each five milliseconds: how late the loop
woke, and how much processor time the process took since the wake before, both in milliseconds.
"""

import asyncio
import json
import os
import sys
import time
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from server.assembly import Choices, start_server
from server.loop_care import care_for_loop
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
    care_for_loop()  # as `memoryd serve` does
    print(listener.address, flush=True)
    # Numbers, not objects: what the probe keeps is no part of what the server keeps.
    gaps_ms = array("d")
    probe = asyncio.create_task(_probe(gaps_ms))
    await asyncio.to_thread(sys.stdin.read)
    probe.cancel()
    await server.stop(drain_s=0)
    print(json.dumps(list(zip(gaps_ms[::2], gaps_ms[1::2], strict=True))), flush=True)


async def _probe(gaps_ms: "array[float]") -> None:
    while len(gaps_ms) < 2 * LAGS_MAX:
        began, busy = time.perf_counter(), time.process_time()
        await asyncio.sleep(PROBE_S)
        late_s, busy_s = time.perf_counter() - began - PROBE_S, time.process_time() - busy
        gaps_ms.extend((round(late_s * 1000, 2), round(busy_s * 1000, 2)))


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        uvloop.run(main(Path(sys.argv[1])))
    os._exit(0)
