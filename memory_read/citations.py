"""Finds, strips and reads the citation markup of a reply, and counts its use once.

Invariant: no part of the markup is ever visible, and none of an echoed memory section, however a
stream is cut into pieces; text that only looks like a beginning is held back and shown as soon as
it turns out not to be one.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memory_read.framed import (
    BEGINS,
    CORRECTIONS_BEGIN,
    CORRECTIONS_END,
    ENDS,
    NOTES_BEGIN,
    NOTES_END,
)
from state.ids import ThreadId
from state.recovery import State

OPEN = "<oai-mem-citation>"
CLOSE = "</oai-mem-citation>"
_CLOSE_OF = {
    OPEN: CLOSE,
    BEGINS: ENDS,
    NOTES_BEGIN: NOTES_END,
    CORRECTIONS_BEGIN: CORRECTIONS_END,
}
_MAY_OPEN = re.compile("[<=]")
"""How every opening tag begins."""
BODY_CHARS_MAX = 65_536
IDS_COUNTED_MAX = 256
_U32_MAX = 2**32 - 1
_NUMBER = re.compile(r"\+?[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationEntry:
    """Lines of a memory file that a reply leans on."""

    path: str
    line_start: int
    line_end: int
    note: str

    def wire(self) -> dict[str, str | int]:
        """The entry as clients and rollouts have it."""
        return {
            "path": self.path,
            "lineStart": self.line_start,
            "lineEnd": self.line_end,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """What the markup of one message said."""

    entries: tuple[CitationEntry, ...] = ()
    rollout_ids: tuple[str, ...] = ()
    """As written, each once."""

    def wire(self) -> dict[str, object]:
        """The value of an item's `memoryCitation`."""
        return {
            "entries": [entry.wire() for entry in self.entries],
            "threadIds": list(self.rollout_ids),
        }

    def recorded(self) -> dict[str, object]:
        """The value of `memory_citation` in a rollout, where the ids have another key."""
        return {
            "entries": [entry.wire() for entry in self.entries],
            "rolloutIds": list(self.rollout_ids),
        }

    def thread_ids(self) -> tuple[ThreadId, ...]:
        """The ids that are UUIDs, each once whatever its spelling."""
        found: dict[ThreadId, None] = {}
        for text in self.rollout_ids:
            try:
                found[ThreadId(str(uuid.UUID(text)))] = None
            except ValueError:
                continue
        return tuple(found)


class CitationStripper:
    """Takes one message in pieces and gives back what may be seen of it."""

    def __init__(self) -> None:
        self._pending = ""
        self._inside: str | None = None
        """The opening tag of the block that is not yet closed."""
        self._body = ""
        self._bodies: list[str] = []

    def feed(self, delta: str) -> str:
        """The text that became visible with this piece; it may be empty."""
        self._pending += delta
        if self._inside is None and not _MAY_OPEN.search(self._pending):
            visible_now, self._pending = self._pending, ""
            return visible_now
        visible: list[str] = []
        while True:
            tags = _OPENINGS if self._inside is None else (_CLOSE_OF[self._inside],)
            at, tag = _first(self._pending, tags)
            if tag is None:
                held = max(_held_back(self._pending, one) for one in tags)
                self._take(self._pending[: len(self._pending) - held], visible)
                self._pending = self._pending[len(self._pending) - held :]
                return "".join(visible)
            self._take(self._pending[:at], visible)
            self._pending = self._pending[at + len(tag) :]
            if self._inside is None:
                self._inside = tag
            else:
                self._close()

    def finish(self) -> tuple[str, Citation | None]:
        """The rest that is visible, and the citation; a block without an end ends here."""
        visible: list[str] = []
        self._take(self._pending, visible)
        self._pending = ""
        if self._inside is not None:
            self._close()
        return "".join(visible), _read_bodies(self._bodies)

    def _take(self, text: str, visible: list[str]) -> None:
        if self._inside is None:
            visible.append(text)
        elif self._inside == OPEN and len(self._body) < BODY_CHARS_MAX:
            self._body += text[: BODY_CHARS_MAX - len(self._body)]

    def _close(self) -> None:
        if self._inside == OPEN and sum(map(len, self._bodies)) < BODY_CHARS_MAX:
            self._bodies.append(self._body)
        self._body, self._inside = "", None


def strip_citations(text: str) -> tuple[str, Citation | None]:
    """A whole message without its markup, and what the markup said."""
    stripper = CitationStripper()
    visible = stripper.feed(text)
    tail, citation = stripper.finish()
    return visible + tail, citation


def _any_thread(thread_id: ThreadId) -> bool:
    return True


async def count_usage(
    state: State,
    version: str,
    citation: Citation,
    *,
    seen: Callable[[ThreadId], bool] = _any_thread,
) -> int:
    """Count one use of each thread that a message cites; how many were known.

    `seen` says whether the writer of the message was told of that thread by memory; a model that
    makes ids up, or has them from elsewhere, changes no ranking. Call it once for a message, and
    not for threads that leave no trace.

    Raises: DatabaseBusy, DatabaseUnusable.
    """
    thread_ids = [one for one in citation.thread_ids() if seen(one)][:IDS_COUNTED_MAX]
    if not thread_ids:
        return 0
    async with state.database.writing() as tx:
        return await state.outputs.count_usage(
            tx, version=version, thread_ids=thread_ids, now_ms=state.clock.now_ms()
        )


_OPENINGS = tuple(_CLOSE_OF)


def _first(text: str, tags: tuple[str, ...]) -> tuple[int, str | None]:
    """Where the first of these tags stands, and which it is."""
    found = [(at, tag) for tag in tags if (at := text.find(tag)) >= 0]
    return min(found) if found else (0, None)


def _held_back(text: str, tag: str) -> int:
    """How many characters at the end may be the beginning of the tag."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0


def _read_bodies(bodies: list[str]) -> Citation | None:
    entries: list[CitationEntry] = []
    ids: dict[str, None] = {}
    for body in bodies:
        entries.extend(_entries(_between(body, "citation_entries") or ""))
        listed = _between(body, "rollout_ids")
        if listed is None:
            listed = _between(body, "thread_ids")
        ids.update(dict.fromkeys(filter(None, map(str.strip, (listed or "").split("\n")))))
    if not entries and not ids:
        return None
    return Citation(entries=tuple(entries), rollout_ids=tuple(ids))


def _between(body: str, tag: str) -> str | None:
    _, opened, rest = body.partition(f"<{tag}>")
    inner, closed, _ = rest.partition(f"</{tag}>")
    return inner if opened and closed else None


def _entries(text: str) -> Iterator[CitationEntry]:
    for line in text.split("\n"):
        entry = _entry(line.strip())
        if entry is not None:
            yield entry


def _entry(line: str) -> CitationEntry | None:
    """`FILE:START-END|note=[NOTE]`; anything else is no entry."""
    place, bar, note = line.rpartition("|note=[")
    if not bar or not note.endswith("]"):
        return None
    path, colon, lines = place.rpartition(":")
    first, dash, last = lines.partition("-")
    start, end = _number(first), _number(last)
    if not colon or not dash or start is None or end is None:
        return None
    return CitationEntry(
        path=path.strip(), line_start=start, line_end=end, note=note.removesuffix("]").strip()
    )


def _number(text: str) -> int | None:
    text = text.strip()
    if not _NUMBER.fullmatch(text) or len(text) > 32:
        return None
    number = int(text)
    return number if number <= _U32_MAX else None
