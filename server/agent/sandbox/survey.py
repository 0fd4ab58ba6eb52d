"""What of a reach is there on this machine: the one look at files before a command starts."""

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath as Path

from server.agent.sandbox.limits import SurveyLimits
from server.agent.sandbox.policy import NAMES_KEPT_FREE, PROTECTED_NAMES, Reach

POINTER_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The places of a reach that exist, as real paths; the means of a sandbox work from these."""

    cwd: str
    writable: tuple[str, ...]
    protected: tuple[str, ...]
    kept_free: tuple[str, ...]
    """Places where nothing is, and nothing may be made."""
    hidden_folders: tuple[str, ...]
    hidden_files: tuple[str, ...]
    shown: tuple[str, ...]
    network: bool

    @property
    def hidden(self) -> tuple[str, ...]:
        """All that is hidden."""
        return (*self.hidden_folders, *self.hidden_files)


def survey(reach: Reach, limits: SurveyLimits) -> Ground:
    """Look at every place; what is missing, or leads elsewhere by a link, is settled here."""
    writable = [_real(one) for one in reach.writable]
    writable += [part for one in reach.open_folders for part in _plain_folders(_real(one))]
    writable = [one for one in dict.fromkeys(writable) if os.path.isdir(one)]
    hidden = [one for one in dict.fromkeys(map(_real, reach.hidden)) if os.path.lexists(one)]
    protected = [str(one) for one in reach.protected if os.path.lexists(one)]
    protected += _nested([_real(one) for one in reach.searched], hidden, limits)
    tops = [_real(one) for one in reach.searched]
    kept_free = [f"{top}/{name}" for top in tops if top in writable for name in NAMES_KEPT_FREE]
    protected += [folder for one in protected if (folder := _git_folder(one)) is not None]
    return Ground(
        cwd=_real(reach.cwd),
        writable=tuple(writable),
        protected=tuple(dict.fromkeys(_real(Path(one)) for one in protected)),
        kept_free=tuple(one for one in kept_free if not os.path.lexists(one)),
        hidden_folders=tuple(one for one in hidden if os.path.isdir(one)),
        hidden_files=tuple(one for one in hidden if not os.path.isdir(one)),
        shown=tuple(dict.fromkeys(one for one in map(_real, reach.shown) if os.path.exists(one))),
        network=reach.network,
    )


def _real(path: Path) -> str:
    return os.path.realpath(path)


def _plain_folders(folder: str) -> list[str]:
    """The subfolders a person works in; those with a dot hold settings of programs."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _nested(roots: list[str], hidden: list[str], limits: SurveyLimits) -> list[str]:
    """Repositories and settings below these folders, the nearest first, within the bounds.

    Links are not followed: what they lead to is found where it lies, or cannot be written.
    """
    level, found, seen = list(dict.fromkeys(roots)), list[str](), set[str]()
    folders, entries = limits.folders_max, limits.entries_max
    for _ in range(limits.depth_max):
        below: list[str] = []
        for folder in level:
            if folders <= 0 or entries <= 0 or len(found) >= limits.found_max:
                return found[: limits.found_max]
            if folder in seen or folder in hidden:
                continue
            seen.add(folder)
            folders -= 1
            for entry in _entries(folder, entries):
                entries -= 1
                if entry.name in PROTECTED_NAMES:
                    if not entry.is_symlink():
                        found.append(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
        level = sorted(below)
    return found[: limits.found_max]


def _entries(folder: str, entries_max: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(islice(entries, entries_max))
    except OSError:
        return []


def _git_folder(pointer: str) -> str | None:
    """Where a `.git` file of a worktree or submodule points."""
    if not os.path.isfile(pointer) or os.path.islink(pointer):
        return None
    try:
        with open(pointer, encoding="utf-8", errors="replace") as file:
            text = file.read(POINTER_BYTES_MAX)
    except OSError:
        return None
    named = text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not named:
        return None
    found = os.path.realpath(os.path.join(os.path.dirname(pointer), named))
    return found if os.path.isdir(found) else None
