"""Every kind of question that nobody answers or knows: the turn goes on, and all hear why."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from server.agent.tools.stage import PermissionsQuestion, Stage, ToolCall, ToolResult
from server.wire.limits import WireLimits
from tests.support.homes import provider_config, serving
from tests.support.methods import started
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import KINDS, Kind, WireClient

PATCH = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch"
WANTED = {"cmd": "touch made.txt", "sandbox_permissions": "require_escalated"}
ASKS = {
    "id": "colour",
    "header": "Colour",
    "question": "Which?",
    "options": [{"label": "Blue", "description": "calm"}],
}
LOOKUP = {
    "type": "function",
    "name": "lookup",
    "description": "Looks up.",
    "inputSchema": {"type": "object", "properties": {}},
}


class Widen:
    """Asks for permissions, as a tool may; none of ours does by itself."""

    name = "widen"
    is_parallel = False
    seconds_max = None
    definition: ClassVar[Mapping[str, Any]] = {
        "type": "function",
        "name": name,
        "parameters": {"type": "object", "properties": {}},
    }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Tell what was granted."""
        wanted = PermissionsQuestion(
            cwd=stage.settings.cwd, permissions={"network": {"enabled": True}}
        )
        granted = await stage.ask_permissions(wanted)
        return ToolResult(content=f"granted: {json.dumps(granted.permissions)}")


SHOP = Path(__file__).resolve().parents[1] / "support" / "plain_mcp_server.py"
QUESTIONS: Mapping[str, Call] = {
    "item/commandExecution/requestApproval": Call(name="exec_command", arguments=WANTED),
    "item/fileChange/requestApproval": Call(name="apply_patch", arguments=PATCH, custom=True),
    "item/tool/requestUserInput": Call(name="request_user_input", arguments={"questions": [ASKS]}),
    "item/tool/call": Call(name="lookup", arguments={}),
    "item/permissions/requestApproval": Call(name="widen", arguments={}),
    "mcpServer/elicitation/request": Call(
        name="wipe", namespace="mcp__shop", arguments={"path": "/"}
    ),
}
"""What the model calls for each of them."""
TOLD = {
    "item/commandExecution/requestApproval": "exec_command failed",
    "item/fileChange/requestApproval": "the patch may be applied",
    "item/tool/requestUserInput": "the user gave no answer",
    "item/tool/call": "the client",
    "item/permissions/requestApproval": "granted: {}",
    "mcpServer/elicitation/request": "the user did not allow the tool wipe",
}
"""What the model hears of it."""
ITEMS = {"exec_command": "commandExecution", "apply_patch": "fileChange", "wipe": "mcpToolCall"}


@asynccontextmanager
async def _asked(
    method: str, kind: Kind, folder: Path, deadline_s: float | None
) -> AsyncIterator[tuple[WireClient, ResponsesServer, dict[str, Any]]]:
    """A turn that has come to ask a client, and the question."""
    project = folder / "project"
    project.mkdir()
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        if method.startswith("mcpServer"):
            pytest.importorskip("mcp.client.client", reason="the extra `mcp` is not installed")
            command, file = json.dumps(sys.executable), json.dumps(str(SHOP))
            config += f"\n[mcp_servers.shop]\ncommand = {command}\nargs = [{file}]\n"
        limits = WireLimits(question_deadline_s_max=deadline_s)
        async with (
            serving(folder, config=config, wire_limits=limits, tools=(Widen(),)) as home,
            home.wire.client(kind) as client,
        ):
            given = {"cwd": str(project), "sandbox": "read-only", "approvalPolicy": "on-request"}
            thread = await started(client, dynamicTools=[LOOKUP], **given)
            await home.server.services.providers.get("mock").warm()
            model.script(calls(QUESTIONS[method]), says("on we go"))
            words = [{"type": "text", "text": "go"}]
            await client.request("turn/start", {"threadId": thread, "input": words})
            yield client, model, await client.server_request(method)
            assert list(project.iterdir()) == [], "what was asked about was done"


async def _went_on(client: WireClient, model: ResponsesServer, method: str, why: str) -> None:
    """The turn ended well, the question is over, clients and the model were told why."""
    warning = (await client.notification("warning"))["message"]
    assert why in warning and "counts as declined" in warning
    assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
    assert len(client.notifications("serverRequest/resolved")) == 1
    output = json.dumps(model.requests[-1].body["input"][-1]["output"])
    ended = [one["params"]["item"] for one in client.notifications("item/completed")]
    wanted = ITEMS.get(QUESTIONS[method].name)
    shown = [one["status"] for one in ended if one["type"] == wanted]
    assert shown in ([], ["declined"], ["failed"]) and bool(shown) == (wanted is not None)
    assert TOLD[method] in output


@pytest.mark.requirement("FR-T8")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_question_that_nobody_answers_ends_by_its_time(
    method: str, kind: Kind, tmp_path: Path
) -> None:
    """Each kind counts as declined then; a client that ignores it stalls nobody."""
    async with _asked(method, kind, tmp_path, 0.05) as (client, model, _):
        await _went_on(client, model, method, "nobody answered")


@pytest.mark.requirement("FR-T8")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_question_that_a_client_does_not_know_ends_at_once(
    method: str, kind: Kind, tmp_path: Path
) -> None:
    """Method not found, from the only client there is, and without a deadline near."""
    async with _asked(method, kind, tmp_path, None) as (client, model, question):
        error = {"code": -32601, "message": "method not found"}
        await client.link.send(orjson.dumps({"id": question["id"], "error": error}))
        await _went_on(client, model, method, "method not found")
