"""Whether published memory is still there: a folder may be wiped, replaced or lose its past.

Looks at names and the commit alone, before every pass; nothing is read through a link. Notes that
went with a folder and were not worked in yet come back from the journal.
"""

import asyncio
import logging
import os
from pathlib import Path

from memory_write.recipes import Recipe
from state.notes import settle_notes
from state.recovery import State
from state.workspace.repo import Baseline

_LOG = logging.getLogger(__name__)


async def notes_back(state: State, recipe: Recipe) -> None:
    """Bring back the notes of a lost folder, and see which ones are done.

    Raises: WorkspaceUnsafe, PathRefused, OSError, DatabaseBusy, DatabaseUnusable, JournalUnusable.
    """
    folder = state.home.memories(recipe.version)
    async with state.database.glancing() as read:
        edition = await state.editions.latest(read, recipe.version)
    lost = edition is not None and await asyncio.to_thread(is_lost, folder, recipe)
    settled = await settle_notes(state, recipe.version, lost=lost)
    if settled.restored:
        count = len(settled.restored)
        _LOG.warning("memory %s had lost %d notes; they are back", recipe.version, count)


def is_lost(folder: Path, recipe: Recipe) -> bool:
    """Whether the folder lacks what every consolidation leaves in it, its baseline included.

    Blocks on files.
    """
    if folder.is_symlink() or not folder.is_dir():
        return True
    for name in recipe.artefacts:
        path = folder / name
        if os.path.islink(path) or not path.is_file():
            return True
    return not Baseline(folder).usable()
