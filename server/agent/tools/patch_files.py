"""A patch and the files of this machine: what it would do, and doing all of it or nothing.

Invariant: after `carry_out` raised, every file is as it was before, as far as the system lets us;
links are never followed on the way to a file, so what was judged is what is changed. Blocking.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from server.agent.plain_file import NotPlain, read_plain
from server.agent.tools.patch import (
    AddFile,
    DeleteFile,
    FileOperation,
    PatchRefused,
    UpdateFile,
    apply_hunks,
)

FILE_BYTES_MAX = 16 * 1_048_576
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """What becomes of one file; paths are real ones."""

    kind: Literal["add", "delete", "update"]
    path: str
    move_to: str | None
    before: bytes | None
    """What it holds now; None where it does not exist."""
    after: bytes | None
    """What it will hold, at its new place if it moves."""
    mode: int | None
    """Its permissions now, kept; None for a new file."""
    covered: bytes | None = None
    """What a file at the new place of a moved one holds now."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every place it touches."""
        return (self.path,) if self.move_to is None else (self.path, self.move_to)


def plan(operations: Sequence[FileOperation], cwd: str) -> tuple[PlannedChange, ...]:
    """What the operations would do to the files as they are now; changes nothing.

    Raises: PatchRefused.
    """
    planned: list[PlannedChange] = []
    touched: set[str] = set()
    for operation in operations:
        change = _planned(operation, cwd)
        if twice := touched.intersection(change.paths):
            raise PatchRefused(f"the patch names {twice.pop()} twice; nothing was changed")
        touched.update(change.paths)
        planned.append(change)
    return tuple(planned)


def _planned(operation: FileOperation, cwd: str) -> PlannedChange:
    path = real_path(operation.path, cwd)
    match operation:
        case AddFile(text=text):
            found = _read(path, operation.path, may_be_absent=True)
            before, mode = found if found is not None else (None, None)
            return PlannedChange(
                kind="add", path=path, move_to=None, before=before, after=text.encode(), mode=mode
            )
        case DeleteFile():
            before, mode = _existing(path, operation.path)
            return PlannedChange(
                kind="delete", path=path, move_to=None, before=before, after=None, mode=mode
            )
        case UpdateFile(move_to=move_to, hunks=hunks):
            before, mode = _existing(path, operation.path)
            text = apply_hunks(operation.path, _decoded(before, operation.path), hunks)
            target = None if move_to is None else real_path(move_to, cwd)
            target = None if target == path else target
            covered = None if target is None else _read(target, move_to or "", may_be_absent=True)
            return PlannedChange(
                kind="update",
                path=path,
                move_to=target,
                before=before,
                after=text.encode(),
                mode=mode,
                covered=None if covered is None else covered[0],
            )


def real_path(given: str, cwd: str) -> str:
    """Where a path of a patch leads, links resolved.

    Raises: PatchRefused.
    """
    if not given or "\0" in given or given.endswith("/"):
        raise PatchRefused(f"'{given[:200]}' is no path of a file")
    if ".." in given.split("/"):
        raise PatchRefused(
            f"'{given[:200]}' has '..' in it; name the file from the working folder or absolutely"
        )
    try:
        return os.path.realpath(os.path.join(cwd, given))
    except (OSError, ValueError) as error:
        raise PatchRefused(f"'{given[:200]}' cannot be resolved: {error}") from error


def _existing(path: str, shown: str) -> tuple[bytes, int]:
    found = _read(path, shown, may_be_absent=False)
    assert found is not None
    return found


