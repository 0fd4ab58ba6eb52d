"""From the agent's questions to server requests, and from clients' answers to its values.

Invariant: an answer that cannot be read never lets a tool act.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, assert_never

from protocol import methods, server_requests
from protocol.base import WireModel
from protocol.decoding import decode
from protocol.errors import WireError
from protocol.messages import approvals
from protocol.server_requests import ServerRequest
from server.agent.asking import (
    Answer,
    ClientToolQuestion,
    NoAnswer,
    Question,
    Subject,
    UserQuestions,
)
from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    ClientToolAnswer,
    CommandQuestion,
    Decision,
    Declined,
    Elicitation,
    ElicitationAnswer,
    FileChangeQuestion,
    PermissionsQuestion,
    Permitted,
    UserAnswers,
)
from server.handlers.sizes import shortened
from server.wire.hub import Hub
from server.wire.questions import Answered, Expired, OpenQuestion, Refused, Unreadable

AnswerT = TypeVar("AnswerT", bound=WireModel)
PREFIX_WORDS_MAX = 64


class Questioner:
    """Asks the clients of a thread."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def ask(self, question: Question) -> "Pending":
        """Put it to all that listen to the thread."""
        request, params = _asked(question)
        opened: OpenQuestion[Answer] = self._hub.questions.put(
            request,
            params,
            thread_id=question.thread_id,
            read=lambda result: _read(request, question.subject, result),
        )
        return Pending(self._hub, opened)


class Pending:
    """A question that was put."""

    def __init__(self, hub: Hub, opened: OpenQuestion[Answer]) -> None:
        self._hub = hub
        self._opened = opened

    async def answer(self) -> Answer:
        """The first answer that can be read, the refusal of all, or that the time is over."""
        match await self._opened.outcome:
            case Answered(value):
                return value
            case Refused(message):
                return AskFailed(message=message)
            case Expired(seconds):
                return NoAnswer(seconds=seconds)

    def settle(self) -> None:
        """Take it away and tell all that listen; once."""
        if self._hub.questions.settle(self._opened):
            thread_id = self._opened.thread_id
            resolved = approvals.ServerRequestResolved(
                thread_id=thread_id, request_id=self._opened.number
            )
            self._hub.publish(methods.SERVER_REQUEST_RESOLVED, resolved, thread_id=thread_id)


def _asked(question: Question) -> tuple[ServerRequest, WireModel]:
    ids = {"thread_id": question.thread_id, "turn_id": question.turn_id}
    item: dict[str, Any] = {
        **ids,
        "item_id": question.item_id,
        "started_at_ms": question.started_at_ms,
    }
    match question.subject:
        case CommandQuestion() as command:
            return server_requests.COMMAND_APPROVAL, _command(item, command)
        case FileChangeQuestion() as change:
            return server_requests.FILE_CHANGE_APPROVAL, approvals.FileChangeApprovalParams(
                **item, reason=change.reason, grant_root=change.grant_root
            )
        case PermissionsQuestion() as wanted:
            return server_requests.PERMISSIONS_APPROVAL, approvals.PermissionsApprovalParams(
                **item,
                environment_id="local",
                cwd=wanted.cwd,
                reason=wanted.reason,
                permissions=dict(wanted.permissions),
            )
        case UserQuestions() as asked:
            return server_requests.USER_INPUT, _user_input(ids, question.item_id, asked)
        case Elicitation() as elicited:
            return server_requests.ELICITATION, _elicitation(ids, elicited)
        case ClientToolQuestion() as called:
            return server_requests.CLIENT_TOOL_CALL, approvals.ClientToolCallParams(
                **ids,
                call_id=question.item_id,
                namespace=called.namespace,
                tool=called.tool,
                arguments=called.arguments,
            )
        case _:
            assert_never(question.subject)


def _command(item: Mapping[str, Any], command: CommandQuestion) -> approvals.CommandApprovalParams:
    shown = shortened(
        {"command": command.command, "actions": [dict(one) for one in command.command_actions]}
    )
    prefix = None if command.proposed_prefix is None else list(command.proposed_prefix)
    decisions: list[str | dict[str, Any]] = ["accept"]
    if command.offers_session:
        decisions.append("acceptForSession")
    if prefix is not None:
        decisions.append({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": prefix}})
    return approvals.CommandApprovalParams(
        **item,
        environment_id="local",
        reason=command.reason,
        command=shown["command"],
        cwd=command.cwd,
        command_actions=shown["actions"],
        proposed_execpolicy_amendment=prefix,
        available_decisions=[*decisions, "cancel"],
    )


def _user_input(
    ids: Mapping[str, Any], item_id: str, asked: UserQuestions
) -> approvals.UserInputParams:
    return approvals.UserInputParams(
        **ids,
        item_id=item_id,
        questions=[
            approvals.UserInputQuestion(
                id=one.question_id,
                header=one.header,
                question=one.question,
                is_other=bool(one.options),
                options=[
                    approvals.UserInputOption(label=label, description=description)
                    for label, description in one.options
                ]
                or None,
            )
            for one in asked.questions
        ],
    )


def _elicitation(ids: Mapping[str, Any], elicited: Elicitation) -> approvals.ElicitationParams:
    request = elicited.request
    return approvals.ElicitationParams(
        **ids,
        server_name=elicited.server_name,
        mode="url" if request.get("mode") == "url" else "form",
        message=str(request.get("message", "")),
        requested_schema=request.get("requestedSchema"),
        url=request.get("url"),
        elicitation_id=request.get("elicitationId"),
        meta=request.get("_meta"),
    )


def _read(request: ServerRequest, subject: Subject, result: Any) -> Answer:
    """A client's result as the agent's value.

    Raises: Unreadable.
    """
    if not isinstance(result, Mapping):
        raise Unreadable("the answer does not fit the question: it must be an object")
    try:
        answer = decode(request.answer, result)
    except WireError as error:
        raise Unreadable(f"the answer does not fit the question: {error.message}") from None
    match answer:
        case approvals.ApprovalAnswer(decision=decision):
            return _decision(decision, of_command=isinstance(subject, CommandQuestion))
        case approvals.PermissionsAnswer(permissions=permissions, scope=scope):
            return Permitted(permissions=permissions, scope=scope or "turn")
        case approvals.UserInputAnswer(answers=answers):
            return UserAnswers(answers={key: tuple(one.answers) for key, one in answers.items()})
        case approvals.ElicitationAnswer(action=action, content=content, meta=meta):
            return ElicitationAnswer(action=action, content=content, meta=meta)
        case approvals.ClientToolAnswer(content_items=items, success=success):
            return ClientToolAnswer(content_items=tuple(items), success=success)
        case _:
            raise Unreadable("the answer does not fit the question")


def _decision(decision: str | Mapping[str, Any], *, of_command: bool) -> Decision:
    match decision:
        case "accept":
            return Accepted()
        case "acceptForSession":
            return Accepted(for_session=True)
        case "decline":
            return Declined()
        case "cancel":
            return Cancelled()
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(words)}} if of_command:
            if not 0 < len(words) <= PREFIX_WORDS_MAX or any(
                not isinstance(word, str) or not word for word in words
            ):
                raise Unreadable("execpolicy_amendment must be a list of words")
            return Accepted(prefix_rule=tuple(words))
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": action}}} if (
            of_command
        ):
            return Accepted() if action == "allow" else Declined()
        case _:
            raise Unreadable(f"unknown decision {str(decision)[:100]}")
