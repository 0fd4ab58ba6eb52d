"""An item that goes on after its call, and perhaps after its turn: a command in the background.

Invariant: it is recorded before its completion is told, and stands in its turn as it ended, whether
that turn runs or is over. After the thread was unloaded it changes nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from server.agent.events import ItemCompleted, OutputDelta, StdinWritten
from server.agent.turn_floor import TurnFloor
from state.rollouts.items import RecordedItem


class KeptItem:
    """One such item; completed by whoever kept it."""

    def __init__(self, floor: TurnFloor, item: RecordedItem) -> None:
        self._floor = floor
        self._conversation = floor.conversation
        self._turn_id = floor.turn.turn_id
        self._item = item

    @property
    def item_id(self) -> str:
        """Its id."""
        return self._item.item_id

    def delta(self, text: str) -> None:
        """Tell more output."""
        if text:
            self._floor.tell(
                OutputDelta(
                    thread_id=self._conversation.thread_id,
                    turn_id=self._turn_id,
                    item_id=self.item_id,
                    item_type=self._item.type,
                    delta=text,
                )
            )

    def wrote(self, stdin: str, *, process_id: str) -> None:
        """Tell what the command was given to read."""
        self._floor.tell(
            StdinWritten(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn_id,
                item_id=self.item_id,
                process_id=process_id,
                stdin=stdin,
            )
        )

    def update(self, body: Mapping[str, Any]) -> None:
        """Change what is known of it."""
        self._put(replace(self._item, body=dict(body)))

    async def complete(self, body: Mapping[str, Any]) -> None:
        """Record the whole item, then tell it.

        Raises: OSError, StateError.
        """
        now_ms = self._floor.clock.now_ms()
        item = replace(self._item, body=dict(body), completed_at_ms=now_ms)
        await self._floor.recorder.record([self._floor.recorder.item_line(item)])
        self._put(item)
        self._floor.tell(
            ItemCompleted(thread_id=self._conversation.thread_id, turn_id=self._turn_id, item=item)
        )

    def _put(self, item: RecordedItem) -> None:
        """Where it stands: among what runs, among what is done, or in a turn that is over."""
        self._item = item
        turn = self._floor.turn
        if item.completed_at_ms is not None and item.item_id in turn.open_tools:
            del turn.open_tools[item.item_id]
            turn.items.append(item)
        elif item.item_id in turn.open_tools:
            turn.open_tools[item.item_id] = item
        self._conversation.turns.put(item)
