"""One session that uses every method of the original's that we claim; it keeps what it was sent."""

import json
from pathlib import Path
from typing import Any

from server.assembly import Choices, Server, start_server
from server.settings import load_settings
from state.home import Home
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, calls, says

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


class Session:
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


async def _use_everything(session: Session, server: Server) -> None:
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


async def _act(session: Session, server: Server) -> None:
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


async def _change_threads(session: Session, thread: str) -> None:
    """Forks, the archive, compaction and what is noted."""
    await session.call("thread/settings/update", threadId=thread, effort="low")
    await session.call("thread/metadata/update", threadId=thread, gitInfo={"branch": "main"})
    content = [{"type": "input_text", "text": "injected"}]
    item = {"type": "message", "role": "user", "content": content}
    await session.call("thread/inject_items", threadId=thread, items=[item])
    await session.call("thread/compact/start", threadId=thread)
    await session.until("turn/completed")
    await session.call("review/start", threadId=thread, target={"type": "uncommittedChanges"})
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


async def _run_a_command(session: Session) -> None:
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


async def _list_the_rest(session: Session) -> None:
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


async def whole_session(folder: Path) -> Session:
    """All of it in our server over the scripted model, in an empty folder."""
    home = Home(folder / "home")
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
            session = Session(server)
            await _use_everything(session, server)
            await session.close()
            return session
        finally:
            await server.stop(0)
