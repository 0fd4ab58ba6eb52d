"""Rows of threads out of transcripts and journal, for a database that was lost or fell behind.

Invariant: what the journal says stands above what a transcript says, since it is later; a thread
that was deleted stays deleted. Running it twice, or over a database that is whole, changes nothing.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from state.clock import Clock
from state.database import Database, Reading, Transaction
from state.errors import RolloutUnreadable
from state.home import Home
from state.ids import ThreadId
from state.journal import Entry, Journal, latest
from state.named_queries import Queries
from state.rollouts.history import FindRollout
from state.rollouts.store import find_rollouts, is_rollout_name, read_meta, thread_id_of
from state.rollouts.telling import names_of, tell
from state.stores.jobs import JobStore
from state.stores.outputs import OutputStore
from state.stores.private_rows import as_shown, set_mode, set_name, set_use
from state.stores.recorded_rows import row_as_told
from state.stores.threads import ThreadRow, ThreadStore
from state.stores.withdrawal import (
    OutsideSource,
    delete_thread_memory,
    note_outside_source,
    pollute_thread,
)
from state.stores.withdrawal import Q as WITHDRAWAL

Q = Queries("recovery")

BATCH_FILES = 128
_THREADS = ThreadStore()
_OUTPUTS = OutputStore()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuilding found."""

    threads: int
    unreadable: tuple[str, ...]
    """Transcripts without a usable first line, relative to the home."""


