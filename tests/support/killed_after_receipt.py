"""A server that keeps one note, prints the receipt, and ends as by kill -9 the moment it has it.

Run as: python killed_after_receipt.py HOME VERSION TEXT.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from server.assembly import Choices, start_server
from server.cli.client import Client
from server.settings import load_settings
from state.home import Home


async def main(home: Path, version: str, text: str) -> None:
    """One note, and the end."""
    server = await start_server(load_settings(Home(home)), Choices(learning=False))
    client = Client(server.attach())
    await client.open("0")
    receipt = await client.request("memory/remember", {"text": text, "version": version})
    os.write(1, json.dumps(receipt).encode())
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
