"""What code puts right in a consolidator's result before it is judged; blocking.

Invariant: nothing is added but what a person had written there or in a note. Lines that only inputs
that went had supported are cut, and names that stand for no input are left out; both are counted,
and neither is a reason to refuse the rest.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from memory_write.phase2.by_hand import hand_edits, with_hand_edits
from memory_write.phase2.citations import tidy_citations
from memory_write.phase2.cut import Grounds
from memory_write.phase2.gather import Gathered
from memory_write.phase2.notes_hold import with_notes_held
from memory_write.phase2.withdraw import Gone, cut_artefacts, grounds_of, told_by
from memory_write.recipes import Recipe
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import FileContent, Snapshot


@dataclass(slots=True)
class Tally:
    """What was put right."""

    lines_cut: int = 0
    ids_ignored: Counter[str] = field(default_factory=Counter)
    notes_held: int = 0
    """Lines that gave another number than a person's note."""


def tidied(
    written: Snapshot, gathered: Gathered, gone: Gone | None, recipe: Recipe, tally: Tally
) -> Snapshot:
    """The result with both put right."""
    grounds: Grounds | None = None
    if gone is not None and (gone.threads.thread_ids or gone.trace.words):
        gone = told_by(written, gone.without(gathered.sources), gathered.sources, recipe)
        grounds = grounds_of(
            gone,
            gathered.selection,
            gathered.offered,
            Snapshot(files={}),
            recipe,
            rebuild_follows=False,
        )
        written, lines = cut_artefacts(written, grounds, recipe)
        tally.lines_cut += lines
    files = dict(written.files)
    for path, file in written.files.items():
        if not recipe.writable(path) or not path.endswith(".md"):
            continue
        try:
            text = file.data.decode()
        except UnicodeDecodeError:
            continue  # the judgement names it
        tidy = tidy_citations(text, gathered.sources)
        if tidy.text != text:
            files[path] = FileContent(data=tidy.text.encode(), executable=file.executable)
        tally.ids_ignored.update(tidy.ignored)
    held, conflicts = with_notes_held(
        Snapshot(files=files, odd=written.odd), gathered.offered, recipe
    )
    tally.notes_held += conflicts
    edits = hand_edits(gathered.published, gathered.baseline, recipe)
    return with_hand_edits(held, edits, grounds, recipe)


def write_back(staged: Path, before: Snapshot, after: Snapshot) -> None:
    """Bring what was put right into the copy.

    Raises: PathRefused, OSError.
    """
    root = ConfinedRoot(staged)
    for path, file in after.files.items():
        known = before.files.get(path)
        if known is None or known.data != file.data:
            root.write(path, file.data)
    for path in before.files.keys() - after.files.keys():
        root.delete(path)
