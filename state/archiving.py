"""Moves rollouts into the archive and back, so that file and row agree after any crash.

Invariant: a move is noted before it begins and its note goes in the transaction that changes the
row; a start looks where each noted file is and goes by that.
"""

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from state.database import Database
from state.errors import RolloutMissing
from state.home import Home, make_private_folder, patiently, sync_folder
from state.rollouts.store import rollout_path
from state.stores.lineage import LineageStore, Move
from state.stores.threads import ThreadRow, ThreadStore

_DATED_NAME = re.compile(r"rollout-(\d{4})-(\d{2})-(\d{2})T")
_FORMS = ("", ".zst")
_THREADS, _LINEAGE = ThreadStore(), LineageStore()


async def move_rollout(
    home: Home, database: Database, row: ThreadRow, *, archived: bool
) -> ThreadRow:
    """Move a thread's file into the archive or out of it; the row as it is then.

    Raises: RolloutMissing, FileExistsError, OSError, HomeUnusable, DatabaseUnusable.
    """
    place = archived_path(home, row) if archived else active_path(home, row)
    move = Move(
        thread_id=row.thread_id,
        from_path=row.rollout_path,
        to_path=str(place.relative_to(home.root)),
        archived=archived,
    )
    async with database.writing() as tx:
        await _LINEAGE.begin_move(tx, move)
    try:
        await asyncio.to_thread(_move, home, move)
    except (OSError, RolloutMissing):
        async with database.writing() as tx:
            await _LINEAGE.end_move(tx, row.thread_id)
        raise
    await _note(database, move)
    return replace(row, archived=archived, rollout_path=move.to_path)


async def finish_moves(home: Home, database: Database) -> None:
    """Let the rows agree with where a crash left the files; for a start, before anybody reads.

    Raises: OSError, DatabaseUnusable.
    """
    async with database.reading() as read:
        moves = await _LINEAGE.moves(read)
    for move in moves:
        if await asyncio.to_thread(_arrived, home, move):
            await _note(database, move)
        else:
            async with database.writing() as tx:
                await _LINEAGE.end_move(tx, move.thread_id)


def archived_path(home: Home, row: ThreadRow) -> Path:
    """Where a thread's file lies in the archive: under its own name."""
    return home.archived_sessions / Path(row.rollout_path).name


def active_path(home: Home, row: ThreadRow) -> Path:
    """Where it lies outside the archive: by the date in its name, or of the thread's making."""
    name = Path(row.rollout_path).name
    dated = _DATED_NAME.match(name)
    if dated is None:
        return rollout_path(home, row.thread_id, row.created_at_ms).with_name(name)
    return home.sessions / dated[1] / dated[2] / dated[3] / name


async def _note(database: Database, move: Move) -> None:
    async with database.writing() as tx:
        await _THREADS.set_archived(
            tx, move.thread_id, archived=move.archived, rollout_path=move.to_path
        )
        await _LINEAGE.end_move(tx, move.thread_id)


def _move(home: Home, move: Move) -> None:
    source, target = home.root / move.from_path, home.root / move.to_path
    forms = [form for form in _FORMS if _with(source, form).exists()]
    if not forms:
        raise RolloutMissing(move.thread_id)
    make_private_folder(target.parent)
    for form in forms:
        if _with(target, form).exists():
            raise FileExistsError(17, "another file lies there already", str(target))
    for form in forms:
        # Two files at most; a start after a crash between them brings the second after the first.
        patiently(partial(_rename, _with(source, form), _with(target, form)))
    for folder in {target.parent, source.parent}:
        sync_folder(folder)


def _arrived(home: Home, move: Move) -> bool:
    """Whether the file is where it was going to; what lags behind is brought after it."""
    source, target = home.root / move.from_path, home.root / move.to_path
    arrived = any(_with(target, form).exists() for form in _FORMS)
    for form in _FORMS:
        if arrived and _with(source, form).exists() and not _with(target, form).exists():
            _rename(_with(source, form), _with(target, form))
    return arrived


def _with(path: Path, form: str) -> Path:
    return path.with_name(f"{path.name}{form}")


def _rename(source: Path, target: Path) -> None:
    source.rename(target)
