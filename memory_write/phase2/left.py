"""What a memory folder says without threads that are withdrawn and not taken out of it yet.

Told from the folder as it is, by the same rules by which code takes them out. Blocks on files.
"""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from memory_write.limits import Phase2Limits
from memory_write.phase2.withdraw import left_without
from memory_write.recipes import recipe_of
from state.home import Home
from state.ids import ThreadId
from state.workspace.repo import Baseline
from state.workspace.snapshot import take_snapshot


class LeftOf(Protocol):
    """Tells what is left of a version without these threads."""

    def __call__(
        self, version: str, thread_ids: frozenset[ThreadId], /
    ) -> Mapping[str, frozenset[str]]:
        """By path the lines that stay, without the blanks around them.

        Raises: OSError, WorkspaceUnsafe.
        """
        ...


def left_in(home: Home, limits: Phase2Limits) -> LeftOf:
    """Of the versions of a home."""
    return partial(_left, home, limits)


def _left(
    home: Home, limits: Phase2Limits, version: str, thread_ids: frozenset[ThreadId]
) -> Mapping[str, frozenset[str]]:
    live = home.memories(version)
    published = take_snapshot(
        live, files_max=limits.folder_files_max, bytes_max=limits.folder_bytes_max
    )
    baseline = Baseline(live).snapshot()
    left = left_without(published, baseline, thread_ids, recipe_of(version))
    return {path: _lines(left.text(path) or "") for path in left.files}


def _lines(text: str) -> frozenset[str]:
    return frozenset(line.strip() for line in text.split("\n"))
