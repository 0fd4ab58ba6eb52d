"""What stands of a memory by its notes, read once for each state of them, and by withdrawals.

Invariant: a ruling is of the notes and of the published state as they are at the call; both are
known again by what they look like from outside. Blocks on files.
"""

from dataclasses import dataclass, replace

from memory_read.snapshot import MemorySnapshot
from memory_read.standing import Standing

Looks = tuple[tuple[str, str], ...]
"""Paths and stamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulings:
    """What stands, and which notes no consolidation has taken in yet."""

    standing: Standing
    pending: frozenset[str]


NO_RULINGS = Rulings(standing=Standing(()), pending=frozenset())


class KnownRulings:
    """The rulings that were read last."""

    def __init__(self, notes: Looks) -> None:
        """The notes are those of one look at the folder; another look has another object."""
        self._notes = notes
        self._of = ""
        self._rulings: Rulings | None = None

    def now(self, memory: MemorySnapshot) -> Rulings:
        """Those of the notes, read anew where another state was published."""
        rulings = self._of_notes(memory)
        left = memory.left()
        return rulings if left is None else replace(rulings, standing=rulings.standing.within(left))

    def _of_notes(self, memory: MemorySnapshot) -> Rulings:
        if not self._notes:
            return NO_RULINGS
        published = memory.published_stamp()
        rulings = self._rulings
        if rulings is None or self._of != published:
            rulings = _read(memory)
            self._of, self._rulings = published, rulings
        return rulings


def _read(memory: MemorySnapshot) -> Rulings:
    notes = memory.notes()
    pending = frozenset(note.path for note in memory.pending_notes())
    worked_in = {note.path for note in notes} - pending
    standing = Standing(((note.path, note.text) for note in notes), worked_in=worked_in)
    return Rulings(standing=standing, pending=pending)
