"""A folder that nobody leaves: every path is checked part by part, and no link is followed.

Invariant: a descriptor opened here was reached from the root by folders alone, each opened with
`O_NOFOLLOW` relative to its parent, so that a link put there between check and use is refused too.
All methods block; call them in a thread. Refusals are `PathRefused`, whose sentence is for a model.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from state.errors import PathRefused, WorkspaceUnsafe
from state.home import FOLDER_MODE
from state.policy.budget import truncate_middle
from state.workspace.descriptors import (
    OPEN_FOLDER,
    OPEN_READ,
    children,
    make_folder_at,
    unlink_at,
    write_at,
)
from state.workspace.pages import after_lines, clamped, line_start, next_cursor_of, start_of
from state.workspace.search import (
    MatchMode,
    Prepared,
    find,
    parse_mode,
    prepare,
    split_lines,
)

LIST_RESULTS_MAX = 2_000
SEARCH_RESULTS_MAX = 200
READ_TOKENS_MAX = 20_000
FILE_BYTES_MAX = 16 * 1_048_576
WALK_FILES_MAX = 20_000
DEPTH_MAX = 16

Result = dict[str, object]
Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What stands at a checked path."""

    parts: Parts
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)


class ConfinedRoot:
    """List, read, search and change files below one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def list(
        self, path: str | None = None, *, cursor: str | None = None, max_results: int | None = None
    ) -> Result:
        """The children of a folder by name, or the one file.

        Raises: PathRefused, OSError.
        """
        found = self._existing(path or "")
        limit = clamped(max_results, LIST_RESULTS_MAX)
        start = start_of(cursor)
        if found.is_folder:
            with self._folder(found.parts) as descriptor:
                entries = [
                    {"path": "/".join((*found.parts, name)), "entry_type": kind}
                    for name, kind in children(descriptor)
                ]
        elif found.is_file:
            entries = [{"path": "/".join(found.parts), "entry_type": "file"}]
        else:
            raise PathRefused(f"path '{path}' was not found")
        next_cursor = next_cursor_of(start, limit, len(entries))
        return {
            "path": path or "",
            "entries": entries[start : start + limit],
            "next_cursor": next_cursor,
            "truncated": next_cursor is not None,
        }

    def read(
        self, path: str, *, line_offset: int | None = None, max_lines: int | None = None
    ) -> Result:
        """Lines of one text file, cut in the middle above the token limit.

        Raises: PathRefused, OSError, UnicodeDecodeError.
        """
        offset = 1 if line_offset is None else line_offset
        if offset < 1:
            raise PathRefused("line_offset must be a 1-indexed line number")
        if max_lines is not None and max_lines < 1:
            raise PathRefused("max_lines must be a positive integer")
        found = self._existing(path)
        if not found.is_file:
            raise PathRefused(f"path '{path}' is not a file")
        text = self._bytes(found.parts, bytes_max=FILE_BYTES_MAX).decode()
        begin = line_start(text, offset)
        end = len(text) if max_lines is None else after_lines(text, begin, max_lines)
        selected = text[begin:end]
        content = truncate_middle(selected, tokens_max=READ_TOKENS_MAX)
        return {
            "path": path,
            "start_line_number": offset,
            "content": content,
            "truncated": end < len(text) or content != selected,
        }

    def search(
        self,
        queries: Sequence[str],
        *,
        match_mode: Mapping[str, object] | None = None,
        path: str | None = None,
        cursor: str | None = None,
        context_lines: int | None = None,
        case_sensitive: bool | None = None,
        normalized: bool | None = None,
        max_results: int | None = None,
    ) -> Result:
        """Every line or window of lines that holds the queries, below a folder or in a file.

        Raises: PathRefused, OSError.
        """
        wanted = prepare(
            queries, case_sensitive=case_sensitive is not False, normalized=normalized is True
        )
        mode = parse_mode(match_mode)
        context = context_lines or 0
        if context < 0:
            raise PathRefused("context_lines must not be negative")
        limit = clamped(max_results, SEARCH_RESULTS_MAX)
        start = start_of(cursor)
        found = self._existing(path or "")
        matches: list[Result] = []
        for parts in self._visible_files(found):
            matches.extend(self._matches(parts, wanted, mode, context))
        next_cursor = next_cursor_of(start, limit, len(matches))
        return {
            "queries": [*wanted.queries],
            "match_mode": mode.wire(),
            "path": path or "",
            "matches": matches[start : start + limit],
            "next_cursor": next_cursor,
            "truncated": next_cursor is not None,
        }

    def read_bytes(self, path: str, *, bytes_max: int = FILE_BYTES_MAX) -> bytes:
        """The whole content of one file.

        Raises: PathRefused, OSError.
        """
        found = self._existing(path)
        if not found.is_file:
            raise PathRefused(f"path '{path}' is not a file")
        return self._bytes(found.parts, bytes_max=bytes_max)

    def write_new(self, path: str, data: bytes) -> None:
        """Make a file that must not exist yet, and its folders.

        Raises: PathRefused, OSError.
        """
        parts = self._for_writing(path)
        with self._folder(parts[:-1], make=True) as folder:
            try:
                write_at(folder, parts[-1], data, os.O_CREAT | os.O_EXCL)
            except FileExistsError as error:
                raise PathRefused(f"path '{path}' already exists") from error

    def write(self, path: str, data: bytes) -> None:
        """Make or replace a file, and its folders; a reader sees the old or the new one whole.

        Raises: PathRefused, OSError.
        """
        parts = self._for_writing(path)
        with self._folder(parts[:-1], make=True) as folder:
            partial = f".{parts[-1][:100]}.part"
            try:
                write_at(folder, partial, data, os.O_CREAT | os.O_TRUNC)
                os.replace(partial, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                unlink_at(folder, partial)
                raise

    def edit(self, path: str, old_text: str, new_text: str) -> None:
        """Replace the one place where the old text stands.

        Raises: PathRefused, OSError, UnicodeDecodeError.
        """
        if not old_text:
            raise PathRefused("old_text must not be empty")
        text = self.read_bytes(path).decode()
        count = text.count(old_text)
        if count != 1:
            raise PathRefused(f"old_text occurs {count} times in '{path}', it must occur once")
        self.write(path, text.replace(old_text, new_text).encode())

    def move(self, path: str, new_path: str) -> None:
        """Rename a file to a path where nothing stands.

        Raises: PathRefused, OSError.
        """
        found = self._existing(path)
        if not found.is_file or not found.parts:
            raise PathRefused(f"path '{path}' is not a file")
        target = self._for_writing(new_path)
        if self._look(target) is not None:
            raise PathRefused(f"path '{new_path}' already exists")
        with (
            self._folder(found.parts[:-1]) as source,
            self._folder(target[:-1], make=True) as folder,
        ):
            os.rename(found.parts[-1], target[-1], src_dir_fd=source, dst_dir_fd=folder)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder that is empty.

        Raises: PathRefused, OSError.
        """
        found = self._existing(path)
        if not found.parts:
            raise PathRefused("the root cannot be deleted")
        with self._folder(found.parts[:-1]) as folder:
            if not found.is_folder:
                os.unlink(found.parts[-1], dir_fd=folder)
                return
            try:
                os.rmdir(found.parts[-1], dir_fd=folder)
            except OSError as error:
                raise PathRefused(f"path '{path}' is not empty") from error

    def walk(self) -> Iterator[str]:
        """The paths of all visible regular files, sorted.

        Raises: PathRefused, OSError.
        """
        found = self._look(())
        if found is not None:
            for parts in self._visible_files(found):
                yield "/".join(parts)

    def _existing(self, path: str) -> Found:
        found = self._look(_checked(path), shown=path)
        if found is None:
            raise PathRefused(f"path '{path}' was not found")
        return found

    def _for_writing(self, path: str) -> Parts:
        parts = _checked(path)
        if not parts:
            raise PathRefused(f"path '{path}' is not a file")
        if len(parts) > DEPTH_MAX or any(len(part.encode()) > 200 for part in parts):
            raise PathRefused(f"path '{path}' is too long")
        found = self._look(parts, shown=path)
        if found is not None and not found.is_file:
            raise PathRefused(f"path '{path}' is not a file")
        return parts

    def _look(self, parts: Parts, *, shown: str = "") -> Found | None:
        """Walk down with lstat; None where something is missing."""
        place = str(self.path)
        try:
            status = os.lstat(place)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(status.st_mode):
            raise PathRefused("path '' must not be a symlink")
        for depth, part in enumerate(parts):
            if not stat.S_ISDIR(status.st_mode):
                raise PathRefused(
                    f"path '{shown}' traverses through a non-directory path component"
                )
            place = f"{place}/{part}"
            try:
                status = os.lstat(place)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(status.st_mode):
                raise PathRefused(f"path '{'/'.join(parts[: depth + 1])}' must not be a symlink")
        return Found(parts=parts, status=status)

    @contextmanager
    def _folder(self, parts: Parts, *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder, reached part by part."""
        if make:
            self._make_root()
        descriptor = os.open(self.path, OPEN_FOLDER)
        try:
            for part in parts:
                if make:
                    make_folder_at(descriptor, part)
                below = os.open(part, OPEN_FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    def _make_root(self) -> None:
        if self.path.is_symlink():
            raise WorkspaceUnsafe(self.path, "it is a link")
        if not self.path.exists():
            # Two first notes may come at once.
            self.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            self.path.chmod(FOLDER_MODE)

    @contextmanager
    def opened(self, path: str) -> Iterator[BinaryIO]:
        """One regular file, open for reading; what is missing or a link gives the system's error.

        Raises: PathRefused, OSError.
        """
        with self._file(_checked(path)) as file:
            yield file

    @contextmanager
    def _file(self, parts: Parts) -> Iterator[BinaryIO]:
        with self._folder(parts[:-1]) as folder:
            descriptor = os.open(parts[-1] if parts else ".", OPEN_READ, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PathRefused(f"path '{'/'.join(parts)}' is not a file")
            yield file

    def _bytes(self, parts: Parts, *, bytes_max: int) -> bytes:
        with self._file(parts) as file:
            data = file.read(bytes_max + 1)
        if len(data) > bytes_max:
            raise PathRefused(f"path '{'/'.join(parts)}' is larger than {bytes_max} bytes")
        return data

    def _visible_files(self, found: Found) -> Iterator[Parts]:
        """Regular files at or below it, by path; hidden names, links and odd files left out."""
        if found.is_file:
            yield found.parts
            return
        paths: list[Parts] = []
        waiting = [found.parts]
        while waiting and len(paths) < WALK_FILES_MAX:
            parts = waiting.pop()
            try:
                with self._folder(parts) as descriptor:
                    inside = children(descriptor)
            except FileNotFoundError:
                continue
            for name, kind in inside:
                if kind == "file":
                    paths.append((*parts, name))
                elif len(parts) < DEPTH_MAX:
                    waiting.append((*parts, name))
        yield from sorted(paths, key="/".join)

    def _matches(
        self, parts: Parts, wanted: Prepared, mode: MatchMode, context: int
    ) -> Iterator[Result]:
        try:
            lines = split_lines(self._bytes(parts, bytes_max=FILE_BYTES_MAX).decode())
        except (UnicodeDecodeError, FileNotFoundError, PathRefused):
            # Neither text, nor there any more, nor of a size that anyone searches: no match in it.
            return
        for window in find(lines, wanted, mode):
            first = max(0, window.first - context)
            yield {
                "path": "/".join(parts),
                "match_line_number": window.first + 1,
                "content_start_line_number": first + 1,
                "content": "\n".join(lines[first : window.last + context + 1]),
                "matched_queries": [*window.matched],
            }


def _checked(path: str) -> Parts:
    """The parts of a path as written, before the disk is looked at."""
    if "\0" in path:
        raise PathRefused(f"path '{path.replace(chr(0), '')}' was not found")
    raw = path.split("/")
    if path.startswith("/") or ".." in raw:
        raise PathRefused(f"path '{path}' must stay within the memories root")
    parts = tuple(part for part in raw if part not in ("", "."))
    if any(part.startswith(".") for part in parts):
        raise PathRefused(f"path '{path}' was not found")
    return parts
