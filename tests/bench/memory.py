"""Resident memory of the process: idle, with loaded threads, after a turn in each."""

import asyncio
from pathlib import Path

from tests.bench.clients import stdio_client
from tests.bench.figures import Figures, options, report
from tests.bench.sides import Side, home_of, model, rss_mib, sides

THREADS = 20


async def measure(side: Side, *, turns_more: int) -> Figures:
    """One process from its start to many turns."""
    figures: Figures = {}
    with model() as model_port, home_of(side, model_port=model_port) as home:
        async with stdio_client(home) as (client, pid):
            await asyncio.sleep(1)
            figures["idle MiB"] = rss_mib(pid)
            cwd = str(home.user)
            threads = [await client.start_thread(cwd) for _ in range(THREADS)]
            await asyncio.sleep(0.5)
            figures[f"{THREADS} threads started MiB"] = rss_mib(pid)
            for thread in threads:
                await client.turn(thread, "Please make the change.")
            await asyncio.sleep(0.5)
            figures[f"{THREADS} threads, one turn each MiB"] = rss_mib(pid)
            for _ in range(turns_more):
                for thread in threads:
                    await client.turn(thread, "And now the next one.")
            figures[f"{THREADS} threads, {turns_more + 1} turns each MiB"] = rss_mib(pid)
    return figures


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side."""
    more = 2 if quick else 9
    return {one.name: asyncio.run(measure(one, turns_more=more)) for one in sides(reference)}


if __name__ == "__main__":
    given = options(__doc__)
    report("memory", main(given.reference, quick=given.quick))
