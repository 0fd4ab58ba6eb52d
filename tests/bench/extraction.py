"""Phase 1 over forty finished sessions, with a model that answers at once and after half a second.

The time runs from the first extraction request to the last answer, as the model sees them.
"""

import asyncio
import time
from pathlib import Path

from tests.bench.clients import Client, ws_client
from tests.bench.figures import Figures, options, report, spread
from tests.bench.sessions import write_sessions
from tests.bench.sides import Side, cpu_s, extractions, home_of, model, sides, ws_server

SESSIONS = 40
PATIENCE_S = 60
LATENCIES_MS = (0, 500)


async def measure(side: Side, latency_ms: int) -> Figures:
    """One home, one pass."""
    with model(latency_ms) as model_port, home_of(side, model_port=model_port) as home:
        source = home.path if not side.ours else home.user / "elsewhere"
        write_sessions(source / "sessions", SESSIONS)
        with ws_server(home) as (process, port):
            async with ws_client(port) as client:
                if side.ours:
                    await client.call("thread/import", {"path": str(source)})
                else:
                    await asyncio.sleep(3)
                before = cpu_s(process.pid)
                thread = await client.start_thread(str(home.user))
                began = time.perf_counter()
                await client.turn(thread, "Please make the change.")
                changing = await _mode_changes(client, thread) if latency_ms else {}
                done = await _done(model_port)
                cpu = cpu_s(process.pid) - before
    name = f"{SESSIONS} sessions, {latency_ms} ms"
    if not done:
        return {f"{name}, extracted": 0}
    first, last = min(one[0] for one in done), max(one[1] for one in done)
    return {
        f"{name}, extracted": len(done),
        f"{name}, per s": len(done) / (last - first),
        f"{name}, at once": _peak(done),
        f"{name}, turn to first request s": first - began,
        f"{name}, CPU s": cpu,
        **changing,
    }


async def _mode_changes(client: Client, thread: str) -> Figures:
    """How long a hundred changes of a thread's mode take while sessions are being heard."""
    times = []
    for number in range(100):
        mode = "disabled" if number % 2 else "enabled"
        params = {"threadId": thread, "mode": mode}
        times.append(await client.timed("thread/memoryMode/set", params))
        await asyncio.sleep(0.01)
    return spread("thread/memoryMode/set meanwhile", times)


async def _done(model_port: int) -> list[tuple[float, float]]:
    until = time.monotonic() + PATIENCE_S
    done: list[tuple[float, float]] = []
    while len(done) < SESSIONS and time.monotonic() < until:
        await asyncio.sleep(0.2)
        done = await asyncio.to_thread(extractions, model_port)
    return done


def _peak(done: list[tuple[float, float]]) -> int:
    """How many were under way at once."""
    return max(sum(a <= start < b for a, b in done) for start, _ in done)


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side and latency."""
    measured: dict[str, Figures] = {}
    for side in sides(reference):
        figures = measured.setdefault(side.name, {})
        for latency_ms in LATENCIES_MS:
            figures |= asyncio.run(measure(side, latency_ms))
    return measured


if __name__ == "__main__":
    given = options(__doc__)
    report("extraction", main(given.reference, quick=given.quick))
