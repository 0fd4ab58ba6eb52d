"""The published memory as one thread may see it: today, the whole folder of its version.

Invariant: memory text reaches a prompt, a tool's result or a client only from here, no secret with
it, no line that the user asked to forget and none of a withdrawn thread. Files are read afresh,
never through a link. All functions block; call them in a thread.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memory_read.dating import Confirmations
from memory_read.standing import FORGOTTEN, Standing, changes_others
from memory_read.withheld import WITHDRAWN, Left, ReadGate
from state.errors import PathRefused
from state.home import Home
from state.policy.redaction import redact, redact_json
from state.workspace.layout import (
    DIFF_FILE,
    HANDBOOK,
    NOTES,
    RAW_MEMORIES,
    RECAPS,
    SKILLS,
    SUMMARY,
)
from state.workspace.merges import has_conflict
from state.workspace.passages import Passage, read_passages
from state.workspace.repo import Baseline
from state.workspace.root import FILE_BYTES_MAX, ConfinedRoot
from state.workspace.search import ALL_WITHIN_LINES
from state.workspace.snapshot import FileContent

FILES_MAX = 200
RECAPS_MAX = 512
RECAP_BYTES_MAX = 65_536
PAGES_MAX = 10
STAMP_CHARS = 19
"""Of the time that the name of a note begins with."""
BETWEEN = "\n\n\0\n\n"
"""What no shape of a secret goes across."""
SummaryMissing = Literal["no_summary", "blank", "unreadable"]
_GONE = frozenset({FORGOTTEN, WITHDRAWN})
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

    def __init__(self, home: Home, version: str, gate: ReadGate) -> None:
        self.version = version
        self.folder: Path = home.memories(version)
        self._root = ConfinedRoot(self.folder)
        self._gate = gate

    def summary(self) -> str | None:
        """The whole summary as it stands; None when it is missing, unreadable or blank.

        Where a merge was left undone in it, the version that was published last. Lines that the
        user asked to forget are replaced.
        """
        text = self._text(SUMMARY)
        if text is not None and has_conflict(text):
            published = Baseline(self.folder).snapshot().text(SUMMARY)
            text = None if published is None else self._cleaned(redact(published), path=SUMMARY)
        if text is None or not text.strip() or self._is_hidden(SUMMARY):
            return None
        return self.forgetting().cleaned(text, path=SUMMARY)

    def why_no_summary(self) -> SummaryMissing:
        """Why `summary` gave none: there is no file, it cannot be read, or nothing stands in it."""
        if not os.path.lexists(self.folder / SUMMARY) or self._is_hidden(SUMMARY):
            return "no_summary"
        data = self._bytes(SUMMARY)
        text = None if data is None else _decoded(data)
        # One that says something and is no summary is an undone merge over nothing published.
        return "blank" if text is not None and not text.strip() else "unreadable"

    def notes(self) -> tuple[PendingNote, ...]:
        """Every note of the user, the oldest first; of very many the newest.

        Within one second what corrects or forgets is the later one: it is about the others.
        """
        notes = []
        for path in self._note_paths():
            text = self._text(path)
            if text is not None and text.strip():
                notes.append(PendingNote(path=path, text=text))
        return tuple(sorted(notes, key=_made))

    def pending_notes(self) -> tuple[PendingNote, ...]:
        """Notes that are not part of the published state, in the same order."""
        paths = self._note_paths()
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
        return tuple(sorted(notes, key=_made))

    def standing(self) -> Standing:
        """What the notes say of the other lines of memory."""
        notes = self.notes()
        if not notes:
            return Standing(()).within(self.left())
        pending = {note.path for note in self.pending_notes()}
        worked_in = {note.path for note in notes} - pending
        standing = Standing(((note.path, note.text) for note in notes), worked_in=worked_in)
        return standing.within(self.left())

    def left(self) -> Left | None:
        """What of it stands without withdrawn threads; None where all of it does."""
        return self._gate.left(self.version)

    def published_stamp(self) -> str:
        """Another one means that another state may have been published."""
        return Baseline(self.folder).stamp()

    def forgetting(self) -> Standing:
        """What the notes ask to forget, without what they correct."""
        notes = self.notes()
        return Standing(
            ((note.path, note.text) for note in notes), worked_in={note.path for note in notes}
        )

    def confirmations(self) -> Confirmations:
        """When what was last said, as recaps and notes tell."""
        found = Confirmations()
        try:
            recaps = self._files_below(RECAPS, files_max=RECAPS_MAX)
        except (PathRefused, OSError):
            recaps = ()
        for path in recaps:
            text = self._text(path, bytes_max=RECAP_BYTES_MAX)
            if text is not None:
                found.add_recap(path.rpartition("/")[2], text)
        for note in self.notes():
            found.add_note(note.path.rpartition("/")[2], note.text)
        return found

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

    def lines(self, path: str, first: int, last: int) -> str | None:
        """Lines as they stand in their file, counted from 1, with secrets masked; None without.

        Also those that were corrected since: a correction may be corrected in turn.
        """
        every = (self._text(path) or "").split("\n")
        wanted = every[first - 1 : last] if 1 <= first <= last <= len(every) else [WITHDRAWN]
        return None if WITHDRAWN in wanted else "\n".join(wanted)

    def places_of(self, path: str, count: int, wanted: Callable[[str], bool]) -> tuple[int, ...]:
        """Where so many lines of a file begin that are wanted together."""
        every = (self._text(path) or "").split("\n")
        return tuple(
            start + 1
            for start in range(len(every) - count + 1)
            if wanted("\n".join(every[start : start + count]))
        )

    def published_paths(self) -> tuple[str, ...]:
        """Every file that is memory: summary and handbook, skills, recaps from the newest on.

        Notes are not among them, nor what code keeps there for the next consolidation.
        """
        try:
            every = tuple(self._root.walk())
        except (PathRefused, OSError):
            return ()
        skills = [path for path in every if path.startswith(f"{SKILLS}/")]
        recaps = [path for path in every if path.startswith(f"{RECAPS}/")]
        top = [path for path in (SUMMARY, HANDBOOK) if path in every]
        return (*top, *skills, *reversed(recaps))

    def whole(self, path: str, standing: Standing) -> str | None:
        """A file with all its lines that stand; None when nothing of it does, or it is no text."""
        text = self.summary() if path == SUMMARY else self._text(path)
        return None if text is None else standing.shown(text, path=path)

    def note(self, path: str) -> str | None:
        """The text of a note; None where there is none."""
        return self._text(path) if path.startswith(f"{NOTES}/") else None

    def list(self, **arguments: Any) -> Mapping[str, object]:
        """A folder's children.

        Raises: PathRefused, OSError.
        """
        return self._clean(self._root.list(**arguments))

    def read(self, path: str, **arguments: Any) -> Mapping[str, object]:
        """Lines of a file.

        Raises: PathRefused, OSError, UnicodeDecodeError.
        """
        if self._is_hidden(path):
            raise PathRefused(f"path '{path}' was not found")
        return self._clean(self._root.read(path, **arguments))

    def search(self, **arguments: Any) -> Mapping[str, object]:
        """Lines that hold the queries.

        Raises: PathRefused, OSError.
        """
        return self._clean(self._root.search(**arguments))

    def passages(
        self, wanted: Mapping[str, tuple[Sequence[Passage], str]]
    ) -> Mapping[str, Sequence[str | None] | None]:
        """By path pieces of files whose stamp is known: those that stand as they did.

        A piece that changed is None, a file that did likewise.
        """
        found: dict[str, Sequence[bytes | None] | None] = {}
        for path, (passages, stamp) in wanted.items():
            try:
                found[path] = read_passages(self._root, path, passages, stamp=stamp)
            except (PathRefused, OSError):
                found[path] = None
        pieces = {piece for every in found.values() for piece in every or () if piece is not None}
        shown = _all_redacted(pieces)
        return {
            path: None if every is None else [None if one is None else shown[one] for one in every]
            for path, every in found.items()
        }

    def add_note(self, filename: str, note: str) -> None:
        """Keep a note for the next consolidation.

        Raises: PathRefused, OSError, WorkspaceUnsafe.
        """
        self._root.write_new(f"{NOTES}/{filename}", note.encode())

    def _clean(self, result: Mapping[str, object]) -> Mapping[str, object]:
        cleaned: Mapping[str, object] = redact_json(result)
        standing = self.standing()
        return cleaned if standing.says_nothing else _standing_only(cleaned, standing)

    def _note_paths(self) -> tuple[str, ...]:
        try:
            return tuple(path for path in self._files_below(NOTES) if path.endswith(".md"))
        except (PathRefused, OSError):
            return ()

    def _files_below(self, folder: str, *, files_max: int = FILES_MAX) -> tuple[str, ...]:
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
        return paths[-files_max:]

    def _text(self, path: str, *, bytes_max: int = FILE_BYTES_MAX) -> str | None:
        data = self._bytes(path, bytes_max=bytes_max)
        text = None if data is None else _decoded(data)
        return None if text is None else self._cleaned(redact(text), path=path)

    def _is_hidden(self, path: str) -> bool:
        left = self.left()
        return left is not None and left.hides(path)

    def _cleaned(self, text: str, *, path: str) -> str:
        """A text without what was withdrawn."""
        left = self.left()
        return text if left is None else Standing(()).within(left).cleaned(text, path=path)

    def _bytes(self, path: str, *, bytes_max: int = FILE_BYTES_MAX) -> bytes | None:
        try:
            return self._root.read_bytes(path, bytes_max=bytes_max)
        except (PathRefused, OSError):
            return None


def _all_redacted(pieces: Iterable[bytes]) -> Mapping[bytes, str]:
    """Each piece without its secrets; looked through together, since few hold any."""
    texts = {piece: piece.decode(errors="replace") for piece in pieces}
    together = BETWEEN.join(texts.values())
    if redact(together) == together:
        return texts
    return {piece: redact(text) for piece, text in texts.items()}


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _made(note: PendingNote) -> tuple[str, bool, str]:
    name = note.path.rpartition("/")[2]
    return name[:STAMP_CHARS], changes_others(note.text), name


def _standing_only(result: Mapping[str, object], standing: Standing) -> Mapping[str, object]:
    """A result with the lines that no longer stand replaced, and no hit in a forgotten one."""
    changed = dict(result)
    content, matches, entries = (result.get(name) for name in ("content", "matches", "entries"))
    if isinstance(entries, list):
        changed["entries"] = [one for one in entries if not standing.hides(one["path"])]
    if isinstance(content, str):
        changed["content"] = standing.cleaned(content, path=str(result.get("path", "")))
    if isinstance(matches, list):
        changed["matches"] = [
            found
            for one in matches
            if (found := _standing_match(one, standing, _is_window(result))) is not None
        ]
    return changed


def _is_window(result: Mapping[str, object]) -> bool:
    mode = result.get("match_mode")
    return isinstance(mode, Mapping) and mode.get("type") == ALL_WITHIN_LINES


def _standing_match(
    match: Mapping[str, Any], standing: Standing, is_window: bool
) -> Mapping[str, Any] | None:
    """A match with what stands of it; None when what it was found by does not."""
    if standing.hides(match["path"]):
        return None
    lines = standing.cleaned(match["content"], path=match["path"]).split("\n")
    hit = match["match_line_number"] - match["content_start_line_number"]
    # Where a window ends is not told: any of its lines may be what a query was found in.
    looked_at = lines if is_window else lines[hit : hit + 1]
    if not _GONE.isdisjoint(looked_at):
        return None
    return {**match, "content": "\n".join(lines)}
