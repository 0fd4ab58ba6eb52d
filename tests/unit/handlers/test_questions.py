"""Questions of the agent as requests of the wire, and answers of clients as its values."""

import asyncio
import json
from typing import Any

import orjson
import pytest
from jsonschema import Draft7Validator

from protocol.jsonrpc import Response
from server.agent.asking import ClientToolQuestion, NoAnswer, Question, Subject, UserQuestions
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
from server.handlers.questions import Questioner
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer
from state.ids import ThreadId, TurnId
from tests.support.clock import ManualClock
from tests.support.shared_data import needs_shared, shared

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


async def _put(
    subject: Subject, *, deadline_s: float | None = None
) -> tuple[Peer, dict[str, Any], asyncio.Task[Any], Any]:
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


async def _answered(subject: Subject, result: Any) -> Any:
    peer, request, answer, _ = await _put(subject)
    peer.answer(Response(id=request["id"], result=result, error=None))
    return await answer


@needs_shared
@pytest.mark.parametrize("subject", SUBJECTS)
async def test_each_question_fits_the_schema_of_the_original(subject: Subject) -> None:
    """Clients decode them with types made from it."""
    _, request, answer, pending = await _put(subject)
    schema = json.loads(shared("protocol", "ServerRequest.json").read_text("utf-8"))
    assert list(Draft7Validator(schema).iter_errors(request)) == []
    pending.settle()
    with pytest.raises(asyncio.CancelledError):
        await answer


@pytest.mark.parametrize(
    ("subject", "result", "value"),
    [
        (COMMAND, {"decision": "accept"}, Accepted()),
        (COMMAND, {"decision": "acceptForSession"}, Accepted(for_session=True)),
        (COMMAND, {"decision": "decline"}, Declined()),
        (COMMAND, {"decision": "cancel"}, Cancelled()),
        (
            COMMAND,
            {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["a", "b"]}}},
            Accepted(prefix_rule=("a", "b")),
        ),
        (
            COMMAND,
            {
                "decision": {
                    "applyNetworkPolicyAmendment": {
                        "network_policy_amendment": {"host": "x", "action": "deny"}
                    }
                }
            },
            Declined(),
        ),
        (FILES, {"decision": "acceptForSession", "more": 1}, Accepted(for_session=True)),
        (
            SUBJECTS[2],
            {"permissions": {"network": {}}, "scope": "session"},
            Permitted(permissions={"network": {}}, scope="session"),
        ),
        (SUBJECTS[3], {"answers": {"q": {"answers": ["A"]}}}, UserAnswers(answers={"q": ("A",)})),
        (
            FORM,
            {"action": "accept", "content": {"a": "x"}, "_meta": {"k": 1}},
            ElicitationAnswer(action="accept", content={"a": "x"}, meta={"k": 1}),
        ),
        (
            SUBJECTS[6],
            {"contentItems": [{"type": "inputText", "text": "x"}], "success": True},
            ClientToolAnswer(content_items=({"type": "inputText", "text": "x"},), success=True),
        ),
    ],
)
async def test_answers_of_clients_become_values(subject: Subject, result: Any, value: Any) -> None:
    """In every shape that the original takes."""
    assert await _answered(subject, result) == value


@pytest.mark.parametrize(
    ("subject", "result"),
    [
        (COMMAND, {"decision": "yes"}),
        (COMMAND, {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": []}}}),
        (COMMAND, {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": [1]}}}),
        (COMMAND, {"decision": {}}),
        (COMMAND, {"decision": None}),
        (COMMAND, ["accept"]),
        (COMMAND, "accept"),
        (FILES, {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["a"]}}}),
        (SUBJECTS[2], {"permissions": "all"}),
        (SUBJECTS[3], {"answers": ["A"]}),
        (FORM, {"action": "maybe"}),
        (SUBJECTS[6], {"success": True}),
    ],
)
async def test_what_cannot_be_read_is_never_a_yes(subject: Subject, result: Any) -> None:
    """It is the refusal of that client, with a reason."""
    answer = await _answered(subject, result)
    assert isinstance(answer, AskFailed) and answer.message


async def test_an_error_and_no_answer_are_told_apart() -> None:
    """The first fails, the second counts as the default."""
    peer, request, answer, _ = await _put(COMMAND)
    error = {"code": -32601, "message": "Method not found"}
    peer.answer(Response(id=request["id"], result=None, error=error))
    assert await answer == AskFailed(message="Method not found")
    _, _, answer, pending = await _put(COMMAND, deadline_s=0)
    assert await answer == NoAnswer(seconds=0)
    pending.settle()
    pending.settle()
