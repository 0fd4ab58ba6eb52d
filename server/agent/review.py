"""A review as a turn of its own: what is asked of the model, and the two items around it.

Invariant: a review that was told to begin is told to end, whatever ends the turn; clients show
a thread as being reviewed until then. What a program words for the user is never taken as typed.
"""

import shlex
from dataclasses import dataclass
from typing import Literal

from server.agent.inputs import ReviewOrder, TurnInput
from state.clock import Clock
from state.ids import TurnId, uuid7
from state.rollouts.items import RecordedItem

HINT_CHARACTERS_MAX = 1_000
INSTRUCTIONS = """\
This turn is a code review. Read the change itself and the code around it before you judge; change
no file.

- Report what the author would want to mend: what breaks, loses data, opens a door, or misleads.
  Matters of taste only where the project's own rules speak of them.
- The gravest first, each with its weight ([P0] stop everything to [P3] would be nice), file and
  line, what goes wrong and when. One short paragraph for each.
- Report nothing that the change did not bring. If there is nothing, say so in one sentence.
"""
_CUT = "The review did not come to an end."


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncommitted:
    """What is staged, not staged and untracked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstBranch:
    """What this branch has that the named one has not."""

    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCommit:
    """What one commit changed."""

    sha: str
    title: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InWords:
    """What the user says; the only target that is typed."""

    instructions: str


Target = Uncommitted | AgainstBranch | OfCommit | InWords


def review_input(target: Target) -> TurnInput:
    """The turn that reviews this."""
    match target:
        case Uncommitted():
            hint = "current changes"
            order = (
                "Review the current changes: staged, not staged and untracked files "
                "(`git status`, `git diff HEAD`)."
            )
        case AgainstBranch(branch=branch):
            hint, quoted = f"changes against '{branch}'", shlex.quote(branch)
            order = (
                f"Review what this branch changes against {quoted}: find where they part with "
                f"`git merge-base HEAD {quoted}` and read `git diff` from that commit on."
            )
        case OfCommit(sha=sha, title=title):
            hint = f"commit {sha[:7]}" + (f": {title}" if title else "")
            order = f"Review what this commit changes: `git show {shlex.quote(sha)}`."
        case InWords(instructions=instructions):
            hint = order = instructions
    return TurnInput(
        content=({"type": "text", "text": order},),
        review=ReviewOrder(hint=hint[:HINT_CHARACTERS_MAX], typed=isinstance(target, InWords)),
    )


def entered(order: ReviewOrder, turn_id: TurnId, clock: Clock) -> RecordedItem:
    """The item with which a review begins."""
    return _mark("enteredReviewMode", order.hint, turn_id, clock)


def exited(final: RecordedItem | None, turn_id: TurnId, clock: Clock) -> RecordedItem:
    """The item with which it ends: what the reviewer said last."""
    said = "" if final is None else str(final.body.get("text", ""))
    return _mark("exitedReviewMode", said or _CUT, turn_id, clock)


def _mark(
    type_: Literal["enteredReviewMode", "exitedReviewMode"],
    text: str,
    turn_id: TurnId,
    clock: Clock,
) -> RecordedItem:
    now_ms = clock.now_ms()
    return RecordedItem(
        item_id=uuid7(now_ms),
        turn_id=turn_id,
        type=type_,
        body={"review": text},
        started_at_ms=now_ms,
        completed_at_ms=now_ms,
    )
