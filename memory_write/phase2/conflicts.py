"""Artefacts in which a merge was left undone: they are named, and nobody builds on them; pure.

Invariant: such a file is never published and never undone; the person who merged finishes it.
"""

from memory_write.recipes import Recipe
from state.workspace.merges import has_conflict
from state.workspace.snapshot import Snapshot


def conflicts_in(folder: Snapshot, recipe: Recipe) -> tuple[str, ...]:
    """The artefacts with an undone merge."""
    return tuple(
        path
        for path in folder.files
        if recipe.writable(path) and has_conflict(folder.text(path) or "")
    )
