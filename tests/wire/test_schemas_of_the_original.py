"""What our server sends fits the schemas that the original exports.

Every result and notification of a session that uses all methods is checked, and every model with
all its optional parts filled is too.

Longer than the habit: the table of all methods, and one session that uses each of them.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from protocol.methods import CLIENT_METHODS, NOTIFICATIONS
from server.agent.events import OutputDelta
from server.assembly import Choices, Server, start_server
from server.handlers.events import notification_of
from server.settings import load_settings
from state.home import Home
from state.ids import ThreadId, TurnId
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, calls, says
from tests.support.shared_data import SHARED, needs_shared, shared

pytestmark = needs_shared

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


def _definitions() -> dict[str, Any]:
    path = shared("protocol", "codex_app_server_protocol.v2.schemas.json")
    definitions: dict[str, Any] = json.loads(path.read_text("utf-8"))["definitions"]
    return definitions


def _notification_validator() -> Draft7Validator:
    schema = json.loads(shared("protocol", "ServerNotification.json").read_text("utf-8"))
    return Draft7Validator(schema)


def _faults(validator: Draft7Validator, value: object) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]


PATCH = "*** Begin Patch\n*** Add File: made.txt\n+one\n+two\n*** End Patch"
LIMITS = {"x-codex-primary-used-percent": "12", "x-codex-primary-window-minutes": "300"}
SHOWING = {"cmd": "touch shown; echo told", "login": False, "yield_time_ms": 30_000}
ACTIONS: dict[str, Reply] = {
    "think": says("thought", reasoning="of this and that", headers=LIMITS),
    "run": calls(
        Call(
            name="exec_command",
            arguments={"cmd": "cat", "login": False, "tty": True, "yield_time_ms": 250},
        )
    ),
    "show": calls(Call(name="exec_command", arguments=SHOWING)),
    "edit": calls(Call(name="apply_patch", arguments=PATCH, custom=True, piece_characters=8)),
    "plan": calls(
        Call(name="update_plan", arguments={"plan": [{"step": "one", "status": "pending"}]})
    ),
}


def _acts(request: Recorded) -> Reply | None:
    """A model that does what it is told in one word; a number is the process it writes to."""
    if request.structured or request.body["input"][-1].get("type") != "message":
        return None
    word, _, number = request.user_texts[-1].partition(" ")
    if word == "type":
        given = {"session_id": int(number), "chars": "x\n", "yield_time_ms": 250}
        return calls(Call(name="write_stdin", arguments=given))
    return ACTIONS.get(word)


class _Session:
    """A client that keeps every frame, and accepts what it is asked."""

    def __init__(self, server: Server) -> None:
        self._client = server.attach()
        self._number = 0
        self.results: list[tuple[str, Any]] = []
        self.notifications: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self._early: dict[int, dict[str, Any]] = {}

    async def call(self, method: str, **params: Any) -> Any:
        """A request that must succeed."""
        return await self.finished(method, await self.begun(method, **params))

    async def begun(self, method: str, **params: Any) -> int:
        """Send a request; its number."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": params}
        await self._client.send(json.dumps(request).encode())
        return self._number

    async def finished(self, method: str, number: int) -> Any:
        """The result of a request that was sent."""
        while True:
            frame = self._early.pop(number, None) or await self._next()
            if "method" in frame:
                continue
            if frame["id"] != number:
                self._early[frame["id"]] = frame
            else:
                assert "result" in frame, frame
                self.results.append((method, frame["result"]))
                return frame["result"]

    async def until(self, method: str) -> None:
        """Wait for a notification that has not come yet."""
        seen = len(self.notifications)
        while all(frame["method"] != method for frame in self.notifications[seen:]):
            await self._next()

    async def _next(self) -> dict[str, Any]:
        raw = await self._client.receive()
        assert raw is not None
        frame: dict[str, Any] = json.loads(raw)
        if "method" in frame and "id" in frame:
            self.requests.append(frame)
            answer = {"id": frame["id"], "result": {"decision": "accept"}}
            await self._client.send(json.dumps(answer).encode())
        elif "method" in frame:
            self.notifications.append(frame)
        return frame

    async def close(self) -> None:
        """Leave."""
        await self._client.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Our server over the scripted model."""
    home = Home(tmp_path / "home")
    home.root.mkdir()
    async with ResponsesServer() as model:
        home.config.write_text(
            'model_provider = "mock"\nmodel = "mock-model"\n[mcp_servers.none]\nurl = "ftp://host"\n'
            f"[model_providers.mock]\nbase_url = {json.dumps(model.base_url)}\n",
            "utf-8",
        )
        model.choose = _acts
        server = await start_server(load_settings(home), Choices(learning=False))
        try:
            yield server
        finally:
            await server.stop(0)


async def _use_everything(session: _Session, server: Server) -> None:
    """Each method of the original's at least once."""
    capabilities = {"experimentalApi": True}
    info = {"name": "schemas", "version": "1"}
    await session.call("initialize", clientInfo=info, capabilities=capabilities)
    await session.until("configWarning")
    await _act(session, server)
    started = await session.call(
        "thread/start", cwd="/home/user/project", sandbox="workspace-write"
    )
    thread = started["thread"]["id"]
    text = {"type": "text", "text": "hello"}
    for words in ("hello", "fail with an error"):
        text["text"] = words
        await session.call("turn/start", threadId=thread, input=[text], effort="high")
        await session.until("turn/completed")
    text["text"] = "speak slowly " * 20
    turn = await session.call("turn/start", threadId=thread, input=[text])
    await session.until("item/agentMessage/delta")
    steered = {"expectedTurnId": turn["turn"]["id"], "input": [text]}
    await session.call("turn/steer", threadId=thread, **steered)
    await session.call("turn/interrupt", threadId=thread, turnId=turn["turn"]["id"])
    await session.until("turn/completed")
    page = {"limit": 1, "itemsView": "full"}
    await session.call("thread/resume", threadId=thread, initialTurnsPage=page)
    await session.call("thread/list")
    await session.call("thread/loaded/list")
    await session.call("thread/read", threadId=thread, includeTurns=True)
    await session.call("thread/turns/list", threadId=thread, limit=1)
    await session.call("thread/items/list", threadId=thread, limit=2)
    await session.call("thread/name/set", threadId=thread, name="a name")
    await session.call("thread/memoryMode/set", threadId=thread, mode="disabled")
    await session.call("thread/memory/read", threadId=thread)
    await session.call("memory/status")
    await session.call("memory/reset")
    await session.call("model/list")
    await session.call("config/read", includeLayers=True)
    await session.call("configRequirements/read")
    await session.call("account/read")
    await _change_threads(session, thread)
    await _list_the_rest(session)
    await _run_a_command(session)
    await session.call("thread/unsubscribe", threadId=thread)
    await session.call("thread/delete", threadId=thread)
    await session.call("thread/list")


