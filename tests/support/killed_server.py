"""A whole server that imports, consolidates, and ends as by kill -9 at a named step.

Run as: python killed_server.py HOME SOURCE STEP. It exits with status 0 if the step never came.
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from server.assembly import Choices, start_server
from server.cli.client import Client
from server.settings import load_settings
from state.home import Home
from tests.support.faults import RecordedSteps, kill_this_process


async def main(home: Path, source: str, step: str) -> None:
    """One import and one order to consolidate."""
    steps = RecordedSteps(step, kill_this_process)
    server = await start_server(load_settings(Home(home)), Choices(steps=steps, learning=False))
    client = Client(server.attach())
    await client.open("0")
    await client.request("thread/import", {"path": source})
    await client.request("memory/consolidate/start", {"wait": True})
    await client.close()
    await server.stop(drain_s=0)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
