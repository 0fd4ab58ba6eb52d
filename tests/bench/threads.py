"""`thread/start`: one connection after the other's reply, and eight connections at once."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.clients import Client, stdio_client, ws_client
from tests.bench.figures import Figures, options, report, spread
from tests.bench.sides import Side, home_of, model, sides, ws_server

CONNECTIONS = 8


async def measure(side: Side, *, rounds: int) -> Figures:
    """Both transports with one connection, WebSocket with eight."""
    figures: Figures = {}
    with model() as model_port:
        with home_of(side, model_port=model_port) as home:
            async with stdio_client(home) as (client, _):
                figures |= await _started("stdio thread/start", [client], str(home.user), rounds)
        with home_of(side, model_port=model_port) as home, ws_server(home) as (_, port):
            async with ws_client(port) as client:
                figures |= await _started("ws thread/start", [client], str(home.user), rounds)
        with home_of(side, model_port=model_port) as home, ws_server(home) as (_, port):
            async with AsyncExitStack() as stack:
                clients = [
                    await stack.enter_async_context(ws_client(port)) for _ in range(CONNECTIONS)
                ]
                figures |= await _started(
                    "ws 8 connections thread/start", clients, str(home.user), rounds // CONNECTIONS
                )
    return figures


async def _started(name: str, clients: list[Client], cwd: str, rounds: int) -> Figures:
    async def each(client: Client) -> list[float]:
        return [await client.timed("thread/start", {"cwd": cwd}) for _ in range(rounds)]

    await clients[0].timed("thread/start", {"cwd": cwd})
    began = time.perf_counter()
    times = [one for many in await asyncio.gather(*map(each, clients)) for one in many]
    rate = len(times) / (time.perf_counter() - began)
    return spread(name, times) | {f"{name} per s": rate}


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side."""
    rounds = 40 if quick else 200
    return {one.name: asyncio.run(measure(one, rounds=rounds)) for one in sides(reference)}


if __name__ == "__main__":
    given = options(__doc__)
    report("threads", main(given.reference, quick=given.quick))
