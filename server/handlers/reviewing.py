"""Reviews: a turn in which the agent looks over changes."""

from typing import assert_never

from protocol.errors import draining, refused
from protocol.messages.reviews import (
    BaseBranch,
    Commit,
    Custom,
    ReviewStartParams,
    ReviewStartResult,
    ReviewTarget,
    UncommittedChanges,
)
from server.agent.inputs import Admitted, Refused
from server.agent.review import AgainstBranch, InWords, OfCommit, Target, Uncommitted, review_input
from server.handlers.identities import thread_id_of
from server.handlers.services import Services
from server.handlers.turns import check_characters, kept, refusal_of
from server.handlers.views import running_turn
from server.wire.dispatch import Call


class ReviewHandler:
    """Answers `review/start`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def start(self, call: Call, params: ReviewStartParams) -> ReviewStartResult:
        """Queue the review behind what runs; how it goes is told after this reply."""
        services = self._services
        if services.draining():
            raise draining()
        live = services.live.require(thread_id_of(params.thread_id))
        admitted = live.ordered("review", review_input(_target(params.target)))
        match admitted:
            case Admitted():
                call.after_reply(admitted.begin)
                await kept(live.id, admitted)
                return ReviewStartResult(
                    turn=running_turn(admitted.turn_id), review_thread_id=live.id
                )
            case Refused():
                raise refusal_of(live.id, admitted)
            case _:
                assert_never(admitted)


def _target(target: ReviewTarget) -> Target:
    """What is to be reviewed.

    Raises: WireError where it names nothing.
    """
    match target:
        case UncommittedChanges():
            return Uncommitted()
        case BaseBranch():
            return AgainstBranch(branch=_named(target.branch, "branch"))
        case Commit():
            return OfCommit(
                sha=_named(target.sha, "sha"), title=(target.title or "").strip() or None
            )
        case Custom():
            check_characters(len(target.instructions))
            return InWords(instructions=_named(target.instructions, "instructions"))
        case _:
            assert_never(target)


def _named(text: str, field: str) -> str:
    if not text.strip():
        raise refused(f"{field} must not be empty")
    return text.strip()
