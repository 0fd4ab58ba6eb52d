"""Commands of the agent over the wire: run in the sandbox, shown, asked about, ended."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from server.agent.sandbox.sandbox import Ready
from state.ids import ThreadId
from tests.support.homes import Serving, serving
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import WireClient

MARK = "987321"


@dataclass(frozen=True, slots=True)
class Shell:
    """A thread in a project, a model that is told what to call, and its client."""

    client: WireClient
    model: ResponsesServer
    serving: Serving
    thread_id: str
    project: Path

    async def turn(self, *made: Call, text: str = "go on") -> Mapping[str, Any]:
        """A turn in which the model makes these calls, one after the other."""
        for call in made:
            self.model.script(calls(call))
        self.model.script(says("done"))
        await self.client.request(
            "turn/start", {"threadId": self.thread_id, "input": [{"type": "text", "text": text}]}
        )
        return await told(self.client, "turn/completed")

    async def run(self, cmd: str, **more: Any) -> str:
        """What the model reads of one command."""
        await self.turn(Call(name="exec_command", arguments={"cmd": cmd, "login": False, **more}))
        return self.outputs()[-1]

    def outputs(self) -> list[str]:
        """The outputs of calls in the last request."""
        items = self.model.requests[-1].body["input"]
        return [one["output"] for one in items if one["type"] == "function_call_output"]

    def items(self) -> list[dict[str, Any]]:
        """Completed commands."""
        return [
            one["params"]["item"]
            for one in self.client.frames
            if one.get("method") == "item/completed"
            and one["params"]["item"]["type"] == "commandExecution"
        ]

    def deltas(self) -> str:
        """The output as it was told."""
        return "".join(
            one["params"]["delta"]
            for one in self.client.frames
            if one.get("method") == "item/commandExecution/outputDelta"
        )


@asynccontextmanager
async def shell(
    folder: Path,
    *,
    approval: str = "never",
    sandbox: str = "workspace-write",
    more: str = "",
) -> AsyncIterator[Shell]:
    """A server with a thread in `folder/project`."""
    project = folder / "project"
    project.mkdir()
    async with ResponsesServer() as model:
        config = f"""
            model = "mock-model"
            model_provider = "mock"
            approval_policy = "{approval}"
            sandbox_mode = "{sandbox}"
            [sandbox_workspace_write]
            exclude_slash_tmp = true
            [model_providers.mock]
            base_url = {json.dumps(model.base_url)}
            {more}
            """
        async with serving(folder, config=config) as home, home.wire.client("pair") as client:
            status = await home.server.services.machine.sandbox.status()
            if not isinstance(status, Ready):
                pytest.skip(str(status))
            started = await client.request("thread/start", {"cwd": str(project)})
            yield Shell(client, model, home, started["thread"]["id"], project)


async def told(client: WireClient, method: str) -> Mapping[str, Any]:
    """The next notification of that name; real processes take their time on a busy machine."""
    for _ in range(11):
        try:
            return await client.notification(method)
        except TimeoutError:
            continue
    return await client.notification(method)


def marked() -> list[str]:
    """Processes with the mark of these tests."""
    lines = []
    for process in psutil.process_iter():
        try:
            lines.append(process.cmdline())
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return [" ".join(line) for line in lines if MARK in line]


async def test_a_command_runs_in_the_project_and_is_shown(tmp_path: Path) -> None:
    """Output as deltas, in the item, and for the model in the original's words."""
    async with shell(tmp_path) as thread:
        read = await thread.run("echo hello && cat missing; printf 'x%.0s' 1 2 3 > made; exit 3")
        assert (thread.project / "made").read_text() == "xxx"
        [item] = thread.items()
    assert "Process exited with code 3\n" in read and "Output:\nhello\n" in read
    assert item["status"] == "failed" and item["exitCode"] == 3
    assert item["aggregatedOutput"].startswith("hello\n") and item["durationMs"] >= 0
    assert item["source"] == "unifiedExecStartup" and item["processId"]
    assert thread.deltas() == item["aggregatedOutput"]


