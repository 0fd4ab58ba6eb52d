"""Questions of the agent as requests of the wire, and answers of clients as its values."""

from typing import Any

import pytest

from protocol.jsonrpc import Response
from server.agent.asking import NoAnswer, Subject
from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    ClientToolAnswer,
    Declined,
    ElicitationAnswer,
    Permitted,
    UserAnswers,
)
from tests.support.questions import COMMAND, FILES, FORM, SUBJECTS, put


async def _answered(subject: Subject, result: Any) -> Any:
    peer, request, answer, _ = await put(subject)
    peer.answer(Response(id=request["id"], result=result, error=None))
    return await answer


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
    peer, request, answer, _ = await put(COMMAND)
    error = {"code": -32601, "message": "Method not found"}
    peer.answer(Response(id=request["id"], result=None, error=error))
    assert await answer == AskFailed(message="Method not found")
    _, _, answer, pending = await put(COMMAND, deadline_s=0)
    assert await answer == NoAnswer(seconds=0)
    pending.settle()
    pending.settle()
