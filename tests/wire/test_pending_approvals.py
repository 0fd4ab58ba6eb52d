"""Approvals of commands and of files: told again at a resume, decided, and taken back by a stop."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.acting_tools import PretendedCommand
from tests.support.homes import Serving, provider_config, serving
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import KINDS, Kind, WireClient

COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"
METHODS = {"commandExecution": COMMAND, "fileChange": FILES}


@dataclass(frozen=True, slots=True)
class _Scene:
    home: Serving
    model: ResponsesServer
    tool: PretendedCommand
    project: Path

    async def thread(self, client: WireClient) -> str:
        """A thread that may only read and may ask."""
        given = {"cwd": str(self.project), "sandbox": "read-only", "approvalPolicy": "on-request"}
        return str((await client.request("thread/start", given))["thread"]["id"])

    async def asks(self, client: WireClient, thread_id: str, kind: str) -> str:
        """A turn that comes to ask about a command, or about a file that it wants to add."""
        patch = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch"
        wanted = {"cmd": "touch a && echo ran", "sandbox_permissions": "require_escalated"}
        made = {
            "commandExecution": Call(name="exec_command", arguments=wanted),
            "fileChange": Call(name="apply_patch", arguments=patch, custom=True),
        }
        self.model.script(calls(made[kind]))
        words = [{"type": "text", "text": "go"}]
        turn = await client.request("turn/start", {"threadId": thread_id, "input": words})
        return str(turn["turn"]["id"])

    def acted(self, kind: str) -> bool:
        """Whether what was asked about was done; it is undone for the next question."""
        file = self.project / "made.txt"
        done = file.exists() if kind == "fileChange" else self.tool.ran != []
        file.unlink(missing_ok=True)
        self.tool.ran.clear()
        return done


@asynccontextmanager
async def _scene(folder: Path) -> AsyncIterator[_Scene]:
    project = folder / "project"
    project.mkdir()
    tool = PretendedCommand()
    async with (
        ResponsesServer() as model,
        serving(folder, config=provider_config(model.base_url), tools=[tool]) as home,
    ):
        await home.server.services.providers.get("mock").warm()
        yield _Scene(home, model, tool, project)


async def _item(client: WireClient, kind: str) -> dict[str, Any]:
    while True:
        item: dict[str, Any] = (await client.notification("item/completed"))["item"]
        if item["type"] == kind:
            return item


@pytest.mark.requirement("MR-9-30")
@pytest.mark.parametrize("kind", KINDS)
async def test_what_waits_for_a_person_is_told_again_at_a_resume(
    kind: Kind, tmp_path: Path
) -> None:
    """A command of one thread and a file of another, each with its id and words, once a client."""
    async with _scene(tmp_path) as scene:
        asked: dict[str, tuple[str, dict[str, Any]]] = {}
        async with scene.home.wire.client(kind) as first:
            for what, method in METHODS.items():
                thread_id = await scene.thread(first)
                await scene.asks(first, thread_id, what)
                asked[what] = thread_id, await first.server_request(method)
        async with scene.home.wire.client(kind) as second:
            for what, method in METHODS.items():
                thread_id, before = asked[what]
                resumed = await second.request("thread/resume", {"threadId": thread_id})
                assert resumed["thread"]["status"]["activeFlags"] == ["waitingOnApproval"]
                again = await second.server_request(method)
                assert again == before and again["params"]["threadId"] == thread_id
                await second.answer(again["id"], {"decision": "accept"})
                await second.notification("serverRequest/resolved")
                assert (await _item(second, what))["status"] == "completed"
                await second.notification("turn/completed")
                assert scene.acted(what)
                await second.request("thread/resume", {"threadId": thread_id})
            # Another reply comes behind whatever a resume would have told again.
            await second.request("thread/loaded/list", {})
            requests = [one for one in second.frames if "method" in one and "id" in one]
            assert [one["method"] for one in requests] == [COMMAND, FILES]


@pytest.mark.requirement("MR-9-30")
async def test_a_loaded_thread_goes_on_in_its_own_file_only(tmp_path: Path) -> None:
    """Its path or none is taken, another one or a history refused, an archived thread too."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        thread_id = await scene.thread(client)
        scene.model.script(says("hello"))
        words = [{"type": "text", "text": "hi"}]
        await client.request("turn/start", {"threadId": thread_id, "input": words})
        await client.notification("turn/completed")
        path = (await client.request("thread/read", {"threadId": thread_id}))["thread"]["path"]
        for given in (path, None):
            await client.request("thread/resume", {"threadId": thread_id, "path": given})
        wrong = {"threadId": thread_id, "path": str(tmp_path / "other.jsonl")}
        error = (await client.reply("thread/resume", wrong))["error"]
        assert error["message"].startswith(
            f"cannot resume running thread {thread_id} with mismatched path: requested `"
        )
        history = {"threadId": thread_id, "history": []}
        assert "history" in (await client.reply("thread/resume", history))["error"]["message"]
        await client.request("thread/archive", {"threadId": thread_id})
        error = (await client.reply("thread/resume", {"threadId": thread_id}))["error"]
        assert error["message"].startswith(f"session {thread_id} is archived.")


