"""Notes of a person: written, replaced, done with, and back when their folder was lost.

Invariant: a note that was acknowledged stands on the disk in its folder and in the journal, or it
is done: worked in, taken out by a person, dropped or reset. One writer at a time, whatever its
process; a replacement names the text it was made from and never writes over another one.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from state.database import Transaction
from state.errors import DatabaseBusy, PathRefused
from state.home import Home, sync_folder
from state.journal import NOTE, NOTE_DONE, Entry
from state.policy.note_form import NOTE_BYTES_MAX, SLUG_BYTES_MAX, check_file_name, masked_note
from state.policy.redaction import contains_secret, redact
from state.recovery import State
from state.workspace.layout import GIT, NOTES
from state.workspace.repo import Baseline
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import FileContent

LOCK_PATIENCE_S = 5.0
LOCK_LOOK_S = 0.01
NOTES_MAX = 10_000
"""Notes of one folder that are looked at; more of them stay files and are in no journal."""
_SLUG_WORDS_MAX = 6
_WORD = re.compile(r"[a-z0-9]+")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The note is in force and outlives a crash: file, folders and journal are on the disk."""

    version: str
    name: str
    path: str
    """Relative to the memory folder."""
    note_id: str
    """Git's blob id of the text; the `base` of whoever replaces it."""
    text: str
    masked: bool
    """Whether a secret was masked in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleBase:
    """Nothing was written: the note says something else than the writer saw."""

    name: str
    current_id: str | None
    """None when there is no such note any more."""
    current_text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameTaken:
    """Nothing was written: there is a note of that name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a look at the notes of a version came to, by file name."""

    restored: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    """Those that somebody put there without the journal."""


async def keep_note(
    state: State, version: str, name: str, text: str, *, base: str | None = None
) -> Kept | StaleBase | NameTaken:
    """Write a new note; with `base`, the id of the text that the writer saw, replace that one.

    Raises: PathRefused for a bad name or text, WorkspaceUnsafe, OSError, DatabaseBusy,
    DatabaseFull, DatabaseUnusable, JournalUnusable; then nothing was written.
    """
    check_file_name(name, now_ms=state.clock.now_ms())
    kept = masked_note(text)
    return await _to_the_end(_keep(state, version, name, kept, base, masked=kept != text))


async def drop_note(state: State, version: str, name: str) -> bool:
    """Take a note away for good; whether there was one.

    Raises: as `keep_note`.
    """
    check_file_name(name, now_ms=state.clock.now_ms())
    return await _to_the_end(_drop(state, version, name))


async def settle_notes(state: State, version: str, *, lost: bool = False) -> Settled:
    """Bring back what a lost folder held, note what is done, take in what came by itself.

    `lost` says that published memory is gone from the folder, by what the caller knows of it.
    Raises: WorkspaceUnsafe, OSError, DatabaseBusy, DatabaseUnusable, JournalUnusable.
    """
    return await _to_the_end(_settle_alone(state, version, lost=lost))


def tell_worked_in(
    tx: Transaction, *, version: str, standing: Mapping[str, str], files: Mapping[str, FileContent]
) -> tuple[str, ...]:
    """Say in this transaction which notes an edition holds as they were told.

    `standing` are ids by name, of `standing_notes`.
    """
    done = tuple(
        name
        for name, note_id in standing.items()
        if (file := files.get(f"{NOTES}/{name}")) is not None and file.blob_id == note_id
    )
    for name in done:
        tx.tell(NOTE_DONE, version=version, name=name)
    return done


async def standing_notes(state: State, version: str) -> Mapping[str, str]:
    """The notes that are not done, with the ids of their texts; blocks on no lock."""
    entries = await asyncio.to_thread(_journaled, state, version)
    return {name: _id_of(entry["text"]) for name, entry in entries.items()}


def note_name(text: str, *, now_ms: int) -> str:
    """A file name for a note: the time, and its first words where they are of plain letters."""
    stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%S")
    words = _WORD.findall(redact(text).casefold())[:_SLUG_WORDS_MAX]
    slug = "-".join(words)[:SLUG_BYTES_MAX].strip("-") or "note"
    name = f"{stamp}-{slug}.md"
    return f"{stamp}-note.md" if contains_secret(name) else name


@contextmanager
def _held(home: Home) -> Iterator[None]:
    """Hold the notes of a home against every other process; blocking."""
    path = home.run / "notes.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _locked(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: Path) -> None:
    until_s = time.monotonic() + LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise DatabaseBusy(path) from None
            time.sleep(LOCK_LOOK_S)
        else:
            return


@asynccontextmanager
async def alone_with_notes(state: State) -> AsyncIterator[None]:
    """Nobody writes a note meanwhile: for one who exchanges the folder, or marks notes as done.

    The lock of the process comes first, so that no more than one thread waits for the other one.
    Raises: DatabaseBusy when another process holds them too long, OSError.
    """
    async with state.noting:
        held = _held(state.home)
        await asyncio.to_thread(held.__enter__)
        try:
            yield
        finally:
            held.__exit__(None, None, None)


async def _keep(
    state: State, version: str, name: str, text: str, base: str | None, *, masked: bool
) -> Kept | StaleBase | NameTaken:
    path, data = f"{NOTES}/{name}", text.encode()
    live = state.home.memories(version)
    async with alone_with_notes(state):
        if await asyncio.to_thread(_is_wiped, live):
            # First what stood there, or its absence would be taken for a person's wish.
            await _settle(state, version, lost=True)
        before = await asyncio.to_thread(_bytes, live, path)
        current_id = None if before is None else _blob_id(before)
        if base is None and before is not None:
            return NameTaken(name=name)
        if base is not None and current_id != base:
            current = None if before is None else redact(before.decode(errors="replace"))
            return StaleBase(name=name, current_id=current_id, current_text=current)
        try:
            await asyncio.to_thread(_write, live, path, data, new=base is None)
        except PathRefused as refusal:
            if str(refusal).endswith("already exists"):
                return NameTaken(name=name)
            raise
        try:
            async with state.database.writing() as tx:
                tx.tell(NOTE, version=version, name=name, text=text)
        except BaseException:
            await asyncio.to_thread(_take_back, live, path, before)
            raise
    return Kept(
        version=version,
        name=name,
        path=path,
        note_id=_blob_id(data),
        text=text,
        masked=masked,
    )


async def _drop(state: State, version: str, name: str) -> bool:
    live, path = state.home.memories(version), f"{NOTES}/{name}"
    async with alone_with_notes(state):
        before = await asyncio.to_thread(_bytes, live, path)
        known = (version, name) in _noted(state)
        if before is None and not known:
            return False
        # The line first: a crash in between leaves a file that a second call takes away.
        async with state.database.writing() as tx:
            tx.tell(NOTE_DONE, version=version, name=name)
        if before is not None:
            await asyncio.to_thread(_delete, live, path)
    return True


async def _settle_alone(state: State, version: str, *, lost: bool) -> Settled:
    async with alone_with_notes(state):
        return await _settle(state, version, lost=lost)


async def _settle(state: State, version: str, *, lost: bool) -> Settled:
    live = state.home.memories(version)
    standing, look = await asyncio.to_thread(_compared, state, version, lost=lost)
    for name in look.restore:
        text = standing[name]["text"]
        await asyncio.to_thread(_write, live, f"{NOTES}/{name}", text.encode(), new=True)
    if look.done or look.changed:
        async with state.database.writing() as tx:
            for name in look.done:
                tx.tell(NOTE_DONE, version=version, name=name)
            for name, text in look.changed.items():
                tx.tell(NOTE, version=version, name=name, text=text)
    return Settled(
        restored=look.restore,
        done=look.done,
        adopted=tuple(name for name in look.changed if name not in standing),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    restore: tuple[str, ...]
    done: tuple[str, ...]
    changed: Mapping[str, str]
    """By name, notes in the folder whose text the journal does not have."""


def _compared(state: State, version: str, *, lost: bool) -> tuple[Mapping[str, Entry], _Look]:
    standing = _journaled(state, version)
    return standing, _looked(state.home.memories(version), standing, lost=lost)


def _looked(live: Path, standing: Mapping[str, Entry], *, lost: bool) -> _Look:
    wiped = _is_wiped(live) or (lost and not (live / NOTES).exists())
    there = _texts(live)
    published = Baseline(live).blob_ids(NOTES) if standing or there else {}
    restore: list[str] = []
    done: list[str] = []
    changed: dict[str, str] = {}
    for name in standing:
        if name in there:
            if published.get(f"{NOTES}/{name}") == _blob_id(there[name]):
                done.append(name)
        elif os.path.lexists(live / NOTES / name):
            continue  # somebody put there what is no note, or one that is too large
        elif wiped:
            restore.append(name)
        else:
            done.append(name)
    for name, data in there.items():
        if published.get(f"{NOTES}/{name}") == _blob_id(data):
            continue
        text = redact(data.decode(errors="replace"))
        if name not in standing or standing[name]["text"] != text:
            changed[name] = text
    return _Look(restore=tuple(restore), done=tuple(done), changed=changed)


def _is_wiped(live: Path) -> bool:
    """Whether there is no folder, or nothing in it but perhaps the private baseline."""
    try:
        with os.scandir(live) as entries:
            return all(entry.name == GIT for entry in entries)
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


def _texts(live: Path) -> dict[str, bytes]:
    """The notes of the folder that can be journaled, by name; of very many the last."""
    root = ConfinedRoot(live)
    found: dict[str, bytes] = {}
    try:
        with os.scandir(live / NOTES) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".md"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    for name in names[-NOTES_MAX:]:
        with contextlib.suppress(PathRefused, OSError):
            data = root.read_bytes(f"{NOTES}/{name}", bytes_max=NOTE_BYTES_MAX)
            if data.strip() and not contains_secret(name):
                found[name] = data
    return found


def _journaled(state: State, version: str) -> Mapping[str, Entry]:
    journal = state.database.journal
    return {} if journal is None else journal.notes(version)


def _noted(state: State) -> frozenset[tuple[str, str]]:
    journal = state.database.journal
    return frozenset() if journal is None else journal.noted


def _bytes(live: Path, path: str) -> bytes | None:
    if not os.path.lexists(live / path):
        return None
    return ConfinedRoot(live).read_bytes(path)


def _write(live: Path, path: str, data: bytes, *, new: bool) -> None:
    """Write it and bring file and folders to the disk."""
    root = ConfinedRoot(live)
    if new:
        root.write_new(path, data)
    else:
        root.write(path, data)
    place = (live / path).parent
    while place != live.parent.parent:
        sync_folder(place)
        place = place.parent


def _delete(live: Path, path: str) -> None:
    with contextlib.suppress(PathRefused):
        ConfinedRoot(live).delete(path)
        sync_folder((live / path).parent)


def _take_back(live: Path, path: str, before: bytes | None) -> None:
    """What was not acknowledged does not stand."""
    with contextlib.suppress(PathRefused, OSError):
        if before is None:
            ConfinedRoot(live).delete(path)
        else:
            ConfinedRoot(live).write(path, before)


def _blob_id(data: bytes) -> str:
    return FileContent(data=data).blob_id


def _id_of(text: str) -> str:
    return _blob_id(text.encode())


async def _to_the_end(work: Coroutine[object, object, T]) -> T:
    """Run it even if this task is cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and task.exception() is None:
        raise asyncio.CancelledError
    return task.result()