def _read(path: str, shown: str, *, may_be_absent: bool) -> tuple[bytes, int] | None:
    """Content and permissions of a plain file; None where there is none and may be none."""
    try:
        return read_plain(path, bytes_max=FILE_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        if may_be_absent:
            return None
        raise PatchRefused(f"{shown} does not exist; nothing was changed") from None
    except NotPlain as refused:
        raise PatchRefused(f"{shown} cannot be changed: {refused}; nothing was changed") from None
    except OSError as error:
        raise PatchRefused(f"{shown} cannot be read: {_reason(error)}") from error


def _decoded(data: bytes, shown: str) -> str:
    if b"\0" in data:
        raise PatchRefused(f"{shown} is no text file; nothing was changed")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise PatchRefused(f"{shown} is not UTF-8 text; nothing was changed") from None


def carry_out(changes: Sequence[PlannedChange]) -> None:
    """Make all of the changes, or none.

    Raises: PatchRefused, OSError.
    """
    undo: list[Callable[[], None]] = []
    partials: list[tuple[int, str]] = []
    folders: list[int] = []
    try:
        steps = [_prepared(change, undo, partials, folders) for change in changes]
        for change in changes:
            _unchanged(change)
        for step in steps:
            step()
    except BaseException:
        for folder, name in partials:
            with suppress(OSError):  # those that took their place have it no more
                os.unlink(name, dir_fd=folder)
        for back in reversed(undo):
            with suppress(OSError):
                back()
        raise
    finally:
        for folder in folders:
            os.close(folder)


def _unchanged(change: PlannedChange) -> None:
    """Another program may have written since the plan was made, or a person while being asked."""
    for path, known in ((change.path, change.before), (change.move_to, change.covered)):
        if path is not None:
            found = _read(path, path, may_be_absent=True)
            if (None if found is None else found[0]) != known:
                raise PatchRefused(f"{path} was changed meanwhile; nothing of the patch was done")


def _prepared(
    change: PlannedChange,
    undo: list[Callable[[], None]],
    partials: list[tuple[int, str]],
    folders: list[int],
) -> Callable[[], None]:
    """The one step that makes the change, everything it needs written beside its place."""
    source, name = _folder_of(change.path, undo, folders, create=change.after is not None)
    if change.after is None:
        return lambda: _removed(source, name, change, undo)
    target, target_name = source, name
    if change.move_to is not None:
        target, target_name = _folder_of(change.move_to, undo, folders, create=True)
    partial = _written(target, change.after, change.mode, partials)

    def step() -> None:
        covered = change.before if change.move_to is None else change.covered
        os.rename(partial, target_name, src_dir_fd=target, dst_dir_fd=target)
        undo.append(lambda: _restored(target, target_name, covered, change.mode))
        if change.move_to is not None:
            _removed(source, name, change, undo)

    return step


def _removed(folder: int, name: str, change: PlannedChange, undo: list[Callable[[], None]]) -> None:
    os.unlink(name, dir_fd=folder)
    undo.append(lambda: _restored(folder, name, change.before, change.mode))


def _restored(folder: int, name: str, content: bytes | None, mode: int | None) -> None:
    if content is None:
        os.unlink(name, dir_fd=folder)
        return
    partial = _written(folder, content, mode, [])
    os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)


def _written(folder: int, content: bytes, mode: int | None, partials: list[tuple[int, str]]) -> str:
    """A file with this content beside its place, under a name of its own."""
    name = f".patch-{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666, dir_fd=folder)
    partials.append((folder, name))
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
    return name


def _folder_of(
    path: str, undo: list[Callable[[], None]], folders: list[int], *, create: bool
) -> tuple[int, str]:
    """The folder of a real path, opened step by step without following a link, and the name."""
    *parts, name = path.strip("/").split("/")
    folder = os.open("/", _OPEN_FOLDER)
    folders.append(folder)
    for part in parts:
        try:
            inner = os.open(part, _OPEN_FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not create:
                raise
            os.mkdir(part, dir_fd=folder)
            undo.append(_removal(folder, part))
            inner = os.open(part, _OPEN_FOLDER, dir_fd=folder)
        folders.append(inner)
        folder = inner
    return folder, name


def _removal(folder: int, name: str) -> Callable[[], None]:
    return lambda: os.rmdir(name, dir_fd=folder)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