@pytest.mark.requirement("MR-9-33")
@pytest.mark.parametrize("what", METHODS)
@pytest.mark.parametrize(
    ("decision", "status", "acts", "asks_again"),
    [
        ("accept", "completed", True, True),
        ("decline", "declined", False, True),
        ("acceptForSession", "completed", True, False),
        ("perhaps", "failed", False, True),
    ],
)
async def test_each_decision_does_what_it_says_to_commands_and_files(
    what: str, decision: str, status: str, acts: bool, asks_again: bool, tmp_path: Path
) -> None:
    """The turn goes on in any case; what is no decision never counts as a yes."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        thread_id = await scene.thread(client)
        await scene.asks(client, thread_id, what)
        request = await client.server_request(METHODS[what])
        assert not scene.acted(what)
        await client.answer(request["id"], {"decision": decision})
        assert (await _item(client, what))["status"] == status
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert scene.acted(what) is acts
        await scene.asks(client, thread_id, what)
        if asks_again:
            again = await client.server_request(METHODS[what])
            assert again["id"] != request["id"] and not scene.acted(what)
            return
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        assert scene.acted(what)


def _late(number: int) -> dict[str, Any]:
    return {"id": number, "result": {"decision": "accept"}}


def _late_error(number: int) -> dict[str, Any]:
    return {"id": number, "error": {"code": -32000, "message": "no"}}


@pytest.mark.requirement("MR-9-33")
@pytest.mark.parametrize("what", METHODS)
@pytest.mark.parametrize("late", [_late, _late_error])
async def test_a_stop_takes_the_question_back_and_refuses_ended_turns(
    what: str, late: Callable[[int], dict[str, Any]], tmp_path: Path
) -> None:
    """Resolved for all, declined, nothing done; a later answer and a second stop change nothing."""
    async with _scene(tmp_path) as scene, scene.home.wire.client("pair") as client:
        thread_id = await scene.thread(client)
        turn_id = await scene.asks(client, thread_id, what)
        number = (await client.server_request(METHODS[what]))["id"]
        stop = {"threadId": thread_id, "turnId": turn_id}
        await client.request("turn/interrupt", stop)
        resolved = await client.notification("serverRequest/resolved")
        assert resolved == {"threadId": thread_id, "requestId": number}
        assert (await client.notification("turn/completed"))["turn"]["status"] == "interrupted"
        read = await client.request("thread/read", {"threadId": thread_id, "includeTurns": True})
        items = {one["type"]: one for one in read["thread"]["turns"][-1]["items"]}
        assert items[what]["status"] == "declined"
        await client.link.send(orjson.dumps(late(number)))
        error = (await client.reply("turn/interrupt", stop))["error"]
        assert error["message"] == "no active turn to interrupt"
        await client.request("thread/resume", {"threadId": thread_id})
        await client.request("thread/loaded/list", {})
        assert len([one for one in client.frames if one.get("method") == METHODS[what]]) == 1
        assert not scene.acted(what)


@pytest.mark.parametrize("method", ["thread/archive", "thread/delete"])
@pytest.mark.parametrize("kind", KINDS)
async def test_who_waits_for_a_turn_hears_of_its_end_when_its_thread_goes(
    kind: Kind, method: str, tmp_path: Path
) -> None:
    """The question is taken back, the turn ends once, and only then is the thread gone."""
    async with _scene(tmp_path) as scene, scene.home.wire.client(kind) as client:
        thread = await scene.thread(client)
        turn = await scene.asks(client, thread, "commandExecution")
        asked = await client.server_request(COMMAND)
        async with scene.home.wire.client("pair") as other:
            await other.request(method, {"threadId": thread})
        told = {"thread/archive": "thread/archived", "thread/delete": "thread/deleted"}[method]
        assert await client.notification(told) == {"threadId": thread}
        [resolved] = client.notifications("serverRequest/resolved")
        assert resolved["params"] == {"threadId": thread, "requestId": asked["id"]}
        [ended] = client.notifications("turn/completed")
        assert ended["params"]["turn"]["id"] == turn
        assert ended["params"]["turn"]["status"] == "interrupted"
        assert not scene.acted("commandExecution")
