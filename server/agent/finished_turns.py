"""The finished turns of a loaded thread, held small: what a thread of months keeps in memory.

Invariant: at most `bytes_max` of items are held, as bytes; the oldest are let go first and their
turns stay, as in a history that is read from its file. The newest turn is always whole.
"""

from collections.abc import Iterable
from dataclasses import replace

from state.rollouts.history import ITEM_BYTES_MAX
from state.rollouts.items import RecordedItem, RecordedTurn
from state.rollouts.packed import NO_ITEMS, PackedItems


class FinishedTurns:
    """Turns in order; changed by the event loop only."""

    def __init__(
        self, turns: Iterable[RecordedTurn] = (), *, bytes_max: int = ITEM_BYTES_MAX
    ) -> None:
        self._turns: list[RecordedTurn] = []
        self._bytes_max = bytes_max
        self._bytes = 0
        self._oldest = 0
        """The first turn whose items are held."""
        for turn in turns:
            self.add(turn)

    def __len__(self) -> int:
        return len(self._turns)

    def all(self) -> list[RecordedTurn]:
        """Every one, in order."""
        return list(self._turns)

    def add(self, turn: RecordedTurn) -> None:
        """One that has ended now."""
        items = PackedItems.of(turn.items)
        self._turns.append(replace(turn, items=items))
        self._bytes += items.size
        self._let_go()

    def put(self, item: RecordedItem) -> None:
        """What became of an item that outlived its turn; of a turn that is let go nothing is kept.

        Its turn is mostly among the last.
        """
        for place in range(len(self._turns) - 1, self._oldest - 1, -1):
            turn = self._turns[place]
            if turn.turn_id == item.turn_id:
                before = PackedItems.of(turn.items)
                after = PackedItems.of(
                    [item if one.item_id == item.item_id else one for one in before]
                )
                self._turns[place] = replace(turn, items=after)
                self._bytes += after.size - before.size
                self._let_go()
                return

    def _let_go(self) -> None:
        while self._bytes > self._bytes_max and self._oldest < len(self._turns) - 1:
            turn = self._turns[self._oldest]
            self._bytes -= PackedItems.of(turn.items).size
            self._turns[self._oldest] = replace(turn, items=NO_ITEMS)
            self._oldest += 1