async def _act(session: _Session, server: Server) -> None:
    """What an agent does: think, run, write to what runs, edit and plan; all of it is told.

    Its project's instruction file is not all text, which is what a person is warned of.
    """
    project = server.services.state.home.root.parent
    (project / "AGENTS.md").write_bytes(b"Be brief.\xff\n")
    thread = (
        await session.call(
            "thread/start",
            cwd=str(project),
            sandbox="danger-full-access",
            approvalPolicy="untrusted",
        )
    )["thread"]["id"]

    async def say(words: str) -> None:
        text = {"type": "text", "text": words}
        await session.call("turn/start", threadId=thread, input=[text])
        await session.until("turn/completed")

    for word in ("think", "run", "show", "edit", "plan"):
        await say(word)
    listed = await session.call("thread/backgroundTerminals/list", threadId=thread)
    await say(f"type {listed['data'][0]['processId']}")
    await session.call("account/rateLimits/read")
    await server.services.live.unload(thread)
    await session.until("thread/closed")


async def _change_threads(session: _Session, thread: str) -> None:
    """Forks, the archive, compaction and what is noted."""
    await session.call("thread/settings/update", threadId=thread, effort="low")
    await session.call("thread/metadata/update", threadId=thread, gitInfo={"branch": "main"})
    content = [{"type": "input_text", "text": "injected"}]
    item = {"type": "message", "role": "user", "content": content}
    await session.call("thread/inject_items", threadId=thread, items=[item])
    await session.call("thread/compact/start", threadId=thread)
    await session.until("turn/completed")
    await session.call("thread/search", searchTerm="hello")
    await session.call("thread/backgroundTerminals/list", threadId=thread)
    await session.call("thread/backgroundTerminals/terminate", threadId=thread, processId="0")
    await session.call("thread/backgroundTerminals/clean", threadId=thread)
    await session.call("thread/shellCommand", threadId=thread, command="true")
    await session.until("turn/completed")
    await session.call("thread/goal/get", threadId=thread)
    await session.call("thread/goal/clear", threadId=thread)
    forked = (await session.call("thread/fork", threadId=thread))["thread"]
    last = forked["turns"][-1]["id"]
    await session.call("thread/revert", threadId=forked["id"], beforeTurnId=last)
    await session.until("thread/reverted")
    await session.call("thread/archive", threadId=forked["id"])
    await session.call("thread/unarchive", threadId=forked["id"])
    await session.until("thread/unarchived")


