"""Input that was acknowledged while it waited, and whose turn never came to it.

A process that dies leaves only the note of it. Invariant: of such input each reader gets the lines
that would have been recorded, once, before the first turn that began without it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from state.rollouts.items import RolloutLine, SkippedLine
from state.rollouts.lines import KEPT

_STARTS = ("task_started", "turn_started")


def in_place(lines: Iterator[RolloutLine | SkippedLine]) -> Iterator[RolloutLine | SkippedLine]:
    """The lines, with the words of notes that nothing followed where they belong, without notes."""
    waiting: dict[str, RolloutLine] = {}
    for line in lines:
        if isinstance(line, RolloutLine):
            kind = line.payload.get("type") if line.type == "event_msg" else None
            if kind == KEPT:
                waiting[_message_id(line)] = line
                continue
            if line.type == "response_item":
                waiting.pop(str(line.payload.get("id")), None)
            elif waiting and kind in _STARTS:
                # Turns begin in the order of their input, so what others left behind stays so.
                begun = line.payload.get("turn_id")
                for key in [k for k, one in waiting.items() if one.payload.get("turn_id") != begun]:
                    yield from _words(waiting.pop(key))
        yield line
    for note in waiting.values():
        yield from _words(note)


def is_note(line: RolloutLine) -> bool:
    """Whether the line is such a note."""
    return line.type == "event_msg" and line.payload.get("type") == KEPT


def own_notes(
    lines: Iterator[tuple[bool, RolloutLine | SkippedLine]],
) -> Iterator[RolloutLine | SkippedLine]:
    """The lines, each told whether it was taken over from another thread; of those no note whose
    turn did not come along.
    """
    begun: set[object] = set()
    for taken_over, line in lines:
        if isinstance(line, RolloutLine):
            turn_id = line.payload.get("turn_id")
            if line.type == "event_msg" and line.payload.get("type") in _STARTS:
                begun.add(turn_id)
            elif taken_over and is_note(line) and turn_id not in begun:
                continue
        yield line


def _message_id(note: RolloutLine) -> str:
    """The id of the message in it, by which it is known when it is recorded."""
    for one in _recorded(note):
        payload = one.get("payload")
        if one.get("type") == "response_item" and isinstance(payload, Mapping):
            return str(payload.get("id"))
    return f"line {note.line_number}"


def _words(note: RolloutLine) -> Iterator[RolloutLine]:
    stamp = {"timestamp": note.timestamp, "ordinal": note.ordinal}
    for one in _recorded(note):
        line = RolloutLine.parse(
            {**one, **stamp}, line_number=note.line_number, size=note.size, offset=note.offset
        )
        if line is not None:
            yield line


def _recorded(note: RolloutLine) -> list[Mapping[str, Any]]:
    lines = note.payload.get("lines")
    found = lines if isinstance(lines, list) else []
    return [one for one in found if isinstance(one, Mapping)]
