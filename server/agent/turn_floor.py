"""What the tool calls of one turn share: the record, the items that run, the open questions.

Invariant: an item is in the rollout before its completion is told, also while several tools run at
once; a question that was put is settled before the floor is left, and the thread's flags say that
people are waited for as long as one is open.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from server.agent.active_turn import ActiveTurn
from server.agent.asking import Asker, PendingQuestion, Waiting
from server.agent.command_rules import CommandRules
from server.agent.conversation import Conversation
from server.agent.events import (
    DiffChanged,
    ItemCompleted,
    ItemStarted,
    ThreadEvent,
    ThreadStatus,
)
from server.agent.recorder import Recorder
from server.agent.tools.stage import FileChanged
from server.agent.turn import Event, Phase
from server.agent.turn_clock import TurnClock
from server.agent.turn_diff import TurnDiff
from state.clock import Clock
from state.errors import StateError
from state.rollouts.items import RecordedItem
from state.rollouts.lines import Line

"""Marks the thread of that recorder as holding text from outside, where the settings say so."""
_FLAG_ORDER: tuple[Waiting, ...] = ("waitingOnApproval", "waitingOnUserInput")


class TurnFloor:
    """One turn's; made and left by the task that runs the turn."""

    def __init__(
        self,
        conversation: Conversation,
        turn: ActiveTurn,
        recorder: Recorder,
        *,
        clock: Clock,
        asker: Asker,
        rules: CommandRules | None,
        ran: Callable[[str, bool], None],
        turn_clock: TurnClock,
    ) -> None:
        self.conversation = conversation
        self.turn = turn
        self.recorder = recorder
        self.clock = clock
        self.asker = asker
        self.rules = rules
        self.ran = ran
        """Hears of each command line that ran, and whether it succeeded."""
        self.cancelled = False
        """Whether a person answered that the turn is to end."""
        self.failed: OSError | StateError | None = None
        """Why something could not be recorded; the turn fails of it, whatever the tool says."""
        self._turn_clock = turn_clock
        self._recording = asyncio.Lock()
        self._waiting: Counter[Waiting] = Counter()
        self._unsettled: list[PendingQuestion] = []
        self._diff = TurnDiff()
        self._diff_text = ""

    async def record(self, lines: Sequence[Line]) -> None:
        """Append lines; tools that run at the same time wait for each other.

        Raises: OSError, StateError.
        """
        async with self._recording:
            try:
                await self.recorder.record(lines)
            except (OSError, StateError) as error:
                self.failed = error
                raise

    def begin(self, item: RecordedItem) -> None:
        """Tell that an item began."""
        self.turn.open_tools[item.item_id] = item
        self.tell(
            ItemStarted(thread_id=self.conversation.thread_id, turn_id=self.turn.turn_id, item=item)
        )

    def end(self, item: RecordedItem, *, told: bool = True) -> None:
        """Keep a recorded item, and tell that it is complete."""
        self.turn.open_tools.pop(item.item_id, None)
        self.turn.items.append(item)
        if told:
            self.tell(
                ItemCompleted(
                    thread_id=self.conversation.thread_id, turn_id=self.turn.turn_id, item=item
                )
            )

    def change(self, item: RecordedItem) -> None:
        """Keep what is known now of an item that runs."""
        if item.item_id in self.turn.open_tools:
            self.turn.open_tools[item.item_id] = replace(item)

    def tell(self, event: ThreadEvent) -> None:
        """Tell an event of the thread."""
        self.conversation.tell(event)

    def wait_for(self, kind: Waiting | None) -> None:
        """Somebody is waited for from now on."""
        if kind is None:
            return
        self._waiting[kind] += 1
        if self.turn.life.phase is Phase.ACTING:
            self.turn.life.take(Event.APPROVAL_NEEDED)
            self._turn_clock.stand()
        self._show_flags()

    def go_on(self, kind: Waiting | None) -> None:
        """Nobody is waited for any more, as far as this one is concerned."""
        if kind is None:
            return
        self._waiting[kind] -= 1
        if not self._waiting.total() and self.turn.life.phase is Phase.ASKING:
            self.turn.life.take(Event.APPROVAL_SETTLED)
            self._turn_clock.run()
        self._show_flags()

    def put(self, question: PendingQuestion) -> None:
        """Keep a question until it is settled."""
        self._unsettled.append(question)

    def settle(self, question: PendingQuestion) -> None:
        """Close a question; told to all that listen."""
        if question in self._unsettled:
            self._unsettled.remove(question)
            question.settle()

    def leave(self) -> None:
        """Close what is still open; after this nothing of the turn waits for anybody."""
        for question in list(self._unsettled):
            self.settle(question)

    async def changed_files(self, changes: Sequence[FileChanged]) -> None:
        """Take changes of files into the turn's difference and tell it."""
        self._diff.add(changes)
        self._diff_text = await asyncio.to_thread(self._diff.text, self.conversation.settings.cwd)
        self.tell_diff()

    def tell_diff(self) -> None:
        """Tell the turn's whole difference, where there is one."""
        if self._diff_text:
            self.tell(
                DiffChanged(
                    thread_id=self.conversation.thread_id,
                    turn_id=self.turn.turn_id,
                    diff=self._diff_text,
                )
            )

    def _show_flags(self) -> None:
        flags = tuple(kind for kind in _FLAG_ORDER if self._waiting[kind] > 0)
        self.conversation.set_status(ThreadStatus("active", flags))
