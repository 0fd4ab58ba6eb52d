"""Prefixes of recorded histories: where one ends, a file that stands on one, a file made whole.

A fork of a paginated thread holds no copy: its first line names a prefix of another file, and its
ordinals go on from there. Invariant: a file of ours is replaced whole or not at all, and what is
copied out of another thread's history is marked as such, so that it is learned once and as theirs.
Everything here blocks.
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from state.errors import RolloutUnreadable, TurnMissing
from state.home import make_private_folder, open_private, patiently, sync_folder
from state.ids import ThreadId
from state.rollouts.history import FindRollout, History, placed_lines, read_history
from state.rollouts.items import RolloutLine, SessionMeta
from state.rollouts.kept_input import is_note
from state.rollouts.store import open_plain, read_lines, read_meta

BLOCK_BYTES = 1_048_576
_STARTS = ("task_started", "turn_started")
_ENDS = ("task_complete", "turn_complete", "turn_aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a prefix is to end: behind a turn, before one, or nowhere but at the end."""

    through: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """The end of a prefix of a paginated history."""

    thread_id: ThreadId
    """The thread in whose own file its last line stands."""
    end_ordinal_exclusive: int
    end_byte_offset: int
    open_turn_id: str | None
    """The turn that had not ended there."""
    notes: tuple[tuple[int, int], ...] = ()
    """Where, in that file and before that place, input is noted whose turn begins behind it: the
    offset and the size of each such line."""

    def holds(self, line: RolloutLine) -> bool:
        """Whether the line belongs to the prefix."""
        return line.ordinal is None or line.ordinal < self.end_ordinal_exclusive


def boundary_of(path: Path, cut: Cut, *, find_base: FindRollout) -> Boundary | None:
    """The end of the prefix; None when nothing but first lines stands before it.

    Raises: TurnMissing, OSError, RolloutUnreadable.
    """
    last: tuple[Path, RolloutLine] | None = None
    open_turn: str | None = None
    found = False
    begun: set[object] = set()
    notes: list[tuple[Path, RolloutLine]] = []
    for place, line in placed_lines(path, find_base=find_base):
        if not isinstance(line, RolloutLine):
            continue
        started, ended = _turn_in(line, _STARTS), _turn_in(line, _ENDS)
        if started is not None and (started == cut.before or found):
            found = True
            break
        if line.ordinal is not None and line.type != "session_meta":
            last = place, line
        if is_note(line):
            notes.append((place, line))
        if started is not None:
            begun.add(started)
            open_turn, found = started, started == cut.through
        elif ended is not None and ended == open_turn:
            open_turn = None
            if found:
                break
    missing = cut.through or cut.before
    if missing is not None and not found:
        raise TurnMissing(missing)
    if last is None:
        return None
    place, line = last
    assert line.ordinal is not None
    return Boundary(
        thread_id=read_meta(place).id,
        end_ordinal_exclusive=line.ordinal + 1,
        end_byte_offset=line.offset + line.size,
        open_turn_id=open_turn,
        notes=tuple(
            (note.offset, note.size)
            for of, note in notes
            if of == place and note.payload.get("turn_id") not in begun
        ),
    )


def legacy_end(path: Path, cut: Cut) -> tuple[int | None, str | None]:
    """The line before which a prefix of a legacy file ends, and the turn that is open there.

    None means the end of the file.
    Raises: TurnMissing, OSError, RolloutUnreadable.
    """
    history: History = read_history(path)
    ids = [turn.turn_id for turn in history.turns]
    wanted = cut.through or cut.before
    if wanted is None:
        return None, open_turn_of(path)
    if wanted not in ids:
        raise TurnMissing(wanted)
    index = ids.index(wanted) + (cut.through is not None)
    return (history.turn_lines[index] if index < len(ids) else None), None


def open_turn_of(path: Path) -> str | None:
    """The turn that a file tells the start of and no end."""
    open_turn: str | None = None
    for line in read_lines(path):
        if isinstance(line, RolloutLine):
            started = _turn_in(line, _STARTS)
            if started is not None:
                open_turn = started
            elif _turn_in(line, _ENDS) == open_turn:
                open_turn = None
    return open_turn


def write_copy(
    path: Path, meta: SessionMeta, source: Path, *, timestamp: str, before_line: int | None
) -> None:
    """Make a legacy fork: its own first line, then those of its source up to that line.

    Raises: OSError, RolloutUnreadable, HomeUnusable.
    """
    with open_plain(source) as file:
        count = sum(1 for _ in _physical(file, before_line=before_line))
    payload = meta.model_copy(update={"copied_lines": count})
    first = {
        "timestamp": timestamp,
        "type": "session_meta",
        "payload": payload.model_dump(mode="json", exclude_none=True),
    }
    make_private_folder(path.parent)

    def pieces() -> Iterator[bytes]:
        yield orjson.dumps(first) + b"\n"
        with open_plain(source) as file:
            yield from _physical(file, before_line=before_line, whole=False)

    _replace(path, pieces())


