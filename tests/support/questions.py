"""Questions of the agent of every kind, and how they come to a client."""

import asyncio
from typing import Any

import orjson

from server.agent.asking import ClientToolQuestion, Question, Subject, UserQuestions
from server.agent.tools.stage import (
    CommandQuestion,
    Elicitation,
    FileChangeQuestion,
    PermissionsQuestion,
    UserQuestion,
)
from server.handlers.questions import Questioner
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer
from state.ids import ThreadId, TurnId
from tests.support.clock import ManualClock

COMMAND = CommandQuestion(
    command="/bin/bash -lc 'touch a'",
    cwd="/p",
    command_actions=[{"type": "unknown", "command": "touch a"}],
    reason="why",
    proposed_prefix=("touch",),
    offers_session=True,
)
FILES = FileChangeQuestion(reason="why", grant_root="/p")
ASKED = UserQuestion(question_id="q", header="h", question="?", options=(("A", "first"),))
FORM = Elicitation(
    server_name="s",
    request={
        "mode": "form",
        "message": "m",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
)
URL = Elicitation(
    server_name="s",
    request={"mode": "url", "message": "m", "url": "https://x", "elicitationId": "e"},
)
SUBJECTS: tuple[Subject, ...] = (
    COMMAND,
    FILES,
    PermissionsQuestion(cwd="/p", permissions={"network": {"enabled": True}}),
    UserQuestions(questions=(ASKED,)),
    FORM,
    URL,
    ClientToolQuestion(tool="t", namespace=None, arguments={"a": 1}),
)
"""Each kind of question with all its parts."""


async def put(
    subject: Subject, *, deadline_s: float | None = None
) -> tuple[Peer, dict[str, Any], asyncio.Task[Any], Any]:
    """Ask one of the only client: it, the request that it got, the answer to come, the question."""
    hub = Hub(ManualClock(), WireLimits(question_deadline_s_max=deadline_s))
    peer = hub.attach("pair")
    peer.introduce(Introduction(name="n", version="1", experimental=True))
    peer.initialized = True
    hub.subscribe(peer, ThreadId("t"))
    pending = Questioner(hub).ask(
        Question(
            thread_id=ThreadId("t"),
            turn_id=TurnId("u"),
            item_id="i",
            started_at_ms=5,
            subject=subject,
        )
    )
    [frame] = await peer.take()
    return peer, orjson.loads(frame), asyncio.create_task(pending.answer()), pending


async def asked(subject: Subject) -> dict[str, Any]:
    """The request that a client gets; the question is taken back."""
    _, request, answer, pending = await put(subject)
    pending.settle()
    answer.cancel()
    await asyncio.wait({answer})
    return request
