"""The whole content of a memory folder as one value, read without following a link.

Invariant: a snapshot holds regular files only; what is neither file nor folder, and what an inbox
may not take in, is listed as odd and never opened. The private `.git` at the top is not part of it.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from state.errors import WorkspaceUnsafe
from state.workspace.descriptors import OPEN_FOLDER, OPEN_READ
from state.workspace.inbox import INBOX_LIMITS, InboxLimits, InboxMeter
from state.workspace.layout import EXTENSIONS, GIT

DEPTH_MAX = 32
PIECE_BYTES = 1 << 18
EXECUTABLE = 0o100


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """One regular file."""

    data: bytes
    executable: bool = False

    @property
    def blob_id(self) -> str:
        """The id that git gives to these bytes."""
        header = b"blob %d\0" % len(self.data)
        return hashlib.sha1(header + self.data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Files by their path with `/`, sorted; and the paths of what is neither file nor folder."""

    files: Mapping[str, FileContent]
    odd: tuple[str, ...] = ()

    def below(self, folder: str) -> Mapping[str, FileContent]:
        """The files in a folder and its subfolders."""
        return {path: file for path, file in self.files.items() if path.startswith(f"{folder}/")}

    def text(self, path: str) -> str | None:
        """A file as text, bad bytes replaced; None when it is absent."""
        file = self.files.get(path)
        return None if file is None else file.data.decode(errors="replace")

    def digest(self) -> str:
        """One value for all paths, modes and bytes."""
        whole = hashlib.sha256()
        for path, file in self.files.items():
            whole.update(f"{path}\0{int(file.executable)}\0{file.blob_id}\n".encode())
        return whole.hexdigest()


def take_snapshot(
    root: Path, *, files_max: int, bytes_max: int, inbox: InboxLimits | None = INBOX_LIMITS
) -> Snapshot:
    """Read everything in the folder; an absent folder gives an empty snapshot.

    Without limits of the inbox, as for a copy of ours, all of it is taken in.
    Raises: WorkspaceUnsafe when the folder is a link or above the limits, OSError.
    """
    files: dict[str, FileContent] = {}
    odd: list[str] = []
    if not os.path.lexists(root):
        return Snapshot(files=files)
    if root.is_symlink():
        raise WorkspaceUnsafe(root, "it is a link")
    left = bytes_max
    meter = None if inbox is None else InboxMeter(inbox)
    for path, folder, name, status in _walk(root):
        if not stat.S_ISREG(status.st_mode) or not _is_text(path):
            odd.append(path)
            continue
        if meter is not None and not meter.admits(path, status.st_size):
            odd.append(path)
            continue
        if len(files) >= files_max:
            raise WorkspaceUnsafe(root, f"it holds more than {files_max} files")
        content = _content(folder, name, left)
        if content is None:
            odd.append(path)
            continue
        left -= len(content.data)
        if left < 0:
            raise WorkspaceUnsafe(root, f"it holds more than {bytes_max} bytes")
        files[path] = content
    return Snapshot(files=dict(sorted(files.items())), odd=tuple(sorted(odd)))


def write_snapshot(snapshot: Snapshot, root: Path) -> None:
    """Make the folder, which must not exist, with exactly these files.

    Raises: OSError.
    """
    root.mkdir(mode=0o700)
    root.chmod(0o700)
    made = {root}
    for path, file in snapshot.files.items():
        target = root / path
        for folder in reversed([one for one in target.parents if one not in made]):
            if folder.is_relative_to(root):
                folder.mkdir(mode=0o700)
                folder.chmod(0o700)
            made.add(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(target, flags, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            os.fchmod(descriptor, 0o700 if file.executable else 0o600)
            out.write(file.data)


def _walk(root: Path) -> Iterator[tuple[str, int, str, os.stat_result]]:
    """Path, open parent folder, name and status of all that is not a folder."""
    yield from _walk_below(os.open(root, OPEN_FOLDER), (), root)


def _walk_below(
    descriptor: int, parts: tuple[str, ...], root: Path
) -> Iterator[tuple[str, int, str, os.stat_result]]:
    try:
        with os.scandir(descriptor) as entries:
            # Inside an extension the last names come first: dated ones, and these are the newest.
            newest_first = len(parts) > 1 and parts[0] == EXTENSIONS
            names = sorted((entry.name for entry in entries), reverse=newest_first)
        for name in names:
            if not parts and (name == GIT or name.startswith(f"{GIT}.")):
                continue
            below = (*parts, name)
            try:
                status = os.lstat(name, dir_fd=descriptor)
                if not stat.S_ISDIR(status.st_mode):
                    yield "/".join(below), descriptor, name, status
                    continue
                if len(below) > DEPTH_MAX:
                    raise WorkspaceUnsafe(root, f"folders stand more than {DEPTH_MAX} deep in it")
                folder = os.open(name, OPEN_FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                # Removed while we walk: it is not part of what stands there.
                continue
            yield from _walk_below(folder, below, root)
    finally:
        os.close(descriptor)


def _is_text(path: str) -> bool:
    """A name that is no UTF-8 can be shown to nobody and stored nowhere."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _content(folder: int, name: str, bytes_left: int) -> FileContent | None:
    """The file's bytes, one more than allowed when it is too large; None when it cannot be read."""
    try:
        descriptor = os.open(name, OPEN_READ, dir_fd=folder)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        return None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            return None
        data = _read(descriptor, bytes_left + 1)
    finally:
        os.close(descriptor)
    return FileContent(data=data, executable=bool(mode & EXECUTABLE))


def _read(descriptor: int, bytes_max: int) -> bytes:
    """So many bytes or the rest, without the buffers of a file object: most files are small."""
    pieces: list[bytes] = []
    left = bytes_max
    while left > 0 and (piece := os.read(descriptor, min(left, PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