def make_whole(path: Path, *, find_base: FindRollout) -> bool:
    """Copy into a fork's file the prefix it stands on; false when it stands on none.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path)
    base = meta.history_base
    if base is None:
        return False
    parts = _inherited(path, find_base)
    if not parts:
        return False
    with path.open("rb") as own:
        first = _object(own.readline(), path)
        begin = own.tell()
    payload = {key: value for key, value in first["payload"].items() if key != "history_base"}
    count = sum(_newlines(file, start, end) for file, start, end in parts)
    payload["copied_lines"] = count
    head = {**first, "payload": payload}
    if "ordinal" in head:
        head["ordinal"] = 0

    def pieces() -> Iterator[bytes]:
        yield orjson.dumps(head) + b"\n"
        for file, start, end in parts:
            yield from _blocks(file, start, end)
        yield from _blocks(path, begin, None)

    _replace(path, pieces())
    return True


def cut_back(path: Path, boundary: Boundary | None, *, timestamp: str) -> None:
    """Let a thread's history end at that boundary; what came after is gone from its file.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path)
    if boundary is not None and boundary.thread_id == meta.id:
        if boundary.notes:
            _replace(path, _without(path, boundary))
            return
        with path.open("r+b") as file:
            file.truncate(boundary.end_byte_offset)
            os.fsync(file.fileno())
        return
    # All that is left stands in other files, so this one holds its first line only.
    payload = meta.model_dump(mode="json", exclude_none=True, exclude={"history_base"})
    if boundary is not None:
        payload["history_base"] = base_of(boundary)
    first = {
        "timestamp": timestamp,
        "ordinal": boundary.end_ordinal_exclusive if boundary else 0,
        "type": "session_meta",
        "payload": payload,
    }
    _replace(path, iter([orjson.dumps(first) + b"\n"]))


def _without(path: Path, boundary: Boundary) -> Iterator[bytes]:
    """The file up to the boundary, without what waited there for a turn that is gone."""
    begin = 0
    for offset, size in (*boundary.notes, (boundary.end_byte_offset, 0)):
        yield from _blocks(path, begin, offset)
        begin = offset + size


def base_of(boundary: Boundary) -> dict[str, Any]:
    """How a first line names the prefix it stands on."""
    return {
        "thread_id": boundary.thread_id,
        "end_ordinal_exclusive": boundary.end_ordinal_exclusive,
        "end_byte_offset": boundary.end_byte_offset,
    }


def _inherited(path: Path, find_base: FindRollout) -> list[tuple[Path, int, int]]:
    """The byte ranges of other files that a fork's history begins with, first lines left out."""
    ranges: dict[Path, tuple[int, int]] = {}
    for place, line in placed_lines(path, find_base=find_base):
        if place == path:
            break
        if isinstance(line, RolloutLine):
            end = line.offset + line.size
            # Where the first line is passed over, so is what stands before it.
            begin = end if place not in ranges else ranges[place][0]
            ranges[place] = (begin, end)
    return [(place, begin, end) for place, (begin, end) in ranges.items()]


def _turn_in(line: RolloutLine, kinds: tuple[str, ...]) -> str | None:
    if line.type != "event_msg" or line.payload.get("type") not in kinds:
        return None
    found = line.payload.get("turn_id")
    return found if isinstance(found, str) else None


def _physical(file: BinaryIO, *, before_line: int | None, whole: bool = True) -> Iterator[bytes]:
    """The lines before that one; with `whole` one value each, else in pieces as they are read."""
    number = 1
    while (before_line is None or number < before_line) and (data := file.readline(BLOCK_BYTES)):
        ends = data.endswith(b"\n")
        if ends or not whole:
            yield data
        number += ends


def _newlines(path: Path, begin: int, end: int) -> int:
    return sum(block.count(b"\n") for block in _blocks(path, begin, end))


def _blocks(path: Path, begin: int, end: int | None) -> Iterator[bytes]:
    with open_plain(path) as file:
        left = begin
        while left > 0 and (skipped := file.read(min(left, BLOCK_BYTES))):
            left -= len(skipped)
        room = None if end is None else end - begin
        while room is None or room > 0:
            block = file.read(BLOCK_BYTES if room is None else min(room, BLOCK_BYTES))
            if not block:
                return
            if room is not None:
                room -= len(block)
            yield block


def _object(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise RolloutUnreadable(path, "its first line is not valid JSON") from error
    if not isinstance(value, dict) or not isinstance(value.get("payload"), dict):
        raise RolloutUnreadable(path, "its first line is not a session_meta line")
    return value


def _replace(path: Path, pieces: Iterator[bytes]) -> None:
    """Write a file anew, whole or not at all; it is on disk after."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    last = b"\n"
    try:
        with open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            for piece in pieces:
                # A part that a crash cut short must not swallow the line that follows.
                file.write(piece)
                last = piece[-1:] or last
            if last != b"\n":
                file.write(b"\n")
            file.flush()
            os.fsync(file.fileno())
        patiently(lambda: os.replace(partial, path))
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
