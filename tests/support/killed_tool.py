"""A whole server whose tool ends the process as by kill -9, in the middle of a turn.

Run as: python killed_tool.py HOME. The model is the one that the home's configuration names; the
thread's id is printed first.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from server.agent.tools.stage import Stage, ToolCall, ToolResult
from server.assembly import Choices, start_server
from server.cli.client import Client
from server.settings import load_settings
from state.home import Home
from tests.support.acting_tools import function, item_body
from tests.support.faults import kill_this_process


class Kills:
    """The tool."""

    name = "kills"
    is_parallel = False
    seconds_max = None
    definition: Mapping[str, Any] = function("kills")

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """End the process with an item open."""
        stage.open("commandExecution", item_body(call, stage))
        kill_this_process()
        raise AssertionError("unreachable")


async def main(home: Path) -> None:
    """One thread and one turn."""
    server = await start_server(
        load_settings(Home(home)), Choices(learning=False, tools=(Kills(),))
    )
    client = Client(server.attach())
    await client.open("0")
    project = home.parent / "project"
    project.mkdir()
    thread = (await client.request("thread/start", {"cwd": str(project)}))["thread"]
    print(thread["id"], flush=True)
    words = [{"type": "text", "text": "go"}]
    await client.request("turn/start", {"threadId": thread["id"], "input": words})
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
