"""The published memory and the notes of one version as files that another home can take in.

Invariant: every byte comes through the read door and is made portable after it; the result depends
on the memory and its places alone. Blocks; call it in a thread.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memory_read.snapshot import MemorySnapshot
from memory_read.standing import MARKS, Standing
from memory_read.withheld import OPEN, ReadGate
from state.home import Home
from state.policy.corrections import read_correction
from state.policy.export_form import (
    EXPORT_LIMITS,
    EXPORTED_NOTES,
    ExportLimits,
    is_exported_place,
    within,
)
from state.policy.portable import FOLDER, Places, Portable, folders_of_work
from state.policy.redaction import contains_secret, redact
from state.projects import project_of

FOLDERS_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The files of an export, by their path in it."""

    files: Mapping[str, bytes]
    pending: tuple[str, ...] = ()
    """Notes that no consolidation has worked in."""
    left_out: tuple[tuple[str, str], ...] = field(default=())
    """Path and reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """What is known of a machine besides its memory."""

    user_home: Path
    remotes: Mapping[str, str | None] = field(default_factory=dict)
    """By folder of work, the address of its repository where one was recorded."""


def exported(
    home: Home,
    version: str,
    origins: Origins,
    limits: ExportLimits = EXPORT_LIMITS,
    *,
    gate: ReadGate = OPEN,
) -> Exported:
    """Everything that a thread could be told of this version.

    Raises: OSError.
    """
    memory = MemorySnapshot(home, version, gate)
    standing = memory.standing()
    notes = dict(_notes(memory, standing))
    texts: dict[str, str] = {}
    left_out: list[tuple[str, str]] = []
    # Notes come after summary and handbook: of a memory above the limits the recaps go first.
    for path in memory.published_paths():
        if not is_exported_place(path, limits) or contains_secret(path):
            left_out.append((redact(path), "its name cannot stand in an export"))
        elif not standing.hides(path) and (text := memory.whole(path, standing)) is not None:
            texts[path] = text
    portable = Portable(_places(home, origins, [*texts.values(), *notes.values()]))
    every = {**notes, **texts}
    order = sorted(every, key=_rank)
    kept, over = within(((path, portable(every[path]).encode()) for path in order), limits)
    left_out += [(path, "the export would be larger than it may be") for path in over]
    pending = {f"{EXPORTED_NOTES}/{_name(note.path)}" for note in memory.pending_notes()}
    return Exported(
        files=kept, pending=tuple(sorted(pending & kept.keys())), left_out=tuple(left_out)
    )


def standing_texts(standing: Standing) -> Callable[[str, str], str | None]:
    """What of a text that comes from elsewhere stands here, by its path and text; None: nothing."""
    return lambda path, text: _standing_text(standing, path, text)


def _standing_text(standing: Standing, path: str, text: str) -> str | None:
    shown = standing.shown(text, path=path)
    if shown is None or not path.rpartition("/")[0].endswith(EXPORTED_NOTES):
        return shown
    # A note is the user's words alone: a mark in place of a line would be none of them.
    lines = [line for line in shown.split("\n") if line not in MARKS]
    kept = shown if len(lines) == shown.count("\n") + 1 else "\n".join(lines)
    return kept if kept.strip() else None


def _rank(path: str) -> int:
    """What of too much memory stays: notes, then what stands at the top; stable within these."""
    match path.split("/"):
        case ["notes", _]:
            return 0
        case [_]:
            return 1
        case ["skills", *_]:
            return 2
        case _:
            return 3


def _notes(memory: MemorySnapshot, standing: Standing) -> Iterator[tuple[str, str]]:
    for note in memory.notes():
        path = f"{EXPORTED_NOTES}/{_name(note.path)}"
        if not is_exported_place(path) or contains_secret(path):
            continue
        # What was corrected is nobody's to read; the words that hold now are the note.
        correction = read_correction(note.text)
        text = note.text if correction is None else correction.new
        shown = _standing_text(standing, note.path, text)
        if shown is not None:
            yield path, shown


def _places(home: Home, origins: Origins, texts: list[str]) -> Places:
    user_homes = _spellings(origins.user_home)
    folders = sorted(frozenset().union(*map(folders_of_work, texts)) | origins.remotes.keys())
    projects: dict[str, str] = {}
    for folder in folders[:FOLDERS_MAX]:
        project = _project(folder, origins.remotes.get(folder))
        if project is not None:
            root, key = project
            if key.startswith("git:"):
                projects[root] = key
            elif not any(_is_below(folder, user_home) for user_home in user_homes):
                projects[folder] = f"{FOLDER}/{Path(folder).name}"
    own = set(user_homes)
    return Places(
        user_homes=user_homes,
        memory_homes=_spellings(home.root),
        projects={path: key for path, key in projects.items() if path not in own},
    )


def _project(folder: str, remote: str | None) -> tuple[str, str] | None:
    """The folder of a project as it was named, and its key; None for what is no folder's name."""
    if "\0" in folder or not folder.startswith("/"):
        return None
    try:
        project = project_of(folder, origin_url=remote)
        inside = Path(folder).resolve().relative_to(project.root)
    except (OSError, RuntimeError, ValueError):
        return None
    root = folder.removesuffix(f"/{inside}") if inside.parts else folder
    return root, project.key


def _is_below(folder: str, user_home: str) -> bool:
    return folder == user_home or folder.startswith(f"{user_home}/")


def _spellings(path: Path) -> tuple[str, ...]:
    """The path as named and as the disk has it; the root of the disk is nobody's home."""
    found = dict.fromkeys((str(path), str(path.resolve())))
    return tuple(one for one in found if len(one) > 1)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
