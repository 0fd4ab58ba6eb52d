"""The journal beside the database: what stands in no transcript and must outlive the database.

Memory modes, use, names, where threads were imported from, deletions, resets and notes that are not
worked in yet, one line each, in a file of mode 0600. Invariant: a line is on the disk before its
transaction is committed, so the database is never ahead of it; what a crash left between the two is
carried out by the next start. No line but that of such a note holds memory text; it goes from the
file when the note is done, as a name goes when it is taken back and the lines of a deleted thread
with its deletion.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from state.clock import Clock
from state.errors import JournalUnusable
from state.home import open_private, write_private

LINE_BYTES_MAX = 262_144
"""The longest note of 32 KiB, each of its characters escaped."""
LINES_KEPT_MIN = 1_000
"""Up to this many lines a journal is never rewritten for its length alone."""
GROWTH_MAX = 4
"""A journal this many times as long as what it says is rewritten, at a start or an append."""

# What an append changes of the file's own record, but for its length, need not be waited for.
_SYNC = getattr(os, "fdatasync", os.fsync)

Entry = Mapping[str, Any]
NoteKey = tuple[str, str]
"""The version and file name of a note."""
NOTE, NOTE_DONE = "note", "note_done"


class Journal:
    """One file, appended to under the database's write lock; all methods block."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._sequence = 0
        self._before: tuple[int, int, frozenset[NoteKey]] | None = None
        self._seen: tuple[int, int] = (0, 0)
        """Inode and size after our last look; another process may have written since."""
        self._named: set[str] = set()
        """Threads of which lines may hold a name."""
        self._noted: frozenset[NoteKey] = frozenset()
        self._lines = 0
        """In the file, those among them that were taken back."""
        self._lines_max = LINES_KEPT_MIN
        """With more of them it is looked whether the file can be shortened."""

    @classmethod
    def open(cls, path: Path, clock: Clock) -> "Journal":
        """Read it once, and shorten it if most of its lines no longer say anything.

        Raises: JournalUnusable.
        """
        journal = cls(path, clock)
        journal._look()
        journal._shorten()
        return journal

    @property
    def sequence(self) -> int:
        """The number of the last line."""
        return self._sequence

    @property
    def noted(self) -> frozenset[NoteKey]:
        """The notes that are not done, without their texts."""
        return self._noted

    def notes(self, version: str) -> dict[str, Entry]:
        """The lines of the notes of a version that are not done, by file name.

        Raises: JournalUnusable.
        """
        if all(of_version != version for of_version, _ in self._noted):
            return {}
        return {
            entry["name"]: entry
            for entry in latest(self.entries())
            if entry["what"] == NOTE and entry["version"] == version
        }

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The lines in order; one that is torn or not ours is passed over.

        Raises: JournalUnusable.
        """
        try:
            with self.path.open("rb") as file:
                while data := file.readline(LINE_BYTES_MAX):
                    entry = _entry(data)
                    if entry is not None and entry["sequence"] > after:
                        yield entry
        except FileNotFoundError:
            return
        except OSError as error:
            raise JournalUnusable(self.path, error.strerror or str(error)) from error

    def append(self, told: Sequence[Mapping[str, Any]]) -> None:
        """Write these lines; they are on disk after.

        Raises: JournalUnusable; then none of them is there.
        """
        self._look_again()
        with contextlib.suppress(JournalUnusable):  # a long one serves as well; the append tells
            self._shorten()
        now_ms = self._clock.now_ms()
        noted = _noted_after(self._noted, told)
        numbered: list[Entry] = [
            {"sequence": self._sequence + offset, "at_ms": now_ms, **one}
            for offset, one in enumerate(told, start=1)
        ]
        try:
            if any(self._takes_words(one) for one in told):
                # A name or a note is a person's words: it goes with its end, now.
                self._before = None
                self._write(latest([*self.entries(), *numbered]))
            else:
                self._append(numbered)
        except OSError as error:
            raise JournalUnusable(self.path, error.strerror or str(error)) from error
        self._sequence += len(numbered)
        self._named |= {one["thread_id"] for one in told if one["what"] == "name"}
        self._noted = noted

    def take_back(self) -> None:
        """Undo the last append as far as that goes; what stays is done at the next start."""
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(OSError):
                os.truncate(self.path, before[0])
                _, self._sequence, self._noted = before
                self._seen = (self._seen[0], before[0])

    def rewrite(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Replace all lines by these, in one step; those without a number get one.

        Raises: JournalUnusable.
        """
        now_ms = self._clock.now_ms()
        numbered: list[Entry] = []
        for one in entries:
            sequence = one.get("sequence", self._sequence + 1)
            self._sequence = max(self._sequence, sequence)
            numbered.append({"at_ms": now_ms, **one, "sequence": sequence})
        try:
            self._write(numbered)
        except OSError as error:
            raise JournalUnusable(self.path, error.strerror or str(error)) from error

    def _shorten(self) -> None:
        """Leave out what says nothing any more, if that is most of a long file.

        Before an append and not with it, so that the append can still be taken back.

        Raises: JournalUnusable.
        """
        if self._lines <= self._lines_max:
            return
        # Should it fail, it is tried again, but not at each append.
        self._lines_max = self._lines + LINES_KEPT_MIN
        standing = latest(self.entries())
        if self._lines > GROWTH_MAX * len(standing):
            self.rewrite(standing)
        self._lines_max = max(LINES_KEPT_MIN, GROWTH_MAX * len(standing))

    def _takes_words(self, told: Mapping[str, Any]) -> bool:
        """Whether a person's words that stand in the file are not to stand there after this."""
        match told["what"]:
            case "deleted":
                return told["thread_id"] in self._named
            case "name":
                return told["name"] is None and told["thread_id"] in self._named
            case "note" | "note_done":
                return (told["version"], told["name"]) in self._noted
            case "reset":
                return any(version == told["version"] for version, _ in self._noted)
            case _:
                return False

    def _look(self) -> None:
        """Take in what the file says."""
        count, named, of_notes = 0, set(), []
        for entry in self.entries():
            count += 1
            # Never back: a file that somebody took away leaves the numbers that were given.
            self._sequence = max(self._sequence, entry["sequence"])
            if entry["what"] == "name":
                named.add(entry["thread_id"])
            elif entry["what"] in (NOTE, NOTE_DONE, "reset"):
                of_notes.append({key: entry.get(key) for key in ("what", "version", "name")})
        self._named, self._noted = named, _noted_after((), of_notes)
        self._seen = self._stamp()
        self._lines = count

    def _look_again(self) -> None:
        if self._stamp() != self._seen:
            self._look()

    def _stamp(self) -> tuple[int, int]:
        try:
            status = os.stat(self.path)
        except OSError:
            return (0, 0)
        return (status.st_ino, status.st_size)

    def _append(self, entries: Iterable[Entry]) -> None:
        with open_private(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            descriptor = file.fileno()
            size = os.fstat(descriptor).st_size
            # What a crash tore off must not swallow the line that follows.
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            data = b"\n" * torn + b"".join(map(_line, entries))
            self._before = (size, self._sequence, self._noted)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                _SYNC(descriptor)
                self._seen = (os.fstat(descriptor).st_ino, size + len(data))
                self._lines += data.count(b"\n")
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise

    def _write(self, entries: Sequence[Entry]) -> None:
        write_private(self.path, b"".join(map(_line, entries)))
        self._lines = len(entries)
        self._named = {one["thread_id"] for one in entries if one["what"] == "name"}
        self._noted = _noted_after((), entries)
        self._seen = self._stamp()


def latest(entries: Iterable[Entry]) -> list[Entry]:
    """What still stands: the last line of each kind for a thread or version, in order.

    A deletion takes all earlier lines of its thread; what is told of it later lifts the deletion.
    Of notes those stand that are not done; that one is done stands without its name.
    """
    standing: dict[tuple[str, str], Entry] = {}
    kinds: dict[str, set[str]] = {}
    for told in entries:
        entry = told
        what, subject = entry["what"], entry.get("thread_id") or entry.get("version") or ""
        if what in (NOTE, NOTE_DONE):
            note = (NOTE, f"{subject}/{entry['name']}")
            standing.pop(note, None)
            if what == NOTE:
                standing[note] = entry
                continue
            entry = {**entry, "name": ""}
        elif what == "reset":
            for place in [one for one in standing if one[0] == NOTE]:
                if standing[place]["version"] == subject:
                    standing.pop(place)
        gone = kinds.get(subject, set()) if what == "deleted" else {"deleted"}
        for kind in list(gone):
            standing.pop((kind, subject), None)
        standing.pop((what, subject), None)
        standing[what, subject] = entry
        kinds.setdefault(subject, set()).add(what)
    return sorted(standing.values(), key=lambda entry: entry["sequence"])


def _noted_after(noted: Iterable[NoteKey], told: Iterable[Mapping[str, Any]]) -> frozenset[NoteKey]:
    left = set(noted)
    for one in told:
        match one:
            case {"what": "note", "version": version, "name": name}:
                left.add((version, name))
            case {"what": "note_done", "version": version, "name": name}:
                left.discard((version, name))
            case {"what": "reset", "version": version}:
                left -= {key for key in left if key[0] == version}
            case _:
                continue
    return frozenset(left)


def _line(entry: Entry) -> bytes:
    return orjson.dumps(entry) + b"\n"


def _entry(data: bytes) -> Entry | None:
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    match value:
        case {"sequence": int(), "what": "note", "version": str(), "name": str(), "text": str()}:
            known = True
        case {"sequence": int(), "what": "note_done", "version": str(), "name": str()}:
            known = True
        case {"what": "note" | "note_done"}:
            known = False
        case {"sequence": int(), "what": str(), "thread_id": str()}:
            known = True
        case {"sequence": int(), "what": str(), "version": str()}:
            known = True
        case _:
            known = False
    entry: Entry | None = value if known else None
    return entry
