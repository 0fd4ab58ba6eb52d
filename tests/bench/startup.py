"""Process start to the answered `initialize`: own server, joining a running one, WebSocket.

Over stdio also to the first `thread/start`, sent right behind that answer: what a server leaves for
later is not to be paid there.

Homes are used ones: the first start of each, which makes the database, is a figure of its own.
"""

import asyncio
import subprocess
import time
from pathlib import Path

from tests.bench.clients import ws_client
from tests.bench.figures import Figures, options, report, spread
from tests.bench.sides import Side, SideHome, home_of, model, running, sides, ws_server

_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"bench",'
    b'"title":null,"version":"1"},"capabilities":{"experimentalApi":true}}}\n'
)
_THREAD_START = b'{"jsonrpc":"2.0","id":2,"method":"thread/start","params":{"cwd":"/"}}\n'


def measure(side: Side, *, rounds: int) -> Figures:
    """Both transports, and ours also as a bridge to a running server."""
    with model() as model_port, home_of(side, model_port=model_port) as home:
        figures = {"stdio, empty home ms": _stdio(home)[0]}
        starts = [_stdio(home) for _ in range(rounds)]
        figures |= spread("stdio", [initialized for initialized, _ in starts])
        figures |= spread("stdio, first thread", [thread for _, thread in starts])
        figures |= spread("ws", [asyncio.run(_ws(home)) for _ in range(rounds)])
        if side.ours:
            with ws_server(home):
                while not (home.path / "run" / "relay.sock").exists():
                    time.sleep(0.05)
                _stdio(home)
                joined = [_stdio(home)[0] for _ in range(rounds)]
                figures |= spread("joining a server", joined)
    return figures


def _stdio(home: SideHome) -> tuple[float, float]:
    """Milliseconds until `initialize`, and until a `thread/start` behind it, were answered."""
    began = time.perf_counter()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with running(home.stdio(), env=home.environment, cwd=home.user, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        times = []
        for request, answer in ((_INITIALIZE, b'"id":1'), (_THREAD_START, b'"id":2')):
            process.stdin.write(request)
            process.stdin.flush()
            while answer not in (line := process.stdout.readline()):
                if not line:
                    raise SystemExit(f"{home.side.name} ended without an answer to {request!r}")
            times.append((time.perf_counter() - began) * 1000)
        process.stdin.close()
        process.wait(10)
    return times[0], times[1]


async def _ws(home: SideHome) -> float:
    began = time.perf_counter()
    with ws_server(home) as (_, port):
        async with ws_client(port):
            return (time.perf_counter() - began) * 1000


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side."""
    return {one.name: measure(one, rounds=4 if quick else 15) for one in sides(reference)}


if __name__ == "__main__":
    given = options(__doc__)
    report("startup", main(given.reference, quick=given.quick))
