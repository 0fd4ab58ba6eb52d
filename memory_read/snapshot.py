"""The published memory as one thread may see it: today, the whole folder of its version.

Invariant: memory text reaches a prompt, a tool's result or a client only from here, and no secret
with it. Files are read afresh, never through a link. All functions block; call them in a thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from state.errors import PathRefused
from state.home import Home
from state.policy.redaction import redact, redact_json
from state.workspace.layout import (
    DIFF_FILE,
    HANDBOOK,
    NOTES,
    RAW_MEMORIES,
    SUMMARY,
)
from state.workspace.merges import has_conflict
from state.workspace.repo import Baseline
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import FileContent

FILES_MAX = 200
PAGES_MAX = 10
_KNOWN_FILES = frozenset({SUMMARY, HANDBOOK, RAW_MEMORIES, DIFF_FILE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNote:
    """What a user asked to remember and no consolidation has taken in yet."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayFile:
    """A file that somebody put into the folder by hand."""

    path: str
    reason: str


class MemorySnapshot:
    """The memory of one version."""

    def __init__(self, home: Home, version: str) -> None:
        self.folder: Path = home.memories(version)
        self._root = ConfinedRoot(self.folder)

    def summary(self) -> str | None:
        """The whole summary as it stands; None when it is missing, unreadable or blank.

        Where a merge was left undone in it, the version that was published last.
        """
        text = self._text(SUMMARY)
        if text is not None and has_conflict(text):
            published = Baseline(self.folder).snapshot().text(SUMMARY)
            text = None if published is None else redact(published)
        return text if text is not None and text.strip() else None

    def pending_notes(self) -> tuple[PendingNote, ...]:
        """Notes that are not part of the published state, by name."""
        try:
            paths = [path for path in self._files_below(NOTES) if path.endswith(".md")]
        except (PathRefused, OSError):
            return ()
        if not paths:
            return ()
        published = Baseline(self.folder).blob_ids(NOTES)
        notes = []
        for path in paths:
            data = self._bytes(path)
            if data is None or FileContent(data=data).blob_id == published.get(path):
                continue
            text = _decoded(data)
            if text is not None and text.strip():
                notes.append(PendingNote(path=path, text=redact(text)))
        return tuple(notes)

    def stray_files(self) -> tuple[StrayFile, ...]:
        """Files at the top that no part of the system writes; tools still find them."""
        try:
            names = self._files_below("")
        except (PathRefused, OSError):
            return ()
        reason = "not part of the summary; found by list, read and search only"
        return tuple(
            StrayFile(path=name, reason=reason) for name in names if name not in _KNOWN_FILES
        )

    def list(self, **arguments: Any) -> Mapping[str, object]:
        """A folder's children.

        Raises: PathRefused, OSError.
        """
        return self._clean(self._root.list(**arguments))

    def read(self, **arguments: Any) -> Mapping[str, object]:
        """Lines of a file.

        Raises: PathRefused, OSError, UnicodeDecodeError.
        """
        return self._clean(self._root.read(**arguments))

    def search(self, **arguments: Any) -> Mapping[str, object]:
        """Lines that hold the queries.

        Raises: PathRefused, OSError.
        """
        return self._clean(self._root.search(**arguments))

    def add_note(self, filename: str, note: str) -> None:
        """Keep a note for the next consolidation.

        Raises: PathRefused, OSError, WorkspaceUnsafe.
        """
        self._root.write_new(f"{NOTES}/{filename}", note.encode())

    def _clean(self, result: Mapping[str, object]) -> Mapping[str, object]:
        cleaned: Mapping[str, object] = redact_json(result)
        return cleaned

    def _files_below(self, folder: str) -> tuple[str, ...]:
        """The visible files of a folder by name; of very many the last, which are the newest."""
        paths: tuple[str, ...] = ()
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            page = self._root.list(folder, cursor=cursor)
            entries, following = page["entries"], page["next_cursor"]
            assert isinstance(entries, Sequence)
            paths += tuple(one["path"] for one in entries if one["entry_type"] == "file")
            if not isinstance(following, str):
                break
            cursor = following
        return paths[-FILES_MAX:]

    def _text(self, path: str) -> str | None:
        data = self._bytes(path)
        text = None if data is None else _decoded(data)
        return None if text is None else redact(text)

    def _bytes(self, path: str) -> bytes | None:
        try:
            return self._root.read_bytes(path)
        except (PathRefused, OSError):
            return None


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
