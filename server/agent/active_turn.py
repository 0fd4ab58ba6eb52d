"""A turn from its admission to its end: its place in the table, its inbox, what it made so far.

Invariant: whether it still takes input is decided and acted on without an await in between, so an
input either joins this turn or starts the next one, never neither and never both.
"""

import asyncio
import contextlib
from collections import deque
from dataclasses import replace

from server.agent.events import TurnFault
from server.agent.inputs import TurnKind
from server.agent.interrupts import Interrupts
from server.agent.saying import HeldInput
from server.agent.turn import TurnLife
from state.ids import TurnId
from state.rollouts.items import RecordedItem, RecordedTurn


class ActiveTurn:
    """One admitted turn; changed by the event loop only."""

    def __init__(self, turn_id: TurnId, first: HeldInput, *, kind: TurnKind = "user") -> None:
        self.turn_id = turn_id
        self.kind = kind
        self.first = first
        self.life = TurnLife()
        self.interrupts = Interrupts()
        self.inbox: deque[HeldInput] = deque()
        self.begun = asyncio.Event()
        self.recorded = asyncio.Event()
        """Set when its first input is in the file and the thread has a row, or it ended."""
        self.ended = asyncio.Event()
        self.items: list[RecordedItem] = []
        self.open_item: RecordedItem | None = None
        """The item that is being streamed."""
        self.open_tools: dict[str, RecordedItem] = {}
        """The items of tools that run, by id."""
        self.shown: list[str] = []
        """The text of it that was told so far."""
        self.cited = False
        """Whether an answer of it cites memory."""
        self.fault: TurnFault | None = None
        self.started_at_ms: int | None = None
        self.ended_at_ms: int | None = None
        self.output_schema = first.given.output_schema

    @property
    def open(self) -> bool:
        """Whether it goes on, or is still to begin."""
        return self.life.open and self.interrupts.requested is None

    @property
    def accepting(self) -> bool:
        """Whether new input joins this turn."""
        return self.open and self.kind == "user"

    @property
    def started_at_s(self) -> int | None:
        """When it began, in whole seconds."""
        return None if self.started_at_ms is None else self.started_at_ms // 1000

    @property
    def final_message(self) -> RecordedItem | None:
        """The last agent message, where there is one."""
        return next((one for one in reversed(self.items) if one.type == "agentMessage"), None)

    def begin(self) -> None:
        """Let its events flow; a second call does nothing."""
        self.begun.set()

    async def wait_begun(self, seconds: float) -> None:
        """Wait until its events may flow; after that long they flow by themselves."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.begun.wait()
        # Whoever admitted it may be gone; the input was taken, so the turn runs.
        self.begun.set()

    def snapshot(self) -> RecordedTurn:
        """As it stands, the item under way included."""
        items = tuple(self.items)
        if self.open_item is not None:
            body = dict(self.open_item.body)
            if "text" in body:
                body["text"] = "".join(self.shown)
            items = (*items, replace(self.open_item, body=body))
        items = (*items, *self.open_tools.values())
        done = self.ended_at_ms is not None and self.started_at_ms is not None
        fault = self.fault
        return RecordedTurn(
            turn_id=self.turn_id,
            status=self.life.status if done else "inProgress",
            items=items,
            error=None if fault is None else as_error(fault),
            started_at_s=self.started_at_s,
            completed_at_s=None if self.ended_at_ms is None else self.ended_at_ms // 1000,
            duration_ms=self.duration_ms,
        )

    @property
    def duration_ms(self) -> int | None:
        """How long it took; None before its end."""
        if self.ended_at_ms is None or self.started_at_ms is None:
            return None
        return max(0, self.ended_at_ms - self.started_at_ms)


def as_error(fault: TurnFault) -> dict[str, object]:
    """A fault in the wire's shape, as it is recorded and shown."""
    return {
        "message": fault.message,
        "codexErrorInfo": fault.error_info,
        "additionalDetails": fault.additional_details,
        "misalignment": None,
    }
