"""Turns against an instant model: answered, first delta, completed, processor time, many deltas."""

import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.clients import Client, TurnTimes, stdio_client, ws_client
from tests.bench.figures import Figures, options, report, spread
from tests.bench.sides import Side, cpu_s, home_of, model, sides, ws_server

CONNECTIONS = 8
DELTAS = 5_000
PACED = 2_000
_TEXT = "Please make the next change."


async def measure(side: Side, *, rounds: int) -> Figures:
    """Both transports with one connection, WebSocket with eight."""
    figures: Figures = {}
    with model() as model_port:
        with home_of(side, model_port=model_port) as home:
            async with stdio_client(home) as (client, pid):
                figures |= await _one("stdio", client, pid, str(home.user), rounds)
        with home_of(side, model_port=model_port) as home, ws_server(home) as (process, port):
            async with ws_client(port) as client:
                figures |= await _one("ws", client, process.pid, str(home.user), rounds)
        with home_of(side, model_port=model_port) as home, ws_server(home) as (process, port):
            async with AsyncExitStack() as stack:
                clients = [
                    await stack.enter_async_context(ws_client(port)) for _ in range(CONNECTIONS)
                ]
                figures |= await _many(clients, process.pid, str(home.user), rounds // 2)
    return figures


async def _one(name: str, client: Client, pid: int, cwd: str, rounds: int) -> Figures:
    thread = await client.start_thread(cwd)
    await client.turn(thread, _TEXT)
    before = cpu_s(pid)
    same = [await client.turn(thread, _TEXT) for _ in range(rounds)]
    figures = _spread(f"{name} same thread", same)
    figures[f"{name} same thread CPU ms a turn"] = (cpu_s(pid) - before) / rounds * 1000
    threads = [await client.start_thread(cwd) for _ in range(rounds // 2)]
    before = cpu_s(pid)
    new = [await client.turn(one, _TEXT) for one in threads]
    figures |= _spread(f"{name} new threads", new)
    figures[f"{name} new threads CPU ms a turn"] = (cpu_s(pid) - before) / len(threads) * 1000
    return figures | await _deltas(name, client, pid, cwd)


def _spread(name: str, times: list[TurnTimes]) -> Figures:
    return (
        spread(f"{name} answered", [one.answered for one in times])
        | spread(f"{name} first delta", [one.first_delta for one in times])
        | spread(f"{name} completed", [one.completed for one in times])
    )


async def _deltas(name: str, client: Client, pid: int, cwd: str) -> Figures:
    """A long answer in small pieces; pieces that arrive together may be told as one."""
    rates, costs, told = [], [], []
    for _ in range(3):
        thread = await client.start_thread(cwd)
        before = cpu_s(pid)
        times = await client.turn(thread, f"deltas:{DELTAS}")
        costs.append((cpu_s(pid) - before) / DELTAS * 1e6)
        rates.append(DELTAS / (times.last_delta - times.first_delta) * 1000)
        told.append(times.deltas)
    thread = await client.start_thread(cwd)
    before = cpu_s(pid)
    paced = await client.turn(thread, f"paced:{PACED}")
    paced_cpu = (cpu_s(pid) - before) / PACED * 1e6
    return {
        f"{name} {PACED} deltas, 1 ms apart, CPU µs each": paced_cpu,
        f"{name} {PACED} deltas, 1 ms apart, notifications": paced.deltas,
        f"{name} {DELTAS} deltas per s": statistics.median(rates),
        f"{name} {DELTAS} deltas CPU µs each": statistics.median(costs),
        f"{name} {DELTAS} deltas, notifications": statistics.median(told),
    }


async def _many(clients: list[Client], pid: int, cwd: str, rounds: int) -> Figures:
    async def each(client: Client) -> list[TurnTimes]:
        return [await client.turn(threads[client], _TEXT) for _ in range(rounds)]

    threads = {client: await client.start_thread(cwd) for client in clients}
    await asyncio.gather(*(client.turn(threads[client], _TEXT) for client in clients))
    began, before = time.perf_counter(), cpu_s(pid)
    times = [one for many in await asyncio.gather(*map(each, clients)) for one in many]
    seconds = time.perf_counter() - began
    name = f"ws {CONNECTIONS} connections"
    return spread(f"{name} completed", [one.completed for one in times]) | {
        f"{name} turns per s": len(times) / seconds,
        f"{name} CPU ms a turn": (cpu_s(pid) - before) / len(times) * 1000,
    }


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side."""
    rounds = 20 if quick else 100
    return {one.name: asyncio.run(measure(one, rounds=rounds)) for one in sides(reference)}


if __name__ == "__main__":
    given = options(__doc__)
    report("turns", main(given.reference, quick=given.quick))
