"""Pages of results and of lines: cursors, limits and offsets of the read tools."""

from state.errors import PathRefused


def clamped(value: int | None, most: int) -> int:
    """A wanted number of results within its limit."""
    return most if value is None else min(max(value, 1), most)


def start_of(cursor: str | None) -> int:
    """The first result that a cursor stands for.

    Raises: PathRefused.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()):
        raise PathRefused(f"cursor '{cursor}' must be a non-negative integer")
    return int(cursor[:18]) if len(cursor) > 18 else int(cursor)


def next_cursor_of(start: int, limit: int, count: int) -> str | None:
    """The cursor of the next page, None on the last one.

    Raises: PathRefused.
    """
    if start > count:
        raise PathRefused(f"cursor '{start}' exceeds result count")
    return str(start + limit) if start + limit < count else None


def line_start(text: str, line_number: int) -> int:
    """Where a line begins, counted from 1.

    Raises: PathRefused.
    """
    begin = 0
    for _ in range(line_number - 1):
        begin = text.find("\n", begin) + 1
        if begin == 0:
            raise PathRefused("line_offset exceeds file length")
    return begin


def after_lines(text: str, begin: int, count: int) -> int:
    """Where that many lines end, or the text does."""
    end = begin
    for _ in range(count):
        if end >= len(text):
            break
        found = text.find("\n", end)
        end = len(text) if found < 0 else found + 1
    return end
