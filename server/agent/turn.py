"""The life of a turn as a table. Pure: no await, no clock, no I/O.

Invariant: what is not in the table cannot happen, and no event leads out of `ENDED`.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Literal

from server.agent.errors import ImpossibleStep

EndStatus = Literal["completed", "interrupted", "failed"]


class Phase(Enum):
    """Where a turn stands."""

    ADMITTED = "admitted"
    """It has an id; nothing of it was told or recorded yet."""
    THINKING = "thinking"
    """The model is asked, or about to be."""
    ACTING = "acting"
    """Tools run."""
    ASKING = "asking"
    """A person is asked whether a tool may run."""
    ENDED = "ended"


class Event(Enum):
    """What may happen to a turn."""

    BEGUN = "begun"
    TOOLS_CALLED = "tools called"
    TOOLS_RETURNED = "tools returned"
    APPROVAL_NEEDED = "approval needed"
    APPROVAL_SETTLED = "approval settled"
    STEERED = "steered"
    """New input of the user came before the answer was the last word."""
    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


TABLE: Mapping[Phase, Mapping[Event, Phase]] = MappingProxyType(
    {
        Phase.ADMITTED: MappingProxyType(
            {
                Event.BEGUN: Phase.THINKING,
                Event.INTERRUPTED: Phase.ENDED,
                Event.FAILED: Phase.ENDED,
            }
        ),
        Phase.THINKING: MappingProxyType(
            {
                Event.TOOLS_CALLED: Phase.ACTING,
                Event.STEERED: Phase.THINKING,
                Event.ANSWERED: Phase.ENDED,
                Event.INTERRUPTED: Phase.ENDED,
                Event.FAILED: Phase.ENDED,
            }
        ),
        Phase.ACTING: MappingProxyType(
            {
                Event.APPROVAL_NEEDED: Phase.ASKING,
                Event.TOOLS_RETURNED: Phase.THINKING,
                Event.INTERRUPTED: Phase.ENDED,
                Event.FAILED: Phase.ENDED,
            }
        ),
        Phase.ASKING: MappingProxyType(
            {
                Event.APPROVAL_SETTLED: Phase.ACTING,
                Event.INTERRUPTED: Phase.ENDED,
                Event.FAILED: Phase.ENDED,
            }
        ),
        Phase.ENDED: MappingProxyType({}),
    }
)

END_STATUS: Mapping[Event, EndStatus] = MappingProxyType(
    {
        Event.ANSWERED: "completed",
        Event.INTERRUPTED: "interrupted",
        Event.FAILED: "failed",
    }
)


def after(phase: Phase, event: Event) -> Phase:
    """The phase that follows.

    Raises: ImpossibleStep.
    """
    following = TABLE[phase].get(event)
    if following is None:
        raise ImpossibleStep(phase.value, event.value)
    return following


class TurnLife:
    """One turn's walk through the table."""

    __slots__ = ("_ended_by", "_phase")

    def __init__(self) -> None:
        self._phase = Phase.ADMITTED
        self._ended_by: Event | None = None

    @property
    def phase(self) -> Phase:
        """Where the turn stands."""
        return self._phase

    @property
    def open(self) -> bool:
        """Whether the turn still takes input."""
        return self._phase is not Phase.ENDED

    @property
    def status(self) -> EndStatus | Literal["inProgress"]:
        """The status as clients see it."""
        return END_STATUS[self._ended_by] if self._ended_by else "inProgress"

    def take(self, event: Event) -> None:
        """Make one step.

        Raises: ImpossibleStep.
        """
        self._phase = after(self._phase, event)
        if self._phase is Phase.ENDED:
            self._ended_by = event
