"""A person's own note: kept in every memory version that is written, at once and for good.

Invariant: when this returns a receipt, the note stands on the disk in the version that is read; the
receipt names every version that has it and says why one has not.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from state.errors import PathRefused, StateError, WorkspaceUnsafe
from state.notes import Kept, NameTaken, StaleBase, keep_note, note_name
from state.recovery import State
from state.workspace.trees import folder_fault

STAMP_CHARS = 19
NAMES_TRIED_MAX = 1_000
"""Notes of one second that begin with the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The note is on the disk."""

    note: Kept
    versions: tuple[str, ...]
    """Those that have it, the one that was asked for first."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """By version that should have it, why it has not."""


class NoteKeeper:
    """Keeps notes in the versions that are written."""

    def __init__(self, state: State, versions: Sequence[str]) -> None:
        self._state = state
        self._versions = tuple(versions)

    async def remember(
        self, text: str, *, version: str, named_by: str | None = None, after: str | None = None
    ) -> Remembered:
        """Keep a note under a name of ours, of its first words or those of `named_by`.

        With `after`, the name of a note, it counts as later than that one, also within a second.

        Raises: PathRefused for a text that cannot be kept; WorkspaceUnsafe, OSError, DatabaseBusy,
        DatabaseFull, DatabaseUnusable, JournalUnusable; then nothing was written.
        """
        at_ms = self._state.clock.now_ms()
        if after is not None and (before_ms := _time_of(after)) is not None:
            at_ms = max(at_ms, before_ms + 1_000)
        kept = await self._kept(text, version, named_by or text, at_ms)
        have, missing = [version], dict[str, str]()
        for other in self._versions:
            if other == version:
                continue
            try:
                await self._kept(text, other, named_by or text, at_ms)
            except (StateError, OSError) as error:
                # The note is in force where it is read; the receipt says where it is not.
                missing[other] = str(error)
            else:
                have.append(other)
        return Remembered(note=kept, versions=tuple(have), missing=missing)

    async def _kept(self, text: str, version: str, named_by: str, at_ms: int) -> Kept:
        folder = self._state.home.memories(version)
        if (fault := await asyncio.to_thread(folder_fault, folder)) is not None:
            raise WorkspaceUnsafe(folder, fault)
        name = note_name(named_by, now_ms=at_ms)
        stem = name.removesuffix(".md")
        for number in range(1, NAMES_TRIED_MAX + 1):
            tried = name if number == 1 else f"{stem[: 96 - len(str(number))]}-{number}.md"
            match await keep_note(self._state, version, tried, text):
                case Kept() as kept:
                    return kept
                case NameTaken() | StaleBase():
                    continue
        raise PathRefused(f"{NAMES_TRIED_MAX} notes of this second have these words; wait one")


def _time_of(name: str) -> int | None:
    """The time that the name of a note begins with; None where that is no time."""
    try:
        at = datetime.strptime(name[:STAMP_CHARS], "%Y-%m-%dT%H-%M-%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(at.timestamp() * 1_000)
