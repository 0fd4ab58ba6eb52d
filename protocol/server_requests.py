"""What the server asks of clients: the other half of the one list.

Each request has a time and an answer that it counts as when nobody gives one, so that no turn
stands still for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocol.base import RequestParams, WireModel
from protocol.messages import approvals


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request that the server sends; without an answer in time it counts as the default."""

    name: str
    params: type[WireModel]
    answer: type[RequestParams]
    summary: str
    deadline_s: int | None
    default: Mapping[str, Any]
    experimental_fields: tuple[str, ...] = ()
    """Left out for a client that did not ask for what may still change."""


PERSON_DEADLINE_S = 3_600
"""How long a person may take; they may be at lunch, but no turn waits for ever."""
COMMAND_APPROVAL = ServerRequest(
    "item/commandExecution/requestApproval",
    params=approvals.CommandApprovalParams,
    answer=approvals.ApprovalAnswer,
    summary="May this command run?",
    deadline_s=PERSON_DEADLINE_S,
    default={"decision": "decline"},
    experimental_fields=("environmentId",),
)
FILE_CHANGE_APPROVAL = ServerRequest(
    "item/fileChange/requestApproval",
    params=approvals.FileChangeApprovalParams,
    answer=approvals.ApprovalAnswer,
    summary="May these files change?",
    deadline_s=PERSON_DEADLINE_S,
    default={"decision": "decline"},
)
PERMISSIONS_APPROVAL = ServerRequest(
    "item/permissions/requestApproval",
    params=approvals.PermissionsApprovalParams,
    answer=approvals.PermissionsAnswer,
    summary="May the agent have these further permissions?",
    deadline_s=PERSON_DEADLINE_S,
    default={"permissions": {}},
    experimental_fields=("environmentId",),
)
USER_INPUT = ServerRequest(
    "item/tool/requestUserInput",
    params=approvals.UserInputParams,
    answer=approvals.UserInputAnswer,
    summary="Questions of the agent to the user.",
    deadline_s=PERSON_DEADLINE_S,
    default={"answers": {}},
)
ELICITATION = ServerRequest(
    "mcpServer/elicitation/request",
    params=approvals.ElicitationParams,
    answer=approvals.ElicitationAnswer,
    summary="A question of an MCP server to the user.",
    deadline_s=PERSON_DEADLINE_S,
    default={"action": "cancel"},
)
CLIENT_TOOL_CALL = ServerRequest(
    "item/tool/call",
    params=approvals.ClientToolCallParams,
    answer=approvals.ClientToolAnswer,
    summary="Run a tool that the client offered when it began the thread.",
    deadline_s=300,
    default={"contentItems": [], "success": False},
)
SERVER_REQUESTS: tuple[ServerRequest, ...] = (
    COMMAND_APPROVAL,
    FILE_CHANGE_APPROVAL,
    PERMISSIONS_APPROVAL,
    USER_INPUT,
    ELICITATION,
    CLIENT_TOOL_CALL,
)
