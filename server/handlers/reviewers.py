"""Who answers approvals: a person, and every reply says so.

The original's automatic review is a model that allows or denies in a person's place. No client
needs it, and a promise of it that is not kept would be worse than none. A client that asks for it
of its own accord, as the adapter of editors does with one of its modes, is told in the reply, and
whoever asks what is demanded here sees it before: a terminal client that chose another reviewer
would take no input until it has one. In words only whoever wrote it into the configuration is,
since clients show warnings as answers.
"""

from protocol.messages.turns import ApprovalsReviewer

REVIEWER: ApprovalsReviewer = "user"
