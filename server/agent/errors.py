"""The errors of the agent wing.

AgentError
├── ProviderFailed     a model call ended without a usable reply
├── UnknownProvider    the settings name no such provider
├── ThreadNotLoaded    no live thread has that id
├── ThreadClosing      the thread is being unloaded
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
    ) -> None:
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.rate_limits = rate_limits
        super().__init__(message)

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


class ImpossibleStep(AgentError):
    """The table in `turn.py` does not allow this event in this phase."""

    def __init__(self, phase: str, event: str) -> None:
        self.phase = phase
        self.event = event
        super().__init__(f"a turn in phase {phase} cannot take the event {event}")
