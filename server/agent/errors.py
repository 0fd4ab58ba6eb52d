"""The errors of the agent wing.

AgentError
├── ProviderFailed     a model call ended without a usable reply
├── UnknownProvider    the settings name no such provider
├── ThreadNotLoaded    no live thread has that id
├── ThreadClosing      the thread is being unloaded
├── ThreadBusy         a turn runs, and what was asked for needs an idle thread
├── TurnInProgress     the turn is no boundary, because it has not ended
├── McpServerMissing   a server that the settings require did not start
├── NotMarked          text from outside may not come in, since the mark for it was not kept
└── ImpossibleStep     the turn table has no such step: a mistake of ours
"""

from typing import Any

HTTP_KINDS = frozenset(
    {
        "httpConnectionFailed",
        "responseStreamConnectionFailed",
        "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    }
)

OVERLOADED_STATUSES = (503, 529)


class AgentError(Exception):
    """Any error of this wing; its text holds no secret and no memory text."""


class ProviderFailed(AgentError):
    """A model call that gave no usable reply.

    `kind` is a `codexErrorInfo` name of the protocol. `retryable` says that the same call may
    succeed later; whether it is tried again is decided in `models/retry.py` alone.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        rate_limits: dict[str, Any] | None = None,
        window_tokens: int | None = None,
    ) -> None:
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.rate_limits = rate_limits
        self.after_output = False
        """Whether it broke off in the middle of an answer, so that it may be asked for anew."""
        self.window_tokens = window_tokens
        """The model's window, where a refusal for length tells it."""
        super().__init__(message)

    @property
    def overloaded(self) -> bool:
        """Whether the model, or its server, has more to do than it can; another one may answer."""
        return self.kind == "serverOverloaded" or self.http_status in OVERLOADED_STATUSES

    @property
    def error_info(self) -> str | dict[str, Any]:
        """The value of `codexErrorInfo` on the wire."""
        if self.kind in HTTP_KINDS:
            return {self.kind: {"httpStatusCode": self.http_status}}
        return self.kind


class UnknownProvider(AgentError):
    """No provider of that name is configured."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"model provider `{name}` not found")


class ThreadNotLoaded(AgentError):
    """No live thread has that id."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"thread not found: {thread_id}")


class ThreadClosing(AgentError):
    """The thread is being unloaded; it can be resumed after that."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"thread {thread_id} is closing; retry after the thread is closed")


class ThreadBusy(AgentError):
    """A turn runs or waits in the thread; nothing was changed."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"thread {thread_id} is busy; retry when its turn has ended")


class TurnInProgress(AgentError):
    """A fork cannot end behind a turn that still runs."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        super().__init__(
            f"turn {turn_id} is in progress and cannot be the last turn of a fork; wait for its "
            "end, or fork before it"
        )


class McpServerMissing(AgentError):
    """An MCP server that a turn must not run without is not there."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"the required MCP server `{name}` is not ready: {reason}")


class NotMarked(AgentError):
    """A thread that takes in text from outside could not be marked for it."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            f"thread {thread_id} could not be marked as holding text from outside, so the tool was "
            "not called; memory could not be written just now, try again"
        )


class ImpossibleStep(AgentError):
    """The table in `turn.py` does not allow this event in this phase."""

    def __init__(self, phase: str, event: str) -> None:
        self.phase = phase
        self.event = event
        super().__init__(f"a turn in phase {phase} cannot take the event {event}")
