"""What the user says, in both its forms, and input that waits for its turn.

Input that must wait is noted in the file at once and recorded in its place when its turn gets to
it. Invariant: it is acknowledged only when it is in the file, and taken up only if it is.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from server.agent.inputs import TurnInput
from server.agent.models.base import Item
from server.agent.prompt import REVIEW_KIND, has_files, user_message
from state.clock import Clock
from state.errors import StateError
from state.ids import TurnId, uuid7
from state.rollouts.items import RecordedItem


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the user."""

    item: RecordedItem
    """As clients see it."""
    response: Item
    """As the model does."""
    kinds: tuple[str, ...] | None = None
    """Who wrote each part, where it was not the user."""


Note = Callable[[], Coroutine[None, None, Said | None]]
"""Puts what was said into the file; None when nothing was. Raises: OSError, StateError."""


class HeldInput:
    """Input of the user that a turn was given and has not recorded yet."""

    def __init__(self, given: TurnInput, note: Note | None = None) -> None:
        """Without `note` it is recorded at once, or has no words to keep."""
        self.given = given
        self.words: Said | None = None
        """What was noted, to be recorded as it stands there."""
        self._fault: OSError | StateError | None = None
        self._noting = None if note is None else asyncio.create_task(self._note(note))

    @property
    def waits(self) -> bool:
        """Whether it is noted, since its turn is not there yet."""
        return self._noting is not None

    async def noted(self) -> bool:
        """Wait until it is in the file; False if it cannot be, of which its sender is told."""
        if self._noting is not None:
            # Whoever stops waiting leaves the writing alone.
            await asyncio.wait((self._noting,))
            self._noting.result()
        return self._fault is None

    async def kept(self) -> None:
        """Wait until it is in the file.

        Raises: OSError, StateError.
        """
        if not await self.noted() and self._fault is not None:
            raise self._fault

    async def _note(self, note: Note) -> None:
        try:
            self.words = await note()
        except (OSError, StateError) as error:
            self._fault = error


async def said(given: TurnInput, turn_id: TurnId, clock: Clock) -> Said | None:
    """The message in both forms; None when nothing was said.

    Raises: OSError.
    """
    if not given.content:
        return None
    message = (
        await asyncio.to_thread(user_message, given) if has_files(given) else user_message(given)
    )
    now_ms = clock.now_ms()
    item = RecordedItem(
        item_id=uuid7(now_ms),
        turn_id=turn_id,
        type="userMessage",
        body={
            "clientId": given.client_id,
            "content": [
                {"text_elements": [], **one} if one.get("type") == "text" else dict(one)
                for one in given.content
            ],
        },
        started_at_ms=now_ms,
        completed_at_ms=now_ms,
    )
    by_program = given.review is not None and not given.review.typed
    kinds = (REVIEW_KIND,) * len(message.parts) if by_program else None
    return Said(item, {"id": f"msg_{uuid7(now_ms)}", **message.item}, kinds)
