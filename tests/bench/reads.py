"""Small requests over both transports: status, memory mode, memory text, loaded threads, a read."""

import asyncio
from pathlib import Path

from tests.bench.clients import Client, stdio_client, ws_client
from tests.bench.figures import Figures, options, report, spread
from tests.bench.sides import Side, home_of, model, sides, ws_server


async def measure(side: Side, *, rounds: int) -> Figures:
    """Each method `rounds` times, one after the other."""
    figures: Figures = {}
    with model() as model_port:
        with home_of(side, model_port=model_port) as home:
            async with stdio_client(home) as (client, _):
                figures |= await _each("stdio", client, str(home.user), rounds)
        with home_of(side, model_port=model_port) as home, ws_server(home) as (_, port):
            async with ws_client(port) as client:
                figures |= await _each("ws", client, str(home.user), rounds)
    return figures


async def _each(name: str, client: Client, cwd: str, rounds: int) -> Figures:
    thread = await client.start_thread(cwd)
    await client.turn(thread, "Please make the change.")
    calls: list[tuple[str, list[dict[str, object]]]] = [
        ("memory/status", [{}]),
        (
            "thread/memoryMode/set",
            [{"threadId": thread, "mode": mode} for mode in ("disabled", "enabled")],
        ),
        ("thread/memory/read", [{"threadId": thread}]),
        ("thread/loaded/list", [{}]),
        ("thread/read", [{"threadId": thread, "includeTurns": True}]),
    ]
    figures: Figures = {}
    for method, given in calls:
        await client.timed(method, given[-1])
        times = [await client.timed(method, given[at % len(given)]) for at in range(rounds)]
        figures |= spread(f"{name} {method}", times)
    return figures


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side."""
    rounds = 60 if quick else 300
    return {one.name: asyncio.run(measure(one, rounds=rounds)) for one in sides(reference)}


if __name__ == "__main__":
    given = options(__doc__)
    report("reads", main(given.reference, quick=given.quick))
