"""Emptying memory: rows, jobs and folders of every version; the threads keep their modes.

Invariant: a root that is a link is refused before anything goes, so a refused reset changed
nothing; a root that is not there is not made. The pass that runs is ended first, and jobs lose
their rows, so that no work under way writes anything back afterwards.
"""

import asyncio
import os
import shutil
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from state.errors import WorkspaceUnsafe
from state.home import Home
from state.recovery import State

VERSIONS = ("v1", "v2", "v3")
_EXTENSIONS_OF_OLD = "memories_extensions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetReport:
    """What there was to clear."""

    outputs: int
    jobs: int
    entries: int
    """Files and folders directly below the emptied roots."""

    @property
    def had_memory(self) -> bool:
        """Whether anything was there."""
        return self.outputs + self.jobs + self.entries > 0


class Passes(Protocol):
    """Whoever runs the passes of learning; the scheduler."""

    def alone(self) -> AbstractAsyncContextManager[None]:
        """End the passes that run or wait, and let none begin inside the block."""
        ...


class MemoryReset:
    """Forgets all that was learned, on a person's order."""

    def __init__(self, state: State, passes: Passes) -> None:
        self._state = state
        self._passes = passes

    async def run(self, *, relearn: bool = False) -> ResetReport:
        """Clear rows, jobs and folders; threads and their memory modes stay.

        What was said up to now is not learned again, unless `relearn` asks for just that.
        Raises: WorkspaceUnsafe before anything was changed; OSError, DatabaseBusy.
        """
        await asyncio.to_thread(_check, self._state.home)
        async with self._passes.alone():
            return await self._clear(relearn=relearn)

    async def _clear(self, *, relearn: bool) -> ResetReport:
        state = self._state
        await asyncio.to_thread(_check, state.home)
        outputs = jobs = 0
        said_until_ms = 0 if relearn else state.clock.now_ms()
        async with state.database.writing() as tx:
            for version in VERSIONS:
                jobs += await state.jobs.clear(tx, version)
                outputs += await state.outputs.clear(tx, version, at_ms=said_until_ms)
            for edition in await state.editions.open_ones(tx):
                await state.editions.abandon(tx, edition.edition_id, state.clock.now_ms())
        entries = await asyncio.to_thread(_empty, state.home)
        return ResetReport(outputs=outputs, jobs=jobs, entries=entries)


def _roots(home: Home) -> list[Path]:
    return [*(home.memories(version) for version in VERSIONS), home.root / _EXTENSIONS_OF_OLD]


def _check(home: Home) -> None:
    for root in [*_roots(home), home.staging]:
        if root.is_symlink():
            raise WorkspaceUnsafe(root, "it is a link, which a reset does not follow")
        if root.exists() and not root.is_dir():
            raise WorkspaceUnsafe(root, "it is not a folder")


def _empty(home: Home) -> int:
    # Copies under way hold memory text too; they belong to a pass that was ended.
    _remove_entries(home.staging)
    return sum(_remove_entries(root) for root in _roots(home))


def _remove_entries(root: Path) -> int:
    if root.is_symlink() or not root.is_dir():
        return 0
    removed = 0
    with os.scandir(root) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
            removed += 1
    return removed
