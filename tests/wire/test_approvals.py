"""Questions of the server: who gets them, who may answer, and what becomes of them."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.wire.limits import WireLimits
from tests.support.acting_tools import PretendedCommand
from tests.support.homes import Serving, provider_config, serving
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import KINDS, Kind, WireClient

ASKED = {"cmd": "touch a && echo ran", "sandbox_permissions": "require_escalated"}
COMMAND = "item/commandExecution/requestApproval"


@dataclass(frozen=True, slots=True)
class _Scene:
    home: Serving
    model: ResponsesServer
    tool: PretendedCommand

    async def asks(self, client: WireClient, thread_id: str | None = None) -> tuple[str, str]:
        """A turn that comes to ask about a command; thread and turn."""
        if thread_id is None:
            thread_id = await self.thread(client)
        self.model.script(calls(Call(name="exec_command", arguments=ASKED)), says("done"))
        given = {"threadId": thread_id, "input": [{"type": "text", "text": "go"}]}
        turn = (await client.request("turn/start", given))["turn"]
        return thread_id, str(turn["id"])

    async def thread(self, client: WireClient, **more: Any) -> str:
        """A thread that may only read and may ask."""
        given = {"cwd": str(self.home.home.root), "sandbox": "read-only", **more}
        started = await client.request("thread/start", {"approvalPolicy": "on-request", **given})
        return str(started["thread"]["id"])

    def told_the_model(self) -> str:
        """The output of the last call, as the model saw it."""
        output: str = self.model.requests[-1].body["input"][-1]["output"]
        return output


@asynccontextmanager
async def _scene(folder: Path, **limits: Any) -> AsyncIterator[_Scene]:
    tool = PretendedCommand()
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        bounds = WireLimits(**limits)
        async with serving(folder, config=config, wire_limits=bounds, tools=[tool]) as home:
            # Its client library loads once in a process, which no test is to wait for.
            await home.server.services.providers.get("mock").warm()
            yield _Scene(home, model, tool)


async def _refuse(client: WireClient, request_id: int, code: int = -32601) -> None:
    error = {"code": code, "message": "Method not found"}
    await client.link.send(orjson.dumps({"id": request_id, "error": error}))


async def _item(client: WireClient) -> dict[str, Any]:
    while True:
        item: dict[str, Any] = (await client.notification("item/completed"))["item"]
        if item["type"] == "commandExecution":
            return item


@pytest.mark.requirement("FR-T7")
@pytest.mark.parametrize("kind", KINDS)
async def test_an_asker_drops_and_another_answers_under_the_same_id(
    kind: Kind, tmp_path: Path
) -> None:
    """Nothing is lost with a connection; the other hears what was resolved, and that it is late."""
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as other:
        async with scene.home.wire.client(kind) as asker:
            thread_id, _ = await scene.asks(asker)
            first = await asker.server_request(COMMAND)
        async with scene.home.wire.client(kind) as second:
            for client in (second, other):
                await client.request("thread/resume", {"threadId": thread_id})
            again = await second.server_request(COMMAND)
            assert again == first == await other.server_request(COMMAND)
            await second.answer(again["id"], {"decision": "accept"})
            for client in (second, other):
                resolved = await client.notification("serverRequest/resolved")
                assert resolved == {"threadId": thread_id, "requestId": first["id"]}
            await other.answer(again["id"], {"decision": "decline"})
            late = await other.notification("warning")
            assert late["threadId"] == thread_id
            assert f"the answer to request {first['id']} came too late" in late["message"]
            turn = (await other.notification("turn/completed"))["turn"]
            assert turn["status"] == "completed"
            assert (await _item(second))["status"] == "completed"
            assert scene.tool.ran == [ASKED["cmd"]]
            assert await other.request("thread/loaded/list", {}) is not None
            for client in (second, other):  # told once, and nobody else hears of it
                assert client.notifications("warning") == []


@pytest.mark.requirement("FR-T7")
@pytest.mark.parametrize("kind", KINDS)
async def test_of_two_answers_at_once_the_first_counts(kind: Kind, tmp_path: Path) -> None:
    """The decision is one, whoever was faster, and it is resolved once."""
    async with (
        _scene(tmp_path) as scene,
        scene.home.wire.client(kind) as one,
        scene.home.wire.client(kind) as two,
    ):
        thread_id = await scene.thread(one)
        scene.model.script(says("hello"))
        given = {"threadId": thread_id, "input": [{"type": "text", "text": "hi"}]}
        await one.request("turn/start", given)
        await one.notification("turn/completed")
        await two.request("thread/resume", {"threadId": thread_id})
        for _ in range(20):
            await scene.asks(one, thread_id)
            number = (await one.server_request(COMMAND))["id"]
            assert (await two.server_request(COMMAND))["id"] == number
            await asyncio.gather(
                one.answer(number, {"decision": "accept"}),
                two.answer(number, {"decision": "decline"}),
            )
            items = await _item(one), await _item(two)
            assert items[0] == items[1] and items[0]["status"] in ("completed", "declined")
            for client in (one, two):
                await client.notification("turn/completed")
                assert len(client.notifications("serverRequest/resolved")) == 1
                await client.notification("serverRequest/resolved")
            for client in (one, two):  # a reply comes behind whatever was said to an answer
                await client.request("thread/loaded/list", {})
            late = [len(client.notifications("warning")) for client in (one, two)]
            assert sum(late) == number + 1, "of two answers one was late"


@pytest.mark.requirement("FR-T8")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_question_that_nobody_answers_counts_as_declined_in_time(
    kind: Kind, tmp_path: Path
) -> None:
    """The turn goes on, the clients are told why, and so is the model."""
    async with (
        _scene(tmp_path, question_deadline_s_max=0.05) as scene,
        scene.home.wire.client(kind) as client,
    ):
        await scene.asks(client)
        request = await client.server_request(COMMAND)
        resolved = await client.notification("serverRequest/resolved")
        assert resolved["requestId"] == request["id"]
        assert "nobody answered" in (await client.notification("warning"))["message"]
        assert (await _item(client))["status"] == "declined"
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert "rejected" in scene.told_the_model() and scene.tool.ran == []


@pytest.mark.requirement("FR-T8")
@pytest.mark.parametrize("result", ["error", {"decision": "perhaps"}, {"decision": 5}, {}, None])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_that_is_none_fails_the_item_and_not_the_turn(
    kind: Kind, result: Any, tmp_path: Path
) -> None:
    """Method not found, or something that we cannot read: never an approval."""
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as client:
        await scene.asks(client)
        number = (await client.server_request(COMMAND))["id"]
        if result == "error":
            await _refuse(client, number)
        else:
            await client.answer(number, result)
        assert (await _item(client))["status"] == "failed"
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert "approval request failed" in scene.told_the_model() and scene.tool.ran == []


@pytest.mark.requirement("FR-T8")
@pytest.mark.parametrize("kind", KINDS)
async def test_an_error_of_one_client_leaves_the_answer_to_the_others(
    kind: Kind, tmp_path: Path
) -> None:
    """A script that knows no approvals must not decide for the person at the editor."""
    async with (
        _scene(tmp_path) as scene,
        scene.home.wire.client(kind) as person,
        scene.home.wire.client(kind) as script,
    ):
        thread_id, _ = await scene.asks(person)
        number = (await person.server_request(COMMAND))["id"]
        await script.request("thread/resume", {"threadId": thread_id})
        await script.server_request(COMMAND)
        await _refuse(script, number)
        await script.request("thread/loaded/list", {})
        assert person.notifications("serverRequest/resolved") == []
        await person.answer(number, {"decision": "accept"})
        assert (await _item(person))["status"] == "completed"


@pytest.mark.requirement("FR-T7")
@pytest.mark.parametrize("kind", KINDS)
async def test_an_interrupt_takes_the_question_back(kind: Kind, tmp_path: Path) -> None:
    """Resolved for all, told after the turn's end; a later answer does nothing."""
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as client:
        thread_id, turn_id = await scene.asks(client)
        number = (await client.server_request(COMMAND))["id"]
        await client.request("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
        assert (await client.notification("turn/completed"))["turn"]["status"] == "interrupted"
        await client.notification("serverRequest/resolved")
        await client.answer(number, {"decision": "accept"})
        read = await client.request("thread/read", {"threadId": thread_id, "includeTurns": True})
        assert read["thread"]["status"] == {"type": "idle"}
        items = {one["type"]: one for one in read["thread"]["turns"][0]["items"]}
        assert items["commandExecution"]["status"] == "declined" and scene.tool.ran == []
        scene.model.script(says("fine"))
        given = {"threadId": thread_id, "input": [{"type": "text", "text": "next"}]}
        await client.request("turn/start", given)
        await client.notification("turn/completed")
        asked = scene.model.requests[-1].body["input"]
        outputs = [one["output"] for one in asked if one["type"] == "function_call_output"]
        assert outputs == ["aborted"]


async def test_what_is_granted_for_the_session_is_not_asked_again(tmp_path: Path) -> None:
    """The same command, in this thread only."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        thread_id, _ = await scene.asks(client)
        number = (await client.server_request(COMMAND))["id"]
        await client.answer(number, {"decision": "acceptForSession"})
        await client.notification("turn/completed")
        await scene.asks(client, thread_id)
        await client.notification("turn/completed")
        assert len(scene.tool.ran) == 2
        await scene.asks(client)  # another thread
        await client.server_request(COMMAND)


async def test_a_rule_that_is_saved_with_the_answer_holds_after_a_restart(tmp_path: Path) -> None:
    """A private file in the home, in the syntax of the original."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        await scene.asks(client)
        request = await client.server_request(COMMAND)
        amendment = request["params"]["proposedExecpolicyAmendment"]
        assert amendment == ["touch", "a"]
        decision = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}}
        assert decision in request["params"]["availableDecisions"]
        await client.answer(request["id"], {"decision": decision})
        await client.notification("turn/completed")
        file = scene.home.home.root / "rules" / "default.rules"
        assert file.read_text() == 'prefix_rule(pattern=["touch", "a"], decision="allow")\n'
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        thread_id = await scene.thread(client)
        with (tmp_path / "home" / "rules" / "default.rules").open("a") as more:
            more.write('prefix_rule(pattern=["echo"], decision="allow")\n')
        await scene.asks(client, thread_id)
        await client.notification("turn/completed")
        assert scene.tool.ran == [ASKED["cmd"]]