async def _run_a_command(session: _Session) -> None:
    """One that reads, in a terminal, until it is ended."""
    running = await session.begun(
        "command/exec",
        command=["cat"],
        cwd="/",
        processId="one",
        tty=True,
        size={"rows": 24, "cols": 80},
        streamStdin=True,
        streamStdoutStderr=True,
        sandboxPolicy={"type": "dangerFullAccess"},
    )
    await session.call("command/exec/write", processId="one", deltaBase64="aGkK")
    await session.call("command/exec/resize", processId="one", size={"rows": 30, "cols": 100})
    await session.call("command/exec/terminate", processId="one")
    await session.finished("command/exec", running)


async def _list_the_rest(session: _Session) -> None:
    """What clients list, and the writing of the configuration."""
    for method in (
        "skills/list",
        "hooks/list",
        "plugin/installed",
        "plugin/list",
        "app/list",
        "mcpServerStatus/list",
        "collaborationMode/list",
        "permissionProfile/list",
        "experimentalFeature/list",
        "account/bedrock/checkGovCloudRequirements",
    ):
        await session.call(method)
    edit = {"keyPath": "model", "value": "other", "mergeStrategy": "replace"}
    await session.call("config/value/write", **edit)
    await session.call("config/batchWrite", edits=[edit])


async def test_every_result_fits_the_schema_of_its_method(server: Server) -> None:
    """With the definitions that the original exports."""
    session = _Session(server)
    await _use_everything(session, server)
    await session.close()
    definitions = _definitions()
    requests = json.loads(shared("protocol", "ClientRequest.json").read_text("utf-8"))
    theirs = {one["properties"]["method"]["enum"][0] for one in requests["oneOf"]}
    claimed = {method.name for method in CLIENT_METHODS} & theirs
    assert claimed == set(RESULTS)
    assert {method for method, _ in session.results} == set(RESULTS)
    print(f"{len(RESULTS)} of {len(claimed)} claimed methods validated")
    for method, result in session.results:
        if (name := RESULTS[method]) is not None:
            schema = {**definitions[name], "definitions": definitions}
            assert _faults(Draft7Validator(schema), result) == [], method


async def test_every_notification_fits_its_schema(server: Server) -> None:
    """Envelope and parameters."""
    session = _Session(server)
    await _use_everything(session, server)
    await session.close()
    validator = _notification_validator()
    told = [*session.notifications, *_told_by_others()]
    claimed = {one.name for one in NOTIFICATIONS} - OURS
    seen = {frame["method"] for frame in told}
    assert claimed - seen == set()
    print(f"{len(claimed & seen)} of {len(claimed)} claimed notifications validated")
    for frame in told:
        if frame["method"] not in OURS:
            assert _faults(validator, frame) == [], frame["method"]


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


async def test_every_request_of_the_server_fits_its_schema(server: Server) -> None:
    """Those of this session; each kind with all its parts is checked where questions are made."""
    session = _Session(server)
    await _use_everything(session, server)
    await session.close()
    schema = json.loads(shared("protocol", "ServerRequest.json").read_text("utf-8"))
    asked = {frame["method"] for frame in session.requests}
    assert asked == {"item/commandExecution/requestApproval", "item/fileChange/requestApproval"}
    for frame in session.requests:
        assert _faults(Draft7Validator(schema), frame) == [], frame["method"]


async def test_no_frame_of_that_session_is_longer_than_clients_can_read(server: Server) -> None:
    """Three clients of the field break for good above 64 KiB."""
    session = _Session(server)
    await _use_everything(session, server)
    await session.close()
    for frame in (*session.notifications, *(result for _, result in session.results)):
        assert len(json.dumps(frame)) < 64 * 1024


def test_all_names_of_notifications_are_the_originals_or_known_to_be_ours() -> None:
    """No name is mistyped."""
    assert SHARED is not None
    schema = json.loads(shared("protocol", "ServerNotification.json").read_text("utf-8"))
    theirs = {one["properties"]["method"]["enum"][0] for one in schema["oneOf"]}
    assert {one.name for one in NOTIFICATIONS} - theirs == OURS
