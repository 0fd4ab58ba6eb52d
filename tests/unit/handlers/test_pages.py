"""Pages of turns and items: complete, in order, resumable, and never too long for a client."""

from typing import Any

import pytest

from protocol.base import SortDirection
from protocol.errors import WireError
from server.handlers.pages import (
    items_page,
    newest_cursor,
    newest_turns,
    read_cursor,
    turns_page,
)
from server.handlers.sizes import FRAME_BYTES_MAX
from state.rollouts.items import RecordedItem, RecordedTurn

THREAD = "01a228a9-3643-7e51-a1eb-e71498059b9f"


def _item(turn: str, number: int, kind: str, text: str) -> RecordedItem:
    body: dict[str, Any] = {"text": text, "phase": "final_answer"}
    if kind == "userMessage":
        body = {"clientId": None, "content": [{"type": "text", "text": text}]}
    return RecordedItem(item_id=f"{turn}-{number}", turn_id=turn, type=kind, body=body)


def _turn(number: int, text: str = "words") -> RecordedTurn:
    turn = f"turn-{number}"
    return RecordedTurn(
        turn_id=turn,
        status="completed",
        items=(
            _item(turn, 1, "userMessage", text),
            _item(turn, 2, "agentMessage", "on my way"),
            _item(turn, 3, "agentMessage", text),
        ),
    )


TURNS = [_turn(number) for number in range(7)]


def _walk(direction: SortDirection, limit: int) -> list[str]:
    found: list[str] = []
    cursor = None
    for _ in range(20):
        page = turns_page(
            THREAD, TURNS, cursor=cursor, limit=limit, direction=direction, view="summary"
        )
        found += [turn.id for turn in page.data]
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_together_hold_every_turn_once(limit: int) -> None:
    """In both directions."""
    names = [turn.turn_id for turn in TURNS]
    assert _walk("asc", limit) == names
    assert _walk("desc", limit) == names[::-1]


def test_a_page_can_be_left_to_the_other_side() -> None:
    """The cursor back begins with the page's first row."""
    first = turns_page(THREAD, TURNS, cursor=None, limit=2, direction="desc", view="summary")
    second = turns_page(
        THREAD, TURNS, cursor=first.next_cursor, limit=2, direction="desc", view="summary"
    )
    back = turns_page(
        THREAD, TURNS, cursor=second.backwards_cursor, limit=10, direction="asc", view="summary"
    )
    assert [turn.id for turn in back.data] == ["turn-4", "turn-5", "turn-6"]


def test_a_cursor_stays_right_when_the_thread_goes_on() -> None:
    """New turns come at the end and move nothing."""
    page = turns_page(THREAD, TURNS, cursor=None, limit=2, direction="desc", view="summary")
    longer = [*TURNS, _turn(7)]
    onward = turns_page(
        THREAD, longer, cursor=page.next_cursor, limit=2, direction="desc", view="summary"
    )
    assert [turn.id for turn in onward.data] == ["turn-4", "turn-3"]


def test_a_client_that_resumed_pages_backwards_from_the_newest_turn() -> None:
    """With the cursor that the resume gave."""
    cursor = newest_cursor(THREAD, len(TURNS), "turns")
    page = turns_page(THREAD, TURNS, cursor=cursor, limit=2, direction="desc", view="notLoaded")
    assert [turn.id for turn in page.data] == ["turn-6", "turn-5"]
    assert newest_cursor(THREAD, 0, "turns") is None


def test_an_empty_history_has_no_cursors() -> None:
    """There is nowhere to go."""
    page = turns_page(THREAD, [], cursor=None, limit=None, direction="desc", view="full")
    assert (page.data, page.next_cursor, page.backwards_cursor) == ([], None, None)


@pytest.mark.parametrize(
    "cursor",
    [
        "garbage",
        "{}",
        "5",
        '{"threadId":"other","position":1,"includeAnchor":true,"scope":"turns"}',
        f'{{"threadId":"{THREAD}","position":1,"includeAnchor":true,"scope":"items"}}',
        f'{{"threadId":"{THREAD}","position":-1,"includeAnchor":true,"scope":"turns"}}',
        f'{{"threadId":"{THREAD}","position":"1","includeAnchor":true,"scope":"turns"}}',
    ],
)
def test_a_cursor_of_nothing_here_is_refused(cursor: str) -> None:
    """Also one of another thread or of another list."""
    with pytest.raises(WireError) as raised:
        read_cursor(cursor, thread_id=THREAD, scope="turns")
    assert raised.value.message == f"invalid cursor: {cursor}"


def test_a_position_beyond_the_end_gives_an_empty_page() -> None:
    """A cursor may be older than a history that was cut."""
    cursor = f'{{"threadId":"{THREAD}","position":99,"includeAnchor":false,"scope":"turns"}}'
    page = turns_page(THREAD, TURNS, cursor=cursor, limit=5, direction="asc", view="full")
    assert page.data == []


def test_a_summary_holds_the_question_and_the_last_answer() -> None:
    """And the view says so."""
    page = turns_page(THREAD, TURNS, cursor=None, limit=1, direction="asc", view="summary")
    assert [item.id for item in page.data[0].items] == ["turn-0-1", "turn-0-3"]
    assert page.data[0].items_view == "summary"


def test_pages_of_long_turns_stay_below_the_frame_limit() -> None:
    """Fewer rows come, and the cursor leads to the rest."""
    turns = [_turn(number, "x" * 20_000) for number in range(6)]
    page = turns_page(THREAD, turns, cursor=None, limit=6, direction="asc", view="full")
    assert 0 < len(page.data) < 6
    assert page.next_cursor is not None
    assert len(page.to_json()) < FRAME_BYTES_MAX


def test_one_turn_that_is_too_long_alone_is_shown_in_a_smaller_view() -> None:
    """Truthfully named."""
    many = tuple(_item("t", number, "agentMessage", "y" * 9_000) for number in range(40))
    turn = RecordedTurn(turn_id="t", status="completed", items=many)
    page = turns_page(THREAD, [turn], cursor=None, limit=1, direction="asc", view="full")
    assert page.data[0].items_view == "summary"
    assert len(page.to_json()) < FRAME_BYTES_MAX


def test_a_resume_brings_the_newest_turns_that_fit_in_order() -> None:
    """The oldest are left out."""
    turns = [_turn(number, "x" * 20_000) for number in range(6)]
    kept = newest_turns(turns)
    assert [turn.id for turn in kept] == ["turn-5"]
    short = newest_turns(TURNS)
    assert [turn.id for turn in short] == [turn.turn_id for turn in TURNS]


def test_items_are_paged_with_their_turns_and_odd_types_are_passed_over() -> None:
    """One unknown type would make a client refuse the page."""
    rows = [(turn.turn_id, item) for turn in TURNS[:2] for item in turn.items]
    strange = RecordedItem(item_id="s", turn_id="turn-0", type="hologram", body={})
    rows.insert(1, ("turn-0", strange))
    page = items_page(THREAD, rows, anchor=None, limit=3, direction="asc", scope="items")
    assert [entry.item.id for entry in page.data] == ["turn-0-1", "turn-0-2", "turn-0-3"]
    assert page.next_cursor is not None
    anchor = read_cursor(page.next_cursor, thread_id=THREAD, scope="items")
    rest = items_page(THREAD, rows, anchor=anchor, limit=10, direction="asc", scope="items")
    assert [entry.item.id for entry in rest.data] == ["turn-1-1", "turn-1-2", "turn-1-3"]
    assert rest.next_cursor is None
