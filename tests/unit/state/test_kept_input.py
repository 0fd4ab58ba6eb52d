"""What becomes of the note of input whose turn has not come to it."""

from typing import Any

from state.rollouts.items import RolloutLine
from state.rollouts.kept_input import in_place
from state.rollouts.lines import input_kept, task_started


def _message(name: str) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"id": name, "type": "message", "role": "user"}}


def _read(*lines: dict[str, Any]) -> list[str]:
    """What a reader gets of a file of these lines: ids of messages and of turns that begin."""
    parsed = [
        RolloutLine.parse(line, line_number=number, size=1)
        for number, line in enumerate(lines, start=1)
    ]
    found = in_place(line for line in parsed if line is not None)
    return [
        str(line.payload.get("id") or line.payload.get("turn_id"))
        for line in found
        if isinstance(line, RolloutLine)
    ]


def _note(turn_id: str, name: str) -> dict[str, Any]:
    return input_kept(turn_id, [_message(name)])


def _turn(turn_id: str) -> dict[str, Any]:
    return task_started(turn_id, started_at_s=1)


def test_input_that_was_recorded_is_read_where_it_was_recorded() -> None:
    """Also where other turns begin in between."""
    assert _read(_turn("a"), _note("a", "m"), _message("m")) == ["a", "m"]
    assert _read(_note("b", "m"), _turn("b"), _message("m"), _turn("c")) == ["b", "m", "c"]


def test_input_that_nothing_followed_is_read_at_the_end() -> None:
    """In the order it came."""
    assert _read(_turn("a"), _note("a", "m"), _note("b", "n")) == ["a", "m", "n"]


def test_input_that_nothing_followed_stands_before_the_next_turn_of_the_thread() -> None:
    """What waits for that very turn goes on waiting."""
    lines = (_turn("a"), _note("a", "m"), _note("b", "n"), _turn("b"), _message("n"))
    assert _read(*lines) == ["a", "m", "b", "n"]


def test_a_note_without_usable_lines_is_nothing() -> None:
    """Whoever wrote it."""
    odd = {"type": "event_msg", "payload": {"type": "input_kept", "lines": [1, {"type": 5}]}}
    assert _read(odd, _turn("a")) == ["a"]
