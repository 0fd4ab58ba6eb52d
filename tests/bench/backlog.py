"""A backlog of a thousand eligible sessions, worked off while twenty clients ask for something.

The server runs in this process, so that the lag of its event loop can be seen from inside: a probe
sleeps five milliseconds and notes how much later it woke. The model is a process of its own and
takes half a second. The reference claims a bounded number at each start and never drains such a
backlog by itself, so beside it stand the forty sessions of `extraction`.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import orjson

from server.assembly import Server, start_server
from server.loop_care import care_for_loop
from server.settings import load_settings
from server.wire.pair import PairClient
from state.home import Home
from tests.bench import extraction
from tests.bench.figures import Figures, options, percentile, report
from tests.bench.sessions import write_sessions
from tests.bench.sides import extractions, home_of, model, sides

SESSIONS = 1_000
CLIENTS = 20
LATENCY_MS = 500
PROBE_S = 0.005
PING_S = 0.1
PATIENCE_S = 400


class Asking:
    """One client in this process that asks for the loaded threads now and then."""

    def __init__(self, link: PairClient) -> None:
        self._link = link
        self._number = 0
        self.times_ms: list[float] = []

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request; notifications are read past."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._link.send(orjson.dumps(request))
        while True:
            told = await self._link.receive()
            assert told is not None
            message = orjson.loads(told)
            if message.get("id") == self._number:
                result: dict[str, Any] = message["result"]
                return result

    async def begin(self) -> None:
        """The handshake."""
        info = {"name": "bench", "title": None, "version": "1"}
        capabilities = {"experimentalApi": True}
        await self.call("initialize", {"clientInfo": info, "capabilities": capabilities})

    async def ping(self) -> None:
        """For ever."""
        while True:
            began = time.perf_counter()
            await self.call("thread/loaded/list", {})
            self.times_ms.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(PING_S)


async def measure(sessions: int) -> Figures:
    """One backlog, from the first request to the last answer."""
    ours = sides(None)[0]
    with model(LATENCY_MS) as model_port, home_of(ours, model_port=model_port) as home:
        source = home.user / "elsewhere"
        write_sessions(source / "sessions", sessions)
        server = await start_server(load_settings(Home(home.path)))
        care_for_loop()
        try:
            return await _work_off(server, source, sessions, model_port)
        finally:
            await server.stop(drain_s=0)


async def _work_off(server: Server, source: Path, sessions: int, model_port: int) -> Figures:
    clients = [Asking(server.attach()) for _ in range(CLIENTS)]
    for client in clients:
        await client.begin()
    await clients[0].call("memory/pause", {"paused": True})
    await clients[0].call("thread/import", {"path": str(source)})
    root = server.services.state.home.root
    before, cpu = _sizes(root), time.process_time()
    lags_ms: list[float] = []
    tasks = [asyncio.create_task(client.ping()) for client in clients[1:]]
    tasks.append(asyncio.create_task(_probe(lags_ms)))
    began = time.perf_counter()
    await clients[0].call("memory/pause", {"paused": False})
    done = await _done(model_port, sessions)
    cpu = time.process_time() - cpu
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    after = _sizes(root)
    first, last = min(one[0] for one in done), max(one[1] for one in done)
    pings = [one for client in clients for one in client.times_ms]
    name = f"{sessions} sessions, {LATENCY_MS} ms"
    return {
        f"{name}, extracted": len(done),
        f"{name}, per s": len(done) / (last - first),
        f"{name}, at once": max(sum(a <= at < b for a, b in done) for at, _ in done),
        f"{name}, to first request s": first - began,
        f"{name}, CPU s": cpu,
        f"{name}, database growth KiB": (after[0] - before[0]) / 1024,
        f"{name}, folder growth KiB": (after[1] - before[1]) / 1024,
        f"{CLIENTS} clients, loop lag median ms": percentile(lags_ms, 50),
        f"{CLIENTS} clients, loop lag p99 ms": percentile(lags_ms, 99),
        f"{CLIENTS} clients, loop lag most ms": max(lags_ms),
        f"{CLIENTS} clients, ping median ms": percentile(pings, 50),
        f"{CLIENTS} clients, ping p99 ms": percentile(pings, 99),
    }


async def _probe(lags_ms: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(PROBE_S)
        lags_ms.append((time.perf_counter() - began - PROBE_S) * 1000)


async def _done(model_port: int, sessions: int) -> list[tuple[float, float]]:
    until = time.monotonic() + PATIENCE_S
    done: list[tuple[float, float]] = []
    while len(done) < sessions and time.monotonic() < until:
        await asyncio.sleep(1)
        done = await asyncio.to_thread(extractions, model_port)
    return done


def _sizes(root: Path) -> tuple[int, int]:
    """Bytes of the database, and of everything below the home besides it."""
    database = everything = 0
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            try:
                size = path.lstat().st_size
            except FileNotFoundError:
                continue
            if ".sqlite" in name:
                database += size
            else:
                everything += size
    return database, everything


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Ours; with a reference both sides over as many sessions as it claims at one start."""
    figures = asyncio.run(measure(SESSIONS // 5 if quick else SESSIONS))
    measured: dict[str, Figures] = {"ours": figures}
    if reference is not None:
        for side in sides(reference):
            few = asyncio.run(extraction.measure(side, LATENCY_MS))
            measured.setdefault(side.name, {}).update(few)
    return measured


if __name__ == "__main__":
    given = options(__doc__)
    report("backlog", main(given.reference, quick=given.quick))
