"""What a loaded thread holds in memory: its settings, what the model sees, what it spent."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from server.agent.approvals import SessionGrants
from server.agent.events import StatusChanged, ThreadEvent, ThreadStatus
from server.agent.filling import Filling
from server.agent.finished_turns import FinishedTurns
from server.agent.inputs import SettingsChange, ThreadSettings
from server.agent.memory_told import MemoryTold
from server.agent.models.base import Item, TokenUse
from server.agent.prompt import for_model, with_memory
from server.agent.thread_settings import overlaid
from state.ids import ThreadId
from state.rollouts.recalled import Recalled, without_section
from state.stores.withdrawal import OutsideKind

IDLE = ThreadStatus("idle")
ACTIVE = ThreadStatus("active")
SYSTEM_ERROR = ThreadStatus("systemError")
NOT_LOADED = ThreadStatus("notLoaded")

Pollute = Callable[[OutsideKind, str], Awaitable[bool]]
"""Kind and name of what is about to come in; False when the thread should be barred and is not."""


async def _nothing_pollutes(kind: OutsideKind, name: str) -> bool:
    """Before the thread is live."""
    return True


class Conversation:
    """The state of one thread between and during turns; changed by the event loop only."""

    def __init__(
        self,
        thread_id: ThreadId,
        settings: ThreadSettings,
        *,
        ephemeral: bool,
        tell: Callable[[ThreadEvent], None],
    ) -> None:
        self.thread_id = thread_id
        self.settings = settings
        self.ephemeral = ephemeral
        self.tell = tell
        self.status = IDLE
        self.grants = SessionGrants()
        """What a person accepted until the thread is unloaded."""
        self.sent: list[Item] = []
        """The history as the model gets it, without the memory section."""
        self.memory: MemoryTold | None = None
        """What is told of memory, the same in every request; None until it is rendered anew."""
        self.recorded_memory: str | None = None
        """The digest of the section that the file holds last."""
        self.recalled = Recalled()
        self.pollute: Pollute = _nothing_pollutes
        """Call it with kind and name just before outside context comes in."""
        self.turns = FinishedTurns()
        self.total = TokenUse()
        self.last_use: TokenUse | None = None
        self.filling = Filling()
        self.context_recorded = False
        """Whether memory section and first context are part of the history."""
        self.told_cwd: str | None = None
        """The folder that the last environment context named."""
        self.told_instructions: str | None = None
        """The instruction files as they were told last."""
        self.instruction_sources: tuple[str, ...] = ()
        self.faults_told: set[str] = set()
        """What was wrong with them and has been said."""

    def set_status(self, status: ThreadStatus) -> None:
        """Tell a status that differs from the one before."""
        if status != self.status:
            self.status = status
            self.tell(StatusChanged(thread_id=self.thread_id, status=status))

    def remember(self, item: Item) -> None:
        """Add a recorded item to what the model sees."""
        self.recalled.note(item)
        kept = without_section(item)
        sent = None if kept is None else for_model(kept)
        if sent is not None:
            self.sent.append(sent)
            self.filling.note(sent)

    def request_input(self) -> tuple[Item, ...]:
        """What the model gets: the history, with the memory section in its place."""
        told = self.memory if self.settings.use_memories else None
        return with_memory(self.sent, told.parts if told is not None else ())

    def forget_recalled(self) -> None:
        """Something was withdrawn: what was recalled is told anew from the next turn."""
        self.memory = None
        self.recalled.let_go()
        kept = (self.recalled.without(item) for item in self.sent)
        self.sent = [item for item in kept if item is not None]

    def change(self, change: SettingsChange) -> bool:
        """Take over overrides; whether anything is different now."""
        changed = overlaid(self.settings, change)
        if changed == self.settings:
            return False
        self.settings = changed
        return True

    def mark(self) -> "Mark":
        """Where the history stands, to come back to."""
        return Mark(
            len(self.sent),
            self.context_recorded,
            self.told_cwd,
            self.told_instructions,
            self.memory is not None,
            self.recorded_memory,
            self.filling.since,
        )

    def back_to(self, mark: "Mark") -> None:
        """Forget what was added since, because it could not be recorded."""
        del self.sent[mark.items :]
        self.filling.since = mark.since
        self.context_recorded, self.told_cwd = mark.context_recorded, mark.told_cwd
        self.told_instructions = mark.told_instructions
        self.recorded_memory = mark.recorded_memory
        if not mark.had_memory:
            self.memory = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a conversation."""

    items: int
    context_recorded: bool
    told_cwd: str | None
    told_instructions: str | None
    had_memory: bool
    recorded_memory: str | None
    since: int
