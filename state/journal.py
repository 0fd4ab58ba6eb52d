"""The journal beside the database: what stands in no transcript and must outlive the database.

Memory modes, use, names, where threads were imported from, deletions and resets, one line each,
in a file of mode 0600. Invariant: a line is on the disk before its transaction is committed, so the
database is never ahead of it; what a crash left between the two is carried out by the next start.
Lines hold no memory text; the lines of a deleted thread go with its deletion.
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

LINE_BYTES_MAX = 65_536
LINES_KEPT_MIN = 1_000
"""Below this many lines a journal is never rewritten for its length alone."""
GROWTH_MAX = 4
"""A journal this many times as long as what it says is rewritten at the next start."""

# What an append changes of the file's own record, but for its length, need not be waited for.
_SYNC = getattr(os, "fdatasync", os.fsync)

Entry = Mapping[str, Any]


class Journal:
    """One file, appended to under the database's write lock; all methods block."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._sequence = 0
        self._before: tuple[int, int] | None = None
        self._named: set[str] = set()
        """Threads of which lines may hold a name."""

    @classmethod
    def open(cls, path: Path, clock: Clock) -> "Journal":
        """Read it once, and shorten it if most of its lines no longer say anything.

        Raises: JournalUnusable.
        """
        journal = cls(path, clock)
        count = 0
        for entry in journal.entries():
            count += 1
            journal._sequence = max(journal._sequence, entry["sequence"])
            if entry["what"] == "name":
                journal._named.add(entry["thread_id"])
        if count > LINES_KEPT_MIN:
            standing = latest(journal.entries())
            if count > GROWTH_MAX * len(standing):
                journal.rewrite(standing)
        return journal

    @property
    def sequence(self) -> int:
        """The number of the last line."""
        return self._sequence

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
        now_ms = self._clock.now_ms()
        numbered: list[Entry] = [
            {"sequence": self._sequence + offset, "at_ms": now_ms, **one}
            for offset, one in enumerate(told, start=1)
        ]
        try:
            if any(one["what"] == "deleted" and one["thread_id"] in self._named for one in told):
                # A name is a person's words: it goes with its thread, now.
                self._before = None
                self._write(latest([*self.entries(), *numbered]))
            else:
                self._append(numbered)
        except OSError as error:
            raise JournalUnusable(self.path, error.strerror or str(error)) from error
        self._sequence += len(numbered)
        self._named |= {one["thread_id"] for one in told if one["what"] == "name"}

    def take_back(self) -> None:
        """Undo the last append as far as that goes; what stays is done at the next start."""
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(OSError):
                os.truncate(self.path, before[0])
                self._sequence = before[1]

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

    def _append(self, entries: Iterable[Entry]) -> None:
        with open_private(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            descriptor = file.fileno()
            size = os.fstat(descriptor).st_size
            # What a crash tore off must not swallow the line that follows.
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            data = b"\n" * torn + b"".join(map(_line, entries))
            self._before = (size, self._sequence)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                _SYNC(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise

    def _write(self, entries: Iterable[Entry]) -> None:
        write_private(self.path, b"".join(map(_line, entries)))
        self._named = {one["thread_id"] for one in entries if one["what"] == "name"}


def latest(entries: Iterable[Entry]) -> list[Entry]:
    """What still stands: the last line of each kind for a thread or version, in order.

    A deletion takes all earlier lines of its thread; what is told of it later lifts the deletion.
    """
    standing: dict[tuple[str, str], Entry] = {}
    kinds: dict[str, set[str]] = {}
    for entry in entries:
        what, subject = entry["what"], entry.get("thread_id") or entry.get("version") or ""
        gone = kinds.get(subject, set()) if what == "deleted" else {"deleted"}
        for kind in list(gone):
            standing.pop((kind, subject), None)
        standing.pop((what, subject), None)
        standing[what, subject] = entry
        kinds.setdefault(subject, set()).add(what)
    return sorted(standing.values(), key=lambda entry: entry["sequence"])


def _line(entry: Entry) -> bytes:
    return orjson.dumps(entry) + b"\n"


def _entry(data: bytes) -> Entry | None:
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    match value:
        case {"sequence": int(), "what": str(), "thread_id": str()}:
            known = True
        case {"sequence": int(), "what": str(), "version": str()}:
            known = True
        case _:
            known = False
    entry: Entry | None = value if known else None
    return entry