async def test_what_lies_outside_stays_as_it_is_and_the_home_unread(tmp_path: Path) -> None:
    """The tool is confined as the sandbox is."""
    outside = tmp_path / "outside"
    outside.mkdir()
    async with shell(tmp_path) as thread:
        key = (thread.serving.home.keys / "access").read_text().strip()
        read = await thread.run(
            f"touch {outside}/new; cat {thread.serving.home.root}/*/*; "
            "(echo > /dev/tcp/127.0.0.1/80) 2>&1"
        )
    assert list(outside.iterdir()) == [] and key not in read
    assert "Read-only file system" in read or "Permission denied" in read


async def test_a_command_writes_the_roots_that_a_client_names_and_not_its_folder(
    tmp_path: Path,
) -> None:
    """They stand in place of the folder in which it runs."""
    root = tmp_path / "root"
    root.mkdir()
    async with shell(tmp_path) as thread:
        given = {"cwd": str(thread.project), "runtimeWorkspaceRoots": [str(root)]}
        started = await thread.client.request("thread/start", given)
        thread = replace(thread, thread_id=started["thread"]["id"])
        await thread.run(f"touch {root}/made; touch unmade")
        assert [one.name for one in root.iterdir()] == ["made"]
        assert list(thread.project.iterdir()) == []


