"""What of a reach is there on this machine: the one look at files before a command starts."""

import errno
import os
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath as Path

from server.agent.plain_file import NotPlain, read_plain
from server.agent.sandbox.limits import SurveyLimits
from server.agent.sandbox.policy import NAMES_KEPT_FREE, PROTECTED_NAMES, Reach, hidden_in

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
    """Look at every place; what is missing, or leads elsewhere by a link, is settled here.

    Raises: OSError (the folder of the thread became a link since its real path was taken).
    """
    if _real(reach.cwd) != str(reach.cwd):
        raise OSError(errno.ELOOP, "it became a link while it was looked at", str(reach.cwd))
    writable = [_real(one) for one in reach.writable]
    writable += [part for one in reach.open_folders for part in _plain_folders(_real(one))]
    writable = [one for one in dict.fromkeys(writable) if os.path.isdir(one)]
    hidden = [one for one in dict.fromkeys(map(_real, reach.hidden)) if os.path.lexists(one)]
    protected = [str(one) for one in reach.protected if os.path.lexists(one)]
    protected += _nested([_real(one) for one in reach.searched], hidden, limits)
    around = [os.path.realpath(os.path.dirname(one)) for one in protected if os.path.islink(one)]
    tops = [_real(one) for one in reach.searched]
    kept_free = [f"{top}/{name}" for top in tops if top in writable for name in NAMES_KEPT_FREE]
    protected += [folder for one in protected for folder in _git_folders(one)]
    for folder in dict.fromkeys(around):
        # No mount and no rule holds a link itself, so what is around it may not change either.
        protected.append(folder)
        writable += _inner(folder, limits)
    shown = [one for one in map(_real, reach.shown) if os.path.exists(one)]
    kept = [_real(Path(one)) for one in protected]
    return Ground(
        cwd=_real(reach.cwd),
        writable=tuple(dict.fromkeys(writable)),
        # What a project names as its repository is only kept from writing: it opens no place.
        protected=tuple(
            one
            for one in dict.fromkeys(kept)
            if any(_inside(one, root) for root in writable)
            and not hidden_in(Path(one), [Path(place) for place in hidden], [*map(Path, shown)])
        ),
        kept_free=tuple(one for one in kept_free if not os.path.lexists(one)),
        hidden_folders=tuple(one for one in hidden if os.path.isdir(one)),
        hidden_files=tuple(one for one in hidden if not os.path.isdir(one)),
        shown=tuple(dict.fromkeys(shown)),
        network=reach.network,
    )


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


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


def _inner(folder: str, limits: SurveyLimits) -> list[str]:
    """What stands in a folder and may be written, links and settings of programs left out."""
    return [
        entry.path
        for entry in _entries(folder, limits.inner_max)
        if entry.name not in PROTECTED_NAMES and not entry.is_symlink()
    ]


def _git_folders(pointer: str) -> list[str]:
    """Where a `.git` file of a worktree or submodule points, and the repository of a worktree.

    Hooks and configuration of a worktree lie in the repository that it belongs to.
    """
    text = _pointer(pointer)
    named = text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not named:
        return []
    own = os.path.realpath(os.path.join(os.path.dirname(pointer), named))
    common = _pointer(f"{own}/commondir").strip()
    found = [own, os.path.realpath(os.path.join(own, common))] if common else [own]
    return [one for one in found if os.path.isdir(one)]


def _pointer(path: str) -> str:
    """The text of a small file; nothing where it is none, such as a pipe that nobody writes."""
    try:
        return read_plain(path, bytes_max=POINTER_BYTES_MAX)[0].decode(errors="replace")
    except (NotPlain, OSError):
        return ""
