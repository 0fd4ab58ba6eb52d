"""The items of finished turns as bytes: what a long history holds while nobody looks at it.

A history of a hundred thousand items as values is a million objects. Each look for garbage walks
over them, and all of them are freed at once, while nobody else in the process can do anything.
Packed, an item is one object that holds no other, and it is read when its page is asked for.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import orjson

from state.rollouts.items import RecordedItem


class PackedItems(Sequence[RecordedItem]):
    """Recorded items that are decoded one by one, each time they are asked for."""

    __slots__ = ("_packed", "types")

    def __init__(self, types: Iterable[str], kept: Iterable[bytes]) -> None:
        self.types: tuple[str, ...] = tuple(types)
        """What each one is, which costs no decoding."""
        self._packed = tuple(kept)

    def __len__(self) -> int:
        return len(self._packed)

    @classmethod
    def of(cls, items: Sequence[RecordedItem]) -> "PackedItems":
        """The same items packed."""
        if isinstance(items, cls):
            return items
        return cls([item.type for item in items], map(packed, items)) if items else NO_ITEMS

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        return sum(map(len, self._packed))

    @overload
    def __getitem__(self, place: int) -> RecordedItem: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[RecordedItem, ...]: ...
    def __getitem__(self, place: int | slice) -> RecordedItem | tuple[RecordedItem, ...]:
        if isinstance(place, slice):
            return tuple(unpacked(one) for one in self._packed[place])
        return unpacked(self._packed[place])

    def __iter__(self) -> Iterator[RecordedItem]:
        return (unpacked(one) for one in self._packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # it equals tuples, which hash by what they hold

    def __repr__(self) -> str:
        return f"PackedItems({list(self.types)})"


NO_ITEMS = PackedItems((), ())
"""Of each turn that keeps none."""


def packed(item: RecordedItem) -> bytes:
    """The item as bytes."""
    fields = [
        item.item_id,
        item.turn_id,
        item.type,
        item.started_at_ms,
        item.completed_at_ms,
        item.body,
    ]
    return exact(orjson.dumps(fields))


def exact(encoded: bytes) -> bytes:
    """The same bytes to be kept long: what the encoder gives stays as large as its buffer grew."""
    return bytes(memoryview(encoded))


def unpacked(data: bytes) -> RecordedItem:
    """The item again."""
    item_id, turn_id, type_, started, completed, body = orjson.loads(data)
    return RecordedItem(
        item_id=item_id,
        turn_id=turn_id,
        type=type_,
        body=body,
        started_at_ms=started,
        completed_at_ms=completed,
    )


def types_of(items: Sequence[RecordedItem]) -> Sequence[str]:
    """What each item is; packed ones stay packed."""
    return items.types if isinstance(items, PackedItems) else [item.type for item in items]