async def test_the_folder_that_a_command_starts_in_opens_nothing(tmp_path: Path) -> None:
    """The model chooses it; what may be written goes by the folder of the thread."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "existing").write_text("stays")
    async with shell(tmp_path) as thread:
        (thread.project / "inner").mkdir()
        for workdir in (str(outside), "../outside"):
            read = await thread.run("pwd; echo x > new; echo x > existing", workdir=workdir)
            assert f"{outside}\n" in read
        read = await thread.run("pwd; touch here ../beside", workdir="inner")
        assert f"{thread.project}/inner\n" in read
        assert (thread.project / "inner" / "here").exists() and (thread.project / "beside").exists()
    assert [one.name for one in outside.iterdir()] == ["existing"]
    assert (outside / "existing").read_text() == "stays"


async def test_a_command_that_runs_on_can_be_read_and_ends_with_its_thread(tmp_path: Path) -> None:
    """It yields a session id; its item completes when it ends, in a later turn or by unloading."""
    async with shell(tmp_path) as thread:
        first = await thread.run(f"echo begun; sleep {MARK}", yield_time_ms=250)
        assert "Process running with session ID " in first and "begun" in first
        listed = await thread.client.request(
            "thread/backgroundTerminals/list", {"threadId": thread.thread_id}
        )
        [one] = listed["data"]
        assert one["command"].endswith(f"sleep {MARK}'") and one["itemId"]
        assert marked() != [] and thread.items() == []
        ended = await thread.client.request(
            "thread/backgroundTerminals/terminate",
            {"threadId": thread.thread_id, "processId": one["processId"]},
        )
        assert ended == {"terminated": True} and marked() == []
        await told(thread.client, "item/completed")
        await thread.run(f"sleep {MARK}", yield_time_ms=250)
        assert marked() != []
    assert marked() == []


async def test_a_terminal_takes_what_the_model_types(tmp_path: Path) -> None:
    """With tty it can be written to; without, that is told."""
    async with shell(tmp_path) as thread:
        read = await thread.run("read line; echo got-$line; test -t 0 && echo terminal", tty=True,
                                yield_time_ms=250)  # fmt: skip
        session = int(read.split("session ID ")[1].split()[0])
        typed = Call(
            name="write_stdin",
            arguments={"session_id": session, "chars": "words\n", "yield_time_ms": 10_000},
        )
        await thread.turn(typed)
        answer = thread.outputs()[-1]
        typed_in = [f for f in thread.client.frames
                if f.get("method") == "item/commandExecution/terminalInteraction"]  # fmt: skip
    assert "got-words" in answer and "terminal" in answer
    assert "Process exited with code 0" in answer
    assert [one["params"]["stdin"] for one in typed_in] == ["words\n"]


async def test_what_a_command_prints_after_its_turn_is_told_too(tmp_path: Path) -> None:
    """Piece by piece, before its item is complete."""
    async with shell(tmp_path) as thread:
        cmd = "while [ ! -e go ]; do sleep 0.05; done; echo late"
        await thread.run(cmd, yield_time_ms=250)
        assert thread.deltas() == "" and thread.items() == []
        (thread.project / "go").touch()
        assert (await told(thread.client, "item/commandExecution/outputDelta"))["delta"] == "late\n"
        ended = await told(thread.client, "item/completed")
        while ended["item"]["type"] != "commandExecution":
            ended = await told(thread.client, "item/completed")
        assert ended["item"]["aggregatedOutput"] == "late\n"


async def test_an_interrupt_ends_the_command_under_way(tmp_path: Path) -> None:
    """Nothing of it is left, and its item is complete."""
    async with shell(tmp_path) as thread:
        cmd = f"setsid -f sleep {MARK} >/dev/null; echo ready; sleep {MARK}"
        thread.model.script(
            calls(Call(name="exec_command", arguments={"cmd": cmd, "login": False}))
        )
        started = await thread.client.request(
            "turn/start",
            {"threadId": thread.thread_id, "input": [{"type": "text", "text": "go"}]},
        )
        await told(thread.client, "item/commandExecution/outputDelta")
        await thread.client.request(
            "turn/interrupt", {"threadId": thread.thread_id, "turnId": started["turn"]["id"]}
        )
        ended = await told(thread.client, "turn/completed")
        assert ended["turn"]["status"] == "interrupted" and marked() == []
        [item] = thread.items()
    assert item["status"] == "failed" and "ready" in item["aggregatedOutput"]


async def test_much_output_is_cut_for_the_model_and_within_a_frame(tmp_path: Path) -> None:
    """Head and tail stay, the loop goes on, and what is no text is replaced."""
    async with shell(tmp_path) as thread:
        read = await thread.run(
            "printf 'first\\n\\377\\n'; head -c 30000000 /dev/zero | tr '\\0' a; echo; echo last"
        )
        [item] = thread.items()
        sizes = [len(json.dumps(frame)) for frame in thread.client.frames]
    assert "tokens truncated" in read and "first\n\ufffd" in read and read.rstrip().endswith("last")
    assert item["aggregatedOutput"].startswith("first\n") and max(sizes) < 64 * 1024


async def test_escalation_asks_and_runs_outside_only_when_accepted(tmp_path: Path) -> None:
    """Declined, nothing runs; accepted, it is not confined."""
    outside = tmp_path / "outside"
    outside.mkdir()
    async with shell(tmp_path, approval="on-request") as thread:
        given = {"cmd": f"touch {outside}/new", "sandbox_permissions": "require_escalated",
                 "justification": "may I"}  # fmt: skip
        for decision, made in (("decline", []), ("accept", ["new"])):
            thread.model.script(calls(Call(name="exec_command", arguments=given)), says("done"))
            await thread.client.request(
                "turn/start",
                {"threadId": thread.thread_id, "input": [{"type": "text", "text": "go"}]},
            )
            question = await thread.client.server_request("item/commandExecution/requestApproval")
            assert question["params"]["reason"] == "may I"
            await thread.client.answer(question["id"], {"decision": decision})
            await told(thread.client, "turn/completed")
            assert [one.name for one in outside.iterdir()] == made
        assert [one["status"] for one in thread.items()] == ["declined", "completed"]


async def test_a_shell_of_the_models_own_is_not_judged_by_the_line_it_is_given(
    tmp_path: Path,
) -> None:
    """A harmless line, or one that a rule allows, says nothing of what another program does."""
    async with shell(tmp_path, approval="untrusted") as thread:
        rules = thread.serving.home.root / "rules"
        rules.mkdir(exist_ok=True)
        (rules / "default.rules").write_text(
            'prefix_rule(pattern=["git", "pull"], decision="allow")\n'
        )
        program = thread.project / "bash"
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        program.chmod(0o755)
        for line in ("ls", "git pull"):
            given = {"cmd": line, "shell": str(program)}
            thread.model.script(calls(Call(name="exec_command", arguments=given)), says("done"))
            words = [{"type": "text", "text": "go"}]
            asked = {"threadId": thread.thread_id, "input": words}
            await thread.client.request("turn/start", asked)
            question = await thread.client.server_request("item/commandExecution/requestApproval")
            await thread.client.answer(question["id"], {"decision": "decline"})
            await told(thread.client, "turn/completed")
        assert not (tmp_path / "ran").exists()
        assert [one["status"] for one in thread.items()] == ["declined", "declined"]


async def test_a_command_that_ends_after_its_turn_is_in_the_record(tmp_path: Path) -> None:
    """Its item stands in its turn as it ended, live and from the file."""
    async with shell(tmp_path) as thread:
        gate = thread.project / "gate"
        cmd = "while [ ! -e gate ]; do sleep 0.05; done; echo done-late"
        assert "session ID" in await thread.run(cmd, yield_time_ms=250)
        gate.touch()
        await told(thread.client, "item/completed")
        while not thread.items():
            await told(thread.client, "item/completed")
        asked = {"threadId": thread.thread_id, "includeTurns": True}
        for _ in range(2):
            turns = (await thread.client.request("thread/read", asked))["thread"]["turns"]
            [item] = [one for one in turns[-1]["items"] if one["type"] == "commandExecution"]
            assert item["status"] == "completed" and item["aggregatedOutput"] == "done-late\n"
            await thread.serving.server.services.live.unload(ThreadId(thread.thread_id))


async def test_files_stay_unwritten_and_nobody_is_asked_when_the_policy_says_so(
    tmp_path: Path,
) -> None:
    """Under `never` a failure goes to the model; under `on-request` a person may let it out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    async with shell(tmp_path, approval="on-request") as thread:
        given = {"cmd": f"touch {outside}/new", "login": False}
        thread.model.script(calls(Call(name="exec_command", arguments=given)), says("done"))
        await thread.client.request(
            "turn/start",
            {"threadId": thread.thread_id, "input": [{"type": "text", "text": "go"}]},
        )
        question = await thread.client.server_request("item/commandExecution/requestApproval")
        assert "sandbox" in question["params"]["reason"] and list(outside.iterdir()) == []
        await thread.client.answer(question["id"], {"decision": "accept"})
        await told(thread.client, "turn/completed")
        assert [one.name for one in outside.iterdir()] == ["new"]
        [item] = thread.items()
    assert item["status"] == "completed" and item["exitCode"] == 0


@pytest.mark.parametrize("dedicated_tools", [True, False])
async def test_memory_is_read_by_commands_where_there_are_no_tools_for_it(
    tmp_path: Path, dedicated_tools: bool
) -> None:
    """What is published, at the place that the model was told; nothing may be written there."""
    more = f"[memories]\ndedicated_tools = {str(dedicated_tools).lower()}"
    async with shell(tmp_path, more=more) as it:
        folder = it.serving.home.memories("v1")
        folder.mkdir(parents=True)
        for name in ("MEMORY.md", "raw_memories.md", "memory_summary.md"):
            (folder / name).write_text(f"v1\n\nknown from {name}\n")
        said = await it.run(f"cd {folder} && cat *.md; echo x >> MEMORY.md; cat ../config.toml")
        assert str(folder) in it.model.requests[0].text
        assert ("known from MEMORY.md" in said) is not dedicated_tools
        assert "known from raw_memories.md" not in said and "base_url" not in said
        assert (folder / "MEMORY.md").read_text().endswith("known from MEMORY.md\n")
