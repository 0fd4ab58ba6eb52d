"""What the agent needs to ask people something: the question, its answer, and the port.

Invariant: a question is settled exactly once, by the asker of it; until then it stays open for
every client that listens to the thread, and for those that come.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    ClientToolAnswer,
    CommandQuestion,
    Declined,
    Elicitation,
    ElicitationAnswer,
    FileChangeQuestion,
    PermissionsQuestion,
    Permitted,
    UserAnswers,
    UserQuestion,
)
from state.ids import ThreadId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientToolQuestion:
    """A call of a tool that the client itself offers."""

    tool: str
    namespace: str | None
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestions:
    """What the user is asked at once."""

    questions: tuple[UserQuestion, ...]


Subject = (
    CommandQuestion
    | FileChangeQuestion
    | PermissionsQuestion
    | UserQuestions
    | Elicitation
    | ClientToolQuestion
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a turn."""

    thread_id: ThreadId
    turn_id: TurnId
    item_id: str
    started_at_ms: int
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Nobody answered within the time that the question had."""

    seconds: float


Answer = (
    Accepted
    | Declined
    | Cancelled
    | AskFailed
    | Permitted
    | UserAnswers
    | ElicitationAnswer
    | ClientToolAnswer
    | NoAnswer
)

Waiting = Literal["waitingOnApproval", "waitingOnUserInput"]


class PendingQuestion(Protocol):
    """A question that was put."""

    async def answer(self) -> Answer:
        """The first valid answer, the last refusal, or that the time is over."""
        ...

    def settle(self) -> None:
        """Take it back, or say that it is done with; told to all that listen, once."""
        ...


class Asker(Protocol):
    """Puts questions to whoever listens to a thread."""

    def ask(self, question: Question) -> PendingQuestion:
        """Put it; returns at once."""
        ...


class NobodyAsks:
    """Where there are no clients: every question fails at once."""

    def ask(self, question: Question) -> PendingQuestion:
        """Nothing is put to anybody."""
        return _Unasked()


class _Unasked:
    async def answer(self) -> Answer:
        return AskFailed(message="there is nobody here who could be asked")

    def settle(self) -> None:
        return
