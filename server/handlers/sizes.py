"""Keeps single frames below what clients can read, by shortening texts and cutting pages.

Three clients of the field read lines of at most 64 KiB and break for good above it.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import orjson
from pydantic_core import PydanticSerializationError

from protocol.base import WireModel

FRAME_BYTES_MAX = 64 * 1024
PAGE_BYTES_MAX = 56 * 1024
"""What the rows of one page may take together; the rest is for what stands around them."""
ITEM_BYTES_MAX = 48 * 1024
"""What one item may take, so that it fits into every frame that carries it."""
ROWS_MAX = 100
"""Rows of one page at most."""
INPUT_CHARACTERS_MAX = 1_048_576
"""What the texts of one turn's input may have together."""
PREVIEW_CHARACTERS_MAX = 1_000
DELTA_CHARACTERS_MAX = 8 * 1024
_TEXT_CHARACTERS_FIRST = 32 * 1024
_TEXT_CHARACTERS_MIN = 256

RowT = TypeVar("RowT")


def shortened(body: dict[str, Any]) -> dict[str, Any]:
    """The same JSON value, with its long texts cut in the middle until it fits into a frame."""
    limit = _TEXT_CHARACTERS_FIRST
    fitting = body
    if _characters(body) > ITEM_BYTES_MAX:  # megabytes are not encoded to learn that
        fitting = {key: _cut(value, limit) for key, value in body.items()}
        limit //= 2
    while json_bytes(fitting) > ITEM_BYTES_MAX and limit >= _TEXT_CHARACTERS_MIN:
        fitting = {key: _cut(value, limit) for key, value in body.items()}
        limit //= 2
    return fitting


def shortened_text(text: str, *, characters_max: int) -> str:
    """The text with its middle left out where it is too long, and a mark that says how much."""
    if len(text) <= characters_max:
        return text
    half = characters_max // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}…{left_out} chars truncated…{text[len(text) - half :]}"


def fitting_rows(rows: Iterable[RowT], size: Callable[[RowT], int]) -> list[RowT]:
    """As many rows from the front as one page holds, at least one."""
    page: list[RowT] = []
    used = 0
    for row in rows:
        used += size(row) + 1
        if page and used > PAGE_BYTES_MAX:
            break
        page.append(row)
    return page


def json_bytes(value: Any) -> int:
    """How long the value is as JSON."""
    try:
        return len(orjson.dumps(value))
    except (TypeError, orjson.JSONEncodeError):
        # A number or character that orjson refuses; the length need only be near.
        return len(repr(value).encode("utf-8", "replace"))


def can_be_sent(view: WireModel) -> bool:
    """Whether it can be written at all: what a file or a model nested very deeply cannot."""
    try:
        view.to_json()
    except (PydanticSerializationError, ValueError):
        return False
    return True


def _characters(value: Any) -> int:
    """How long its texts are together; its JSON form is no shorter."""
    match value:
        case str():
            return len(value)
        case dict():
            return sum(map(_characters, value.values()))
        case list() | tuple():
            return sum(map(_characters, value))
        case _:
            return 0


def _cut(value: Any, limit: int) -> Any:
    match value:
        case str():
            return shortened_text(value, characters_max=limit)
        case dict():
            return {key: _cut(part, limit) for key, part in value.items()}
        case list() | tuple():
            return [_cut(part, limit) for part in value]
        case _:
            return value