async def rebuild_threads(
    home: Home, database: Database, journal: Journal, clock: Clock
) -> Rebuilt:
    """Bring the rows of threads up to what transcripts and journal tell.

    Raises: DatabaseUnusable, DatabaseFull, DatabaseBusy, JournalUnusable.
    """
    entries = await asyncio.to_thread(lambda: latest(journal.entries()))
    files = await asyncio.to_thread(_rollouts, home)
    taken, unreadable = await _taken_in(home, database, files, files, entries, clock)
    async with database.writing() as tx:
        await tx.run(Q["raise_fence"], fence=clock.now_ms() // 1_000)
        await tx.run(Q["note_sequence"], sequence=journal.sequence)
    gone = [one for one in entries if one["what"] in ("deleted", "reset")]
    await replay(database, gone, clock)
    return Rebuilt(threads=len(taken), unreadable=tuple(unreadable))


async def take_in_unknown(
    home: Home, database: Database, journal: Journal, clock: Clock
) -> frozenset[ThreadId]:
    """Give a row to each thread that has a transcript alone; the threads that got one.

    There are some where an older database came back, or files from elsewhere did.
    Names of files are all that is looked at as long as each of them is known. Where one is not,
    transcripts that are newer than their rows are read as well.

    Raises: DatabaseUnusable, DatabaseFull, DatabaseBusy, JournalUnusable.
    """
    named = await asyncio.to_thread(_named_rollouts, home)
    async with database.glancing() as read:
        known = {str(row["thread_id"]) for row in await read.all(Q["known_threads"])}
    if named.keys() <= known:
        return frozenset()
    files = {one: Path(path) for one, path in named.items()}
    unnamed = [path for one, path in files.items() if one not in known]
    unknown = await asyncio.to_thread(lambda: [one for one in unnamed if _is_plain(one)])
    entries = await asyncio.to_thread(lambda: latest(journal.entries()))
    every = list(files.values())
    taken, _ = await _taken_in(home, database, unknown, every, entries, clock)
    new = frozenset(one for one in taken if one not in known)
    if new:
        async with database.glancing() as read:
            rows = await read.all(Q["known_threads"])
        changed_ms = {str(row["thread_id"]): int(row["updated_at_ms"]) for row in rows}
        grown = await asyncio.to_thread(_grown, files, changed_ms)
        await _taken_in(home, database, grown, every, entries, clock)
    return new


def _named_rollouts(home: Home) -> dict[str, str]:
    """What is called like a transcript, by its thread; the plain form comes before the packed one.

    Text and no more, since this is done at each start for every file that there is.
    """
    found: dict[str, str] = {}
    for root in (home.sessions, home.archived_sessions):
        for folder, _, names in os.walk(root):
            for name in names:
                if is_rollout_name(name):
                    stem, dot, ending = name.partition(".jsonl")
                    if not ending or stem[-36:] not in found:
                        found[stem[-36:]] = f"{folder}/{stem}{dot}{ending}"
    return found


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _grown(files: Mapping[str, Path], changed_ms: Mapping[str, int]) -> list[Path]:
    """Transcripts that were written after the change that their rows know."""

    def written_ms(path: Path) -> int:
        try:
            return path.stat().st_mtime_ns // 1_000_000
        except OSError:
            return 0

    return [
        path
        for thread_id, path in files.items()
        if thread_id in changed_ms and written_ms(path) > changed_ms[thread_id] and _is_plain(path)
    ]


async def _taken_in(
    home: Home,
    database: Database,
    files: Sequence[Path],
    every: Sequence[Path],
    entries: Sequence[Entry],
    clock: Clock,
) -> tuple[frozenset[ThreadId], list[str]]:
    """Rows for the threads of these files; those threads, and the files that cannot be read.

    `every` are those in which a fork may find what it stands on.
    """
    facts = _by_thread(entries)
    names = await asyncio.to_thread(names_of, home.root)
    by_thread = {str(thread_id_of(path)): path for path in every}
    unreadable: list[str] = []
    seen: set[ThreadId] = set()
    now_ms = clock.now_ms()
    for start in range(0, len(files), BATCH_FILES):
        batch = files[start : start + BATCH_FILES]
        rows, bad = await asyncio.to_thread(_read, home, batch, names, now_ms, by_thread.get)
        unreadable += bad
        async with database.writing() as tx:
            for row in rows:
                known = facts.get(row.thread_id, {})
                if "deleted" not in known:
                    seen.add(row.thread_id)
                    await _put(tx, row, known)
            tx.told.clear()
    return frozenset(seen), unreadable


async def replay(database: Database, entries: Sequence[Entry], clock: Clock) -> None:
    """Carry out what was told and, by a crash, not committed; nothing is told again.

    Raises: DatabaseUnusable, DatabaseFull, DatabaseBusy.
    """
    jobs = JobStore(clock, "recovery")
    async with database.writing() as tx:
        for entry in latest(entries):
            await _carry_out(tx, entry, jobs)
        tx.told.clear()


async def snapshot_of(read: Reading) -> list[dict[str, Any]]:
    """What a journal would say of this database, for one that has none yet or lost it."""
    told: list[dict[str, Any]] = []
    for row in await read.all(Q["untold"]):
        of_thread = {"thread_id": row["thread_id"]}
        if row["memory_mode"] != "enabled":
            told.append({"what": "mode", **of_thread, "mode": row["memory_mode"]})
        if not row["use_memories"]:
            told.append({"what": "use", **of_thread, "use": False})
        if row["name"] is not None:
            told.append({"what": "name", **of_thread, "name": row["name"]})
        if row["imported_digest"] is not None:
            marks = ("imported_from", "imported_digest", "imported_at_ms")
            told.append({"what": "imported", **of_thread, **{key: row[key] for key in marks}})
    for row in await read.all(WITHDRAWAL["sources"]):
        facts = {key: row[key] for key in ("thread_id", "kind", "name")}
        told.append({"what": "outside", **facts})
    return told


def _rollouts(home: Home) -> list[Path]:
    roots = (home.sessions, home.archived_sessions)
    return [path for root in roots if root.is_dir() for path in find_rollouts(root)]


def _read(
    home: Home,
    files: Iterable[Path],
    names: Mapping[ThreadId, str],
    now_ms: int,
    find_base: FindRollout,
) -> tuple[list[ThreadRow], list[str]]:
    rows: list[ThreadRow] = []
    unreadable: list[str] = []
    for path in files:
        relative = str(path.relative_to(home.root))
        try:
            meta = read_meta(path)
            row = row_as_told(
                meta,
                tell(path, find_base=find_base),
                path=relative,
                archived=path.is_relative_to(home.archived_sessions),
                now_ms=now_ms,
                name=names.get(meta.id),
            )
        except (OSError, RolloutUnreadable):
            unreadable.append(relative)
            continue
        rows.append(row)
    return rows, unreadable


async def _put(tx: Transaction, told: ThreadRow, known: Mapping[str, Entry]) -> None:
    """Write the row, with what only journal or database know of it."""
    row = told
    stored = await _THREADS.get(tx, told.thread_id)
    if stored is not None:
        # A file that is behind its row, or a second copy of it, adds nothing.
        row = stored if stored.updated_at_ms >= told.updated_at_ms else _over(stored, told)
    changes: dict[str, Any] = {}
    if (mode := known.get("mode")) is not None:
        changes["memory_mode"] = mode["mode"]
    if (use := known.get("use")) is not None:
        changes["use_memories"] = bool(use["use"])
    if (name := known.get("name")) is not None:
        changes["name"] = name["name"]
    if (mark := known.get("imported")) is not None:
        changes |= {
            key: mark[key] for key in ("imported_from", "imported_digest", "imported_at_ms")
        }
    await _THREADS.put(tx, as_shown(replace(row, **changes)))
    if (outside := known.get("outside")) is not None:
        await _carry_outside(tx, outside)


def _over(stored: ThreadRow, told: ThreadRow) -> ThreadRow:
    """The newer transcript, and what a person or an import noted of the thread before."""
    return replace(
        told,
        name=stored.name or told.name,
        memory_mode=stored.memory_mode,
        use_memories=stored.use_memories,
        imported_from=stored.imported_from,
        imported_digest=stored.imported_digest,
        imported_at_ms=stored.imported_at_ms,
    )


async def _carry_out(tx: Transaction, entry: Entry, jobs: JobStore) -> None:
    match entry:
        case {"what": "mode", "thread_id": thread_id, "mode": "polluted"}:
            await pollute_thread(
                tx,
                threads=_THREADS,
                jobs=jobs,
                outputs=_OUTPUTS,
                thread_id=thread_id,
                now_ms=entry["at_ms"],
            )
        case {"what": "mode", "thread_id": thread_id, "mode": ("enabled" | "disabled") as mode}:
            await set_mode(tx, _THREADS, thread_id, mode)
        case {"what": "outside"}:
            await _carry_outside(tx, entry)
        case {"what": "use", "thread_id": thread_id, "use": use}:
            await set_use(tx, _THREADS, thread_id, bool(use))
        case {"what": "name", "thread_id": thread_id, "name": name}:
            await set_name(tx, _THREADS, thread_id, name)
        case {"what": "deleted", "thread_id": thread_id}:
            await delete_thread_memory(
                tx, jobs=jobs, outputs=_OUTPUTS, thread_id=thread_id, now_ms=entry["at_ms"]
            )
            await _THREADS.delete(tx, thread_id)
        case {"what": "reset", "version": version}:
            await jobs.clear(tx, version)
            await _OUTPUTS.clear(tx, version, at_ms=entry["at_ms"])
        case _:
            # The mark of an import without its row: the import takes its copy up again.
            return


async def _carry_outside(tx: Transaction, entry: Entry) -> None:
    """By what a thread is barred, if it still is."""
    row = await _THREADS.get(tx, entry["thread_id"])
    if row is not None and row.memory_mode == "polluted":
        source = OutsideSource(entry["kind"], entry["name"])
        await note_outside_source(tx, row.thread_id, source, now_ms=entry["at_ms"])


def _by_thread(entries: Iterable[Entry]) -> dict[ThreadId, dict[str, Entry]]:
    found: dict[ThreadId, dict[str, Entry]] = {}
    for entry in entries:
        if (thread_id := entry.get("thread_id")) is not None:
            found.setdefault(thread_id, {})[entry["what"]] = entry
    return found
