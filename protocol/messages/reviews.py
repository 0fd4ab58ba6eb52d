"""Reviews: the agent looks over changes and says what it finds."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import RequestParams, WireModel
from protocol.messages.turns import Turn
from protocol.words import Word


class UncommittedChanges(RequestParams):
    """What is staged, not staged and untracked."""

    type: Literal["uncommittedChanges"]


class BaseBranch(RequestParams):
    """What a branch has that another one has not."""

    type: Literal["baseBranch"]
    branch: Word


class Commit(RequestParams):
    """What one commit changed."""

    type: Literal["commit"]
    sha: Word
    title: Word | None = None


class Custom(RequestParams):
    """What the user says in words."""

    type: Literal["custom"]
    instructions: str


ReviewTarget = Annotated[
    UncommittedChanges | BaseBranch | Commit | Custom, Field(discriminator="type")
]


class ReviewStartParams(RequestParams):
    """What to review, in which thread."""

    thread_id: str
    target: ReviewTarget
    delivery: Literal["inline"] | None = None
    """On the thread itself; for another one, start that and name it."""


class ReviewStartResult(WireModel):
    """The turn in which it happens."""

    turn: Turn
    review_thread_id: str