@pytest.mark.parametrize("policy", ["never", "granular"])
async def test_a_policy_that_forbids_asking_refuses(policy: str, tmp_path: Path) -> None:
    """Nobody is bothered, nothing runs, and the model is told why."""
    granular = {"granular": {"sandbox_approval": False, "rules": True, "mcp_elicitations": True}}
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        value = granular if policy == "granular" else policy
        thread_id = await scene.thread(client, approvalPolicy=value)
        await scene.asks(client, thread_id)
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert "lets nobody be asked" in scene.told_the_model() and scene.tool.ran == []


async def test_a_client_that_cannot_take_new_fields_gets_the_question_without_them(
    tmp_path: Path,
) -> None:
    """As in the original, what may still change is left out for it."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as new:
        async with scene.home.wire.client("pair", experimental=False) as old:
            thread_id, _ = await scene.asks(old)
            params = (await old.server_request(COMMAND))["params"]
            assert "environmentId" not in params and params["command"]
        await new.request("thread/resume", {"threadId": thread_id})
        assert (await new.server_request(COMMAND))["params"]["environmentId"] == "local"


@pytest.mark.parametrize("kind", KINDS)
async def test_questions_to_the_user_come_back_to_the_model(kind: Kind, tmp_path: Path) -> None:
    """With the flag that says what the thread waits for."""
    question = {
        "id": "colour",
        "header": "Colour",
        "question": "Which one?",
        "options": [{"label": "Blue", "description": "calm"}],
    }
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as client:
        thread_id = await scene.thread(client)
        call = Call(name="request_user_input", arguments={"questions": [question]})
        scene.model.script(calls(call), says("blue it is"))
        given = {"threadId": thread_id, "input": [{"type": "text", "text": "go"}]}
        await client.request("turn/start", given)
        request = await client.server_request("item/tool/requestUserInput")
        assert request["params"]["questions"][0]["options"] == question["options"]
        read = await client.request("thread/read", {"threadId": thread_id})
        assert read["thread"]["status"]["activeFlags"] == ["waitingOnUserInput"]
        await client.answer(request["id"], {"answers": {"colour": {"answers": ["Blue"]}}})
        await client.notification("turn/completed")
        assert json.loads(scene.told_the_model()) == {"answers": {"colour": {"answers": ["Blue"]}}}


async def test_a_tool_of_the_client_is_run_by_the_client_also_after_a_restart(
    tmp_path: Path,
) -> None:
    """Offered at the start of the thread, shown as an item, its images and texts to the model."""
    spec = {
        "type": "function",
        "name": "lookup",
        "description": "Looks up.",
        "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}},
    }
    thread_id = ""
    for attempt in range(2):
        async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
            if attempt == 0:
                thread_id = await scene.thread(client, dynamicTools=[spec])
            else:
                await client.request("thread/resume", {"threadId": thread_id})
            scene.model.script(calls(Call(name="lookup", arguments={"key": "k"})), says("found"))
            given = {"threadId": thread_id, "input": [{"type": "text", "text": "go"}]}
            await client.request("turn/start", given)
            request = await client.server_request("item/tool/call")
            assert request["params"]["tool"] == "lookup"
            assert request["params"]["arguments"] == {"key": "k"}
            items = [{"type": "inputText", "text": "value"}]
            await client.answer(request["id"], {"contentItems": items, "success": True})
            await client.notification("turn/completed")
            assert scene.told_the_model() == "value"
            shown = [
                one["params"]["item"]
                for one in client.notifications("item/completed")
                if one["params"]["item"]["type"] == "dynamicToolCall"
            ]
            assert [one["status"] for one in shown] == ["completed"]


async def test_a_thread_that_is_deleted_takes_its_questions_back(tmp_path: Path) -> None:
    """All that listen hear it, and nothing runs."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        thread_id, _ = await scene.asks(client)
        number = (await client.server_request(COMMAND))["id"]
        await client.request("thread/delete", {"threadId": thread_id})
        resolved = await client.notification("serverRequest/resolved")
        assert resolved == {"threadId": thread_id, "requestId": number}
        await client.answer(number, {"decision": "accept"})
        assert scene.tool.ran == []


@pytest.mark.requirement("FR-T7")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_restart_ends_the_turn_that_asked(kind: Kind, tmp_path: Path) -> None:
    """Shown as interrupted, with nothing left to answer."""
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as client:
        thread_id, _ = await scene.asks(client)
        await client.server_request(COMMAND)
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as client:
        resumed = await client.request("thread/resume", {"threadId": thread_id})
        assert resumed["thread"]["status"] == {"type": "idle"}
        assert resumed["thread"]["turns"][-1]["status"] == "interrupted"
        scene.model.script(says("fine"))
        given = {"threadId": thread_id, "input": [{"type": "text", "text": "next"}]}
        await client.request("turn/start", given)
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert not [one for one in client.frames if one.get("method") == COMMAND]
