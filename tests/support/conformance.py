"""What our server sends beside the schemas that the original exports: what is claimed, what fits.

Call only where the recorded data lies beside the tree.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft7Validator

from protocol.methods import CLIENT_METHODS, NOTIFICATIONS
from protocol.server_requests import SERVER_REQUESTS
from server.agent.events import OutputDelta
from server.handlers.events import notification_of
from state.ids import ThreadId, TurnId
from tests.support.every_method import Session
from tests.support.shared_data import shared

RESULTS = {
    "initialize": None,
    "thread/start": "ThreadStartResponse",
    "thread/resume": "ThreadResumeResponse",
    "thread/list": "ThreadListResponse",
    "thread/loaded/list": "ThreadLoadedListResponse",
    "thread/read": "ThreadReadResponse",
    "thread/turns/list": "ThreadTurnsListResponse",
    "thread/items/list": "ThreadItemsListResponse",
    "thread/name/set": "ThreadSetNameResponse",
    "thread/delete": "ThreadDeleteResponse",
    "thread/unsubscribe": "ThreadUnsubscribeResponse",
    "thread/memoryMode/set": "ThreadMemoryModeSetResponse",
    "thread/memory/read": "ThreadMemoryReadResponse",
    "thread/fork": "ThreadForkResponse",
    "thread/archive": "ThreadArchiveResponse",
    "thread/unarchive": "ThreadUnarchiveResponse",
    "thread/search": "ThreadSearchResponse",
    "thread/revert": "ThreadRevertResponse",
    "thread/inject_items": "ThreadInjectItemsResponse",
    "thread/metadata/update": "ThreadMetadataUpdateResponse",
    "thread/settings/update": "ThreadSettingsUpdateResponse",
    "thread/compact/start": "ThreadCompactStartResponse",
    "review/start": "ReviewStartResponse",
    "thread/backgroundTerminals/list": "ThreadBackgroundTerminalsListResponse",
    "thread/backgroundTerminals/terminate": "ThreadBackgroundTerminalsTerminateResponse",
    "thread/backgroundTerminals/clean": "ThreadBackgroundTerminalsCleanResponse",
    "thread/shellCommand": "ThreadShellCommandResponse",
    "command/exec": "CommandExecResponse",
    "command/exec/write": "CommandExecWriteResponse",
    "command/exec/resize": "CommandExecResizeResponse",
    "command/exec/terminate": "CommandExecTerminateResponse",
    "thread/goal/get": "ThreadGoalGetResponse",
    "thread/goal/clear": "ThreadGoalClearResponse",
    "turn/steer": "TurnSteerResponse",
    "turn/start": "TurnStartResponse",
    "turn/interrupt": "TurnInterruptResponse",
    "memory/status": "MemoryStatusResponse",
    "memory/reset": "MemoryResetResponse",
    "model/list": "ModelListResponse",
    "config/read": "ConfigReadResponse",
    "configRequirements/read": "ConfigRequirementsReadResponse",
    "config/value/write": "ConfigWriteResponse",
    "config/batchWrite": "ConfigWriteResponse",
    "account/read": "GetAccountResponse",
    "account/rateLimits/read": "GetAccountRateLimitsResponse",
    "account/bedrock/checkGovCloudRequirements": "BedrockCheckGovCloudRequirementsResponse",
    "skills/list": "SkillsListResponse",
    "hooks/list": "HooksListResponse",
    "plugin/installed": "PluginInstalledResponse",
    "plugin/list": "PluginListResponse",
    "app/list": "AppsListResponse",
    "mcpServerStatus/list": "ListMcpServerStatusResponse",
    "collaborationMode/list": "CollaborationModeListResponse",
    "permissionProfile/list": "PermissionProfileListResponse",
    "experimentalFeature/list": "ExperimentalFeatureListResponse",
}
OURS = frozenset({"thread/import/progress", "memory/progress", "server/lagged"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One kind of message."""

    kind: str
    claimed: frozenset[str]
    """The methods of the original's that we send it for."""
    seen: frozenset[str]
    """Those of which one was checked at least."""
    messages: int
    faults: list[str]

    @property
    def validated(self) -> frozenset[str]:
        """Those that were seen and always fit."""
        return (self.claimed & self.seen) - {fault.partition(" ")[0] for fault in self.faults}


def checked_results(session: Session) -> Checked:
    """The results of requests; of `initialize` the original exports no schema."""
    definitions = _schema("codex_app_server_protocol.v2.schemas.json")["definitions"]
    named = {method: _result_schema(definitions, name) for method, name in RESULTS.items() if name}
    validators = {method: Draft7Validator(schema) for method, schema in named.items()}
    return Checked(
        kind="results",
        claimed=_names(_schema("ClientRequest.json")).intersection(
            method.name for method in CLIENT_METHODS if method.name != "initialize"
        ),
        seen=frozenset(method for method, _ in session.results),
        messages=len(session.results),
        faults=[
            fault
            for method, result in session.results
            if method in validators
            for fault in _faults(validators[method], method, result)
        ],
    )


def checked_notifications(session: Session) -> Checked:
    """Notifications, their envelopes included; our own, which no schema knows, are left out."""
    told = [*session.notifications, *_told_by_others()]
    frames = [frame for frame in told if frame["method"] not in OURS]
    return _checked("notifications", {one.name for one in NOTIFICATIONS} - OURS, frames)


def checked_requests(frames: Sequence[Mapping[str, Any]]) -> Checked:
    """Requests of the server, as clients got them."""
    return _checked("requests of the server", {one.name for one in SERVER_REQUESTS}, frames)


def names_of_notifications() -> frozenset[str]:
    """Those that the original knows."""
    return _names(_schema("ServerNotification.json"))


_FILES = {
    "notifications": "ServerNotification.json",
    "requests of the server": "ServerRequest.json",
}


def _checked(kind: str, claimed: set[str], frames: Sequence[Mapping[str, Any]]) -> Checked:
    validator = Draft7Validator(_schema(_FILES[kind]))
    return Checked(
        kind=kind,
        claimed=frozenset(claimed),
        seen=frozenset(frame["method"] for frame in frames),
        messages=len(frames),
        faults=[fault for frame in frames for fault in _faults(validator, frame["method"], frame)],
    )


def _told_by_others() -> list[dict[str, Any]]:
    """What needs a server beside ours to be told: made by what would make it."""
    event = OutputDelta(
        thread_id=ThreadId("t"),
        turn_id=TurnId("u"),
        item_id="i",
        item_type="mcpToolCall",
        delta="d",
    )
    made = notification_of(event, now_ms=1)
    assert made is not None
    return [{"method": made[0].name, "params": json.loads(made[1].to_json()), "emittedAtMs": 1}]


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(shared("protocol", name).read_text("utf-8"))
    return schema


def _result_schema(definitions: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**definitions[name], "definitions": definitions}


def _names(schema: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(one["properties"]["method"]["enum"][0] for one in schema["oneOf"])


def _faults(validator: Draft7Validator, method: str, value: object) -> list[str]:
    errors = validator.iter_errors(value)
    return [f"{method} {error.json_path}: {error.message[:200]}" for error in errors]
