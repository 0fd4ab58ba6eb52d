"""Starts commands that want to outlive it, then waits to be killed.

`python -m tests.support.commands_child ROOT MEANS`: prints `ready` once all of them run.
"""

import asyncio
import sys
from pathlib import Path

from server.agent.sandbox.policy import FullAccess
from server.agent.sandbox.sandbox import MEANS
from tests.support.confined import World

MARK = "987323"
LINES = (
    f"echo up; sleep {MARK}",
    f"setsid -f sleep {MARK} >/dev/null 2>&1 </dev/null; echo up; sleep {MARK}",
    f"trap '' TERM HUP INT; (setsid sh -c 'sleep {MARK}; sleep {MARK}' &) ; echo up; sleep {MARK}",
)


async def main(root: Path, name: str) -> None:
    """One process for each line."""
    means = next((one for one in MEANS if one == name), None)
    world = World(root=root, means=means)
    world.build()
    for line in LINES:
        up = asyncio.Event()
        policy = None if means else FullAccess()

        def seen(_: bytes, up: asyncio.Event = up) -> None:
            up.set()

        await world.start(["/bin/sh", "-c", line], policy=policy, sink=seen)
        await up.wait()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
