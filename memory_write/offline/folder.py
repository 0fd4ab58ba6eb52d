"""The memory a folder's inputs amount to: threads and notes, and the entries that still stand.

Made anew from the inputs every time, so that what a removed input alone supported is gone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memory_write.offline.gathered import (
    Note,
    Retraction,
    ThreadInput,
    noted,
    retractions,
)
from memory_write.offline.hand_edits import HandEdits
from memory_write.offline.merging import Entry, merged
from memory_write.offline.restored import RESTORED_SOURCE
from memory_write.offline.terms import terms

RETRACTED_SHARE_MIN = 0.6
NOTES_GROUP = ""
"""The working folder of entries that come from notes, which hold anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What was said while working in one folder."""

    cwd: str
    threads: tuple[ThreadInput, ...]
    entries: tuple[Entry, ...]

    @property
    def latest(self) -> str:
        """When something was last said here."""
        return max((thread.updated_at for thread in self.threads), default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Everything that the handbook and the summary are rendered from."""

    groups: tuple[Group, ...]
    """By folder of work, the one used last first."""
    entries: tuple[Entry, ...]
    notes: tuple[Note, ...]
    hand: HandEdits
    restored: tuple[Entry, ...] = ()
    """What restored memory alone says; none of `entries`."""


def gather(
    threads: Sequence[ThreadInput],
    notes: Sequence[Note],
    hand: HandEdits,
    restored: Sequence[Entry] = (),
) -> Folder:
    """The memory that these inputs support; sessions and notes win over what was restored."""
    asked_away = retractions(notes)
    said = [entry for thread in threads for entry in thread.entries]
    every = [
        entry
        for entry in merged([*restored, *said, *noted(notes)])
        if hand.allows(entry.text) and not _retracted(entry, asked_away)
    ]
    foreign = tuple(one for one in every if one.sources == (RESTORED_SOURCE,) and not one.is_note)
    standing = tuple(_here(entry) for entry in every if entry not in foreign)
    cwds = dict.fromkeys(thread.cwd for thread in threads)
    groups = [_group(cwd, threads, standing) for cwd in cwds]
    groups.sort(key=lambda group: group.cwd)
    groups.sort(key=lambda group: group.latest, reverse=True)
    return Folder(
        groups=tuple(groups),
        entries=standing,
        notes=tuple(notes),
        hand=hand,
        restored=foreign,
    )


def _here(entry: Entry) -> Entry:
    """The same with the sources that can be cited here."""
    return replace(entry, sources=tuple(one for one in entry.sources if one != RESTORED_SOURCE))


def _group(cwd: str, threads: Iterable[ThreadInput], entries: Iterable[Entry]) -> Group:
    here = tuple(sorted((one for one in threads if one.cwd == cwd), key=lambda one: one.thread_id))
    ids = {thread.thread_id for thread in here}
    return Group(
        cwd=cwd,
        threads=here,
        entries=tuple(entry for entry in entries if ids.intersection(entry.sources)),
    )


def _retracted(entry: Entry, asked_away: Iterable[Retraction]) -> bool:
    for asked in asked_away:
        wanted = terms(asked.text)
        # What a correction says instead was said with it, and is about the same.
        is_older = entry.said_at < asked.said_at or (
            entry.said_at == asked.said_at and not (asked.whole and entry.is_note)
        )
        if wanted and is_older:
            covered = len(wanted & terms(entry.text)) / len(wanted)
            if covered >= (1.0 if asked.whole else RETRACTED_SHARE_MIN):
                return True
    return False
