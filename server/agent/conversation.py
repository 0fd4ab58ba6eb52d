"""What a loaded thread holds in memory: its settings, what the model sees, what it spent."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from server.agent.events import StatusChanged, ThreadEvent, ThreadStatus
from server.agent.inputs import SettingsChange, ThreadSettings
from server.agent.models.base import Item, TokenUse
from server.agent.prompt import for_model
from state.ids import ThreadId
from state.rollouts.items import RecordedTurn

IDLE = ThreadStatus("idle")
ACTIVE = ThreadStatus("active")
SYSTEM_ERROR = ThreadStatus("systemError")
NOT_LOADED = ThreadStatus("notLoaded")


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
        self.sent: list[Item] = []
        """The history as the model gets it."""
        self.turns: list[RecordedTurn] = []
        """The finished turns."""
        self.total = TokenUse()
        self.last_use: TokenUse | None = None
        self.context_recorded = False
        """Whether memory section and first context are part of the history."""
        self.told_cwd: str | None = None
        """The folder that the last environment context named."""

    def set_status(self, status: ThreadStatus) -> None:
        """Tell a status that differs from the one before."""
        if status != self.status:
            self.status = status
            self.tell(StatusChanged(thread_id=self.thread_id, status=status))

    def remember(self, item: Item) -> None:
        """Add a recorded item to what the model sees."""
        sent = for_model(item)
        if sent is not None:
            self.sent.append(sent)

    def change(self, change: SettingsChange) -> bool:
        """Take over overrides; whether anything is different now."""
        given = {
            name: value
            for name in SettingsChange.__dataclass_fields__
            if (value := getattr(change, name)) is not None
        }
        changed = replace(self.settings, **given)
        if changed == self.settings:
            return False
        self.settings = changed
        return True

    def mark(self) -> "Mark":
        """Where the history stands, to come back to."""
        return Mark(len(self.sent), self.context_recorded, self.told_cwd)

    def back_to(self, mark: "Mark") -> None:
        """Forget what was added since, because it could not be recorded."""
        del self.sent[mark.items :]
        self.context_recorded, self.told_cwd = mark.context_recorded, mark.told_cwd


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a conversation."""

    items: int
    context_recorded: bool
    told_cwd: str | None
