"""A process that indexes the memory of a home and kills itself in the middle of it."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from memory_read.index_standing import INDEX_LIMITS
from memory_read.search_index import SearchIndex
from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state

DONE = 3
"""Files after which it dies."""


def _die(version: str, done: int, total: int) -> None:
    if done == DONE:
        os.kill(os.getpid(), signal.SIGKILL)


async def _main(folder: Path) -> None:
    state = await open_state(Home(folder), SystemClock(), "child")
    index = SearchIndex(state, _die, replace(INDEX_LIMITS, files_awaited_max=0))
    await index.look("v1")
    await index.finished("v1")


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
