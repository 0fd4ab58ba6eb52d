"""The user's instruction files, found and read from home and repository down to the folder.

They are orders of the user, not memory: their switch is their own, and nothing is learned from
them. Invariant: reading costs a bounded number of bytes and never waits, whatever lies there under
the name; a file that cannot be used is left out and told. Everything here blocks.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

OVERRIDE = "AGENTS.override.md"
NAME = "AGENTS.md"
ROOT_MARK = ".git"
BYTES_MAX_DEFAULT = 32 * 1_024
BYTES_MAX = 1_048_576
FOLDERS_MAX = 64
FALLBACKS_MAX = 16
_BETWEEN_HOME_AND_PROJECT = "\n\n--- project-doc ---\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionSettings:
    """Which files count, and how much of them."""

    enabled: bool = True
    home: Path | None = None
    """Where the file for all projects lies."""
    bytes_max: int = BYTES_MAX_DEFAULT
    """Of all project files together; 0 leaves them out."""
    fallbacks: tuple[str, ...] = ()
    """Further names, tried in a folder that has none of the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What the files say, one after the other."""

    text: str = ""
    sources: tuple[str, ...] = ()
    """The files that are part of it, in order."""
    faults: tuple[str, ...] = ()
    """What was left out or cut, a sentence each; the sentences hold no text of a file."""


class _Reading:
    """Takes files one by one until the room is used up."""

    def __init__(self, bytes_max: int) -> None:
        self.left = bytes_max
        self.bytes_max = bytes_max
        self.texts: list[str] = []
        self.sources: list[str] = []
        self.faults: list[str] = []

    def take(self, path: Path, *, within: Path | None) -> bool:
        """Take that file; False where it has nothing to say, so that another name is tried."""
        data = self._bytes(path, within)
        if data is None:
            return False
        text = self._text(path, data)
        if text.strip():
            self.texts.append(text)
            self.sources.append(str(path))
        return bool(text.strip())

    def _bytes(self, path: Path, within: Path | None) -> bytes | None:
        try:
            return _read(path, within=within, bytes_max=self.left)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except _Unusable as unusable:
            self.faults.append(f"{path}: {unusable}; it is left out")
        except (RuntimeError, ValueError):
            self.faults.append(f"{path}: no usable path; it is left out")
        except OSError as error:
            self.faults.append(f"{path}: {error.strerror or 'cannot be read'}; it is left out")
        return None

    def _text(self, path: Path, data: bytes) -> str:
        if len(data) > self.left:
            data = _cut(data, self.left)
            self.faults.append(
                f"{path}: cut, since instruction files have {self.bytes_max} bytes in all "
                "(project_doc_max_bytes)"
            )
            self.left = 0
        else:
            self.left -= len(data)
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.faults.append(f"{path}: not all of it is UTF-8; odd bytes are replaced")
            return data.decode(errors="replace")


class _Unusable(Exception):
    """A file of that name that must not be read."""


def read_instructions(cwd: str, settings: InstructionSettings) -> Instructions:
    """All instruction files that hold for that folder; the nearest come last."""
    if not settings.enabled:
        return Instructions()
    for_all = _Reading(BYTES_MAX_DEFAULT)
    if settings.home is not None:
        _take_first(for_all, settings.home, (OVERRIDE, NAME), within=None)
    project = _Reading(min(max(settings.bytes_max, 0), BYTES_MAX))
    if project.left > 0:
        names = (OVERRIDE, NAME, *_plain(settings.fallbacks))
        folders = _folders(Path(cwd))
        for folder in folders:
            if project.left <= 0:
                break
            _take_first(project, folder, names, within=folders[0])
    texts = ["\n\n".join(one.texts) for one in (for_all, project) if one.texts]
    return Instructions(
        text=_BETWEEN_HOME_AND_PROJECT.join(texts),
        sources=(*for_all.sources, *project.sources),
        faults=(*for_all.faults, *project.faults),
    )


def fragment(cwd: str, text: str) -> str:
    """The instructions as a model gets them."""
    return f"# AGENTS.md instructions for {cwd}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>"


def _take_first(
    reading: _Reading, folder: Path, names: Sequence[str], *, within: Path | None
) -> None:
    """The first of these names that has something to say counts for its folder."""
    for name in names:
        if reading.take(folder / name, within=within):
            return


def _folders(cwd: Path) -> list[Path]:
    """From the root of the repository down to the folder; the folder alone outside of one."""
    chain = [cwd, *cwd.parents][:FOLDERS_MAX]
    for place, folder in enumerate(chain):
        if os.path.lexists(folder / ROOT_MARK):
            return chain[place::-1]
    return [cwd]


def _plain(names: Sequence[str]) -> Iterator[str]:
    for name in names[:FALLBACKS_MAX]:
        if name and name not in (".", "..") and "/" not in name and "\0" not in name:
            yield name


def _read(path: Path, *, within: Path | None, bytes_max: int) -> bytes:
    """At most one byte more than may be used.

    Raises: OSError, _Unusable.
    """
    os.stat(path)  # most folders have none, and this is the cheapest way to know
    real = path.resolve(strict=True)
    # A repository is somebody else's work: its links must not fetch what lies outside of it.
    if within is not None and not real.is_relative_to(within.resolve()):
        raise _Unusable("a link that leaves the project")
    # Without waiting, should it be a pipe that nobody writes to.
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _Unusable("not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(bytes_max + 1)
    finally:
        os.close(descriptor)


def _cut(data: bytes, bytes_max: int) -> bytes:
    """The whole lines that fit; of one endless line the whole characters."""
    kept = data[:bytes_max]
    lines, feed, _ = kept.rpartition(b"\n")
    return lines + feed if feed else kept.decode(errors="ignore").encode()
