"""A process that makes vectors for the memory of a home and kills itself in the middle of it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from memory_read.search_index import SearchIndex
from memory_read.semantic.embedder import Window
from memory_read.semantic.filling import VectorFilling
from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state
from tests.support.meaning import StemEmbedder

DONE = 40
"""Vectors after which it dies."""


class _Dying(StemEmbedder):
    def vector(self, window: Window) -> bytes | None:
        """As ever, until it dies."""
        if self.embedded == DONE:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().vector(window)


async def _main(folder: Path) -> None:
    state = await open_state(Home(folder), SystemClock(), "child")
    filling = VectorFilling(state, _Dying())
    index = SearchIndex(state, filling=filling)
    await index.settle()
    await index.finished("v1")
    await filling.finished("v1")


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
