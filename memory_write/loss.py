"""Whether published memory is still there: a folder may be wiped, replaced or lose its past.

Looks at names and the commit alone, before every pass; nothing is read through a link. Blocking.
"""

import os
from pathlib import Path

from memory_write.recipes import Recipe
from state.workspace.repo import Baseline


def is_lost(folder: Path, recipe: Recipe) -> bool:
    """Whether the folder lacks what every consolidation leaves in it, its baseline included."""
    if folder.is_symlink() or not folder.is_dir():
        return True
    for name in recipe.artefacts:
        path = folder / name
        if os.path.islink(path) or not path.is_file():
            return True
    return not Baseline(folder).usable()
