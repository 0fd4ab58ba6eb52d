"""What a person brought and memory does not say: no part of an edition, and so in force; pure.

Invariant: a note that counts as published stands in the artefacts, or a consolidator that wrote had
it before it. One that was looked at and not worked in is left out of the commit, as are edits by
hand that nobody worked in, and a note whose line was cut though it stands in the folder.
"""

from collections.abc import Iterable

from memory_write.phase2.evidence import SHARE_OWN, words_of
from memory_write.recipes import Recipe
from state.workspace.layout import NOTES
from state.workspace.snapshot import Snapshot

MARK = "[ad-hoc note]"
"""Stands on a line that a note supports."""


def not_worked_in(baseline: Snapshot, offered: Snapshot, recipe: Recipe) -> frozenset[str]:
    """What a person brought since the last edition and nobody has worked in, by path.

    Those are artefacts as a person edited them, and the new and the changed notes that no artefact
    says word for word.
    """
    notes = offered.below(NOTES)
    came = [path for path, file in notes.items() if baseline.files.get(path) != file]
    said = _flat("\n".join(_texts(offered, recipe))) if came else ""
    untold = [path for path in came if not _is_said(offered.text(path) or "", said)]
    edited = [
        path
        for path in recipe.artefacts
        if path in baseline.files and baseline.files[path] != offered.files.get(path)
    ]
    return frozenset((*untold, *edited))


def notes_lost(before: Snapshot, after: Snapshot, recipe: Recipe) -> frozenset[str]:
    """The notes of a folder that its artefacts said before and, after a cut, say no more."""
    had, has = list(_texts(before, recipe)), list(_texts(after, recipe))
    had_lines, has_lines = _marked(had), _marked(has)
    cut = [words_of(line.replace(MARK, "")) for line in had_lines - has_lines]
    said_before, said = _flat("\n".join(had)), _flat("\n".join(has))
    lost: set[str] = set()
    for path in after.below(NOTES):
        text = after.text(path) or ""
        words = words_of(text)
        told_of = any(one and len(one & words) >= SHARE_OWN * len(one) for one in cut)
        if not _is_said(text, said) and (told_of or _is_said(text, said_before)):
            lost.add(path)
    return frozenset(lost)


def as_before(written: Snapshot, baseline: Snapshot, paths: Iterable[str]) -> Snapshot:
    """What counts as published where these files are as they were in the last edition, or absent.

    They differ from the commit then: the next run is shown them, and a new thread is told notes.
    """
    files = dict(written.files)
    for path in paths:
        former = baseline.files.get(path)
        if former is None or former == files.get(path):
            files.pop(path, None)
        else:
            files[path] = former
    return Snapshot(files=dict(sorted(files.items())), odd=written.odd)


def _texts(snapshot: Snapshot, recipe: Recipe) -> Iterable[str]:
    return (snapshot.text(path) or "" for path in snapshot.files if recipe.writable(path))


def _marked(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(line for text in texts for line in text.split("\n") if MARK in line)


def _is_said(note: str, said: str) -> bool:
    """Whether each line stands there; bullets, headings and blanks apart."""
    lines = (_flat(line).lstrip("#-*+> ") for line in note.split("\n"))
    return all(line in said for line in lines if line)


def _flat(text: str) -> str:
    return " ".join(text.split())
