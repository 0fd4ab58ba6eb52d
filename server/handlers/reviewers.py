"""Who answers approvals: a person. A client that asks for another reviewer is told so.

The original's automatic review is a model that allows or denies in a person's place. No client
needs it, and a promise of it that is not kept would be worse than none.
"""

from protocol.messages.turns import ApprovalsReviewer
from server.agent.live_thread import LiveThread
from server.wire.dispatch import Call

REVIEWER: ApprovalsReviewer = "user"
_NOT_BUILT = (
    "approvals are not reviewed automatically by memoryd: a person is asked, as with "
    'approvals_reviewer = "user"; choose the approval policy `never` for runs without anybody'
)


def tell_reviewer(call: Call, live: LiveThread, asked: ApprovalsReviewer | None) -> None:
    """Say once a thread, behind the reply, that a person is asked where another was wanted."""
    if asked is not None and asked != REVIEWER:
        call.after_reply(lambda: live.warn_once(_NOT_BUILT))
