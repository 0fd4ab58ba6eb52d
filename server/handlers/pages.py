"""Pages of turns and items: cursors that stay right while a thread goes on, and pages that fit.

A cursor names a place in a history that only grows at its end, so an index is a stable anchor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import orjson

from protocol.base import SortDirection
from protocol.errors import WireError, refused
from protocol.messages.threads import ItemEntry, ItemsPage, TurnsPage
from protocol.messages.turns import ItemsView, Turn
from server.handlers.sizes import PAGE_BYTES_MAX, ROWS_MAX, fitting_rows
from server.handlers.views import item_view, turn_view
from state.rollouts.items import RecordedItem, RecordedTurn

ROWS_DEFAULT = 25
ITEMS_FEW = 16
"""So many items of a turn are shown without a look whether they fit."""
Scope = Literal["turns", "items", "turnItems"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A place at or beside a row; `inclusive` says whether the page begins with that row."""

    thread_id: str
    position: int
    inclusive: bool
    scope: Scope

    def __str__(self) -> str:
        return orjson.dumps(
            {
                "threadId": self.thread_id,
                "position": self.position,
                "includeAnchor": self.inclusive,
                "scope": self.scope,
            }
        ).decode()


def read_cursor(text: str, *, thread_id: str, scope: Scope) -> Cursor:
    """The cursor that a page of the same thread and kind gave.

    Raises: WireError.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _invalid(text) from None
    match value:
        case {
            "threadId": str(of_thread),
            "position": int(position),
            "includeAnchor": bool(inclusive),
            "scope": str(of_scope),
        } if of_thread == thread_id and of_scope == scope and position >= 0:
            return Cursor(thread_id=thread_id, position=position, inclusive=inclusive, scope=scope)
        case _:
            raise _invalid(text)


def limit_of(limit: int | None) -> int:
    """How many rows a page has."""
    return ROWS_DEFAULT if limit is None else max(1, min(limit, ROWS_MAX))


def offset_of(cursor: str | None, count: int) -> int:
    """Where a page of a short, fixed list begins.

    Raises: WireError.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 9 or int(cursor) > count:
        raise refused(f"invalid cursor: {cursor[:200]}")
    return int(cursor)


def turns_page(
    thread_id: str,
    turns: Sequence[RecordedTurn],
    *,
    cursor: str | None,
    limit: int | None,
    direction: SortDirection,
    view: ItemsView,
) -> TurnsPage:
    """One page of turns.

    Raises: WireError.
    """
    anchor = None if cursor is None else read_cursor(cursor, thread_id=thread_id, scope="turns")
    order = _order(len(turns), anchor, direction)
    rows = ((index, fitting_turn(turns[index], view)) for index in order[: limit_of(limit)])
    page = fitting_rows(rows, lambda row: len(row[1].to_json()))
    edges = _edges(thread_id, "turns", [index for index, _ in page], order)
    return TurnsPage(
        data=[turn for _, turn in page], next_cursor=edges[0], backwards_cursor=edges[1]
    )


def items_page(
    thread_id: str,
    rows: Sequence[tuple[str, RecordedItem]],
    *,
    anchor: Cursor | None,
    limit: int | None,
    direction: SortDirection,
    scope: Scope,
) -> ItemsPage:
    """One page of items, each with the id of its turn; items without a view are passed over."""
    order = _order(len(rows), anchor, direction)
    found = ((index, entry) for index in order if (entry := _entry(*rows[index])) is not None)
    # Made one by one, so that none is made beyond what fits.
    page = fitting_rows(islice(found, limit_of(limit)), lambda row: len(row[1].to_json()))
    edges = _edges(thread_id, scope, [index for index, _ in page], order)
    return ItemsPage(
        data=[entry for _, entry in page], next_cursor=edges[0], backwards_cursor=edges[1]
    )


def newest_cursor(thread_id: str, count: int, scope: Scope) -> str | None:
    """From where a client pages backwards through everything."""
    if count == 0:
        return None
    return str(Cursor(thread_id=thread_id, position=count - 1, inclusive=True, scope=scope))


def newest_turns(turns: Sequence[RecordedTurn], *, bytes_used: int = 0) -> list[Turn]:
    """The newest turns with all their items, in order; the oldest are left out beyond a frame."""
    kept: list[Turn] = []
    for turn in reversed(turns):
        view = fitting_turn(turn, "full")
        bytes_used += len(view.to_json()) + 1
        if kept and bytes_used > PAGE_BYTES_MAX:
            break
        kept.append(view)
    return kept[::-1]


def fitting_turn(turn: RecordedTurn, view: ItemsView) -> Turn:
    """The turn in that view, or in the next smaller one that fits into a page."""
    smaller: dict[ItemsView, ItemsView] = {"full": "summary", "summary": "notLoaded"}
    if view == "full" and len(turn.items) > ITEMS_FEW and not _may_fit(turn):
        view = "summary"
    shown = turn_view(turn, view)
    while len(shown.to_json()) > PAGE_BYTES_MAX and view in smaller:
        view = smaller[view]
        shown = turn_view(turn, view)
    return shown


def _may_fit(turn: RecordedTurn) -> bool:
    """Whether its items may fit into a page; no more of them are looked at than a page holds."""
    used = 0
    for item in turn.items:
        view = item_view(item)
        used += 0 if view is None else len(view.to_json())
        if used > PAGE_BYTES_MAX:
            return False
    return True


def _order(count: int, anchor: Cursor | None, direction: SortDirection) -> range:
    """The positions of the rows from the cursor on."""
    if direction == "asc":
        start = 0 if anchor is None else anchor.position + (0 if anchor.inclusive else 1)
        return range(start, count)
    last = count - 1 if anchor is None else anchor.position - (0 if anchor.inclusive else 1)
    return range(min(last, count - 1), -1, -1)


def _edges(
    thread_id: str, scope: Scope, positions: Sequence[int], order: range
) -> tuple[str | None, str | None]:
    """The cursors to go on and to go back."""
    if not positions:
        return None, None
    more = positions[-1] != order[-1]
    onward = Cursor(thread_id=thread_id, position=positions[-1], inclusive=False, scope=scope)
    back = Cursor(thread_id=thread_id, position=positions[0], inclusive=True, scope=scope)
    return (str(onward) if more else None), str(back)


def _entry(turn_id: str, item: RecordedItem) -> ItemEntry | None:
    view = item_view(item)
    if view is None:
        return None
    return ItemEntry(
        turn_id=turn_id,
        item=view,
        started_at_ms=item.started_at_ms,
        completed_at_ms=item.completed_at_ms,
    )


def _invalid(cursor: str) -> WireError:
    return refused(f"invalid cursor: {cursor[:200]}")
