"""Tools for tests of the stage: a command that runs nothing, and tools that misbehave."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, assert_never

from server.agent.approvals import (
    Ask,
    CommandFacts,
    Refuse,
    Run,
    command_key,
    command_need,
    proposed_prefix,
)
from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    CommandQuestion,
    Declined,
    OpenItem,
    Stage,
    ToolCall,
    ToolResult,
)


def function(name: str) -> dict[str, Any]:
    """A definition that takes anything."""
    parameters = {"type": "object", "properties": {}}
    return {
        "type": "function",
        "name": name,
        "description": "For tests.",
        "strict": False,
        "parameters": parameters,
    }


class PretendedCommand:
    """`exec_command` with the shell's items, questions and policies; nothing is run.

    Its output is the word behind the last `echo`.
    """

    name = "exec_command"
    is_parallel = False
    seconds_max = None

    def __init__(self) -> None:
        self.ran: list[str] = []

    @property
    def definition(self) -> Mapping[str, Any]:
        """As the model sees it."""
        return function(self.name)

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Ask as the policy says, then pretend."""
        given = json.loads(call.text)
        script, settings = str(given["cmd"]), stage.settings
        segments = tuple(tuple(part.split()) for part in script.split(" && "))
        safe = [words[0] == "echo" for words in segments]
        facts = CommandFacts(
            key=command_key([script], cwd=settings.cwd, is_escalated=True),
            segments=segments,
            is_known_safe=all(safe),
            is_escalated=given.get("sandbox_permissions") == "require_escalated",
        )
        need = command_need(
            facts,
            approval_policy=settings.approval_policy,
            sandbox_policy=settings.sandbox_policy,
            grants=stage.grants,
            rules=await stage.rules(),
        )
        body = _body(script, settings.cwd)
        if isinstance(need, Refuse):
            return ToolResult(content=need.message)
        item = stage.open("commandExecution", _running(body) if isinstance(need, Run) else body,
                          asking=isinstance(need, Ask))  # fmt: skip
        if isinstance(need, Ask):
            question = CommandQuestion(
                command=body["command"],
                cwd=settings.cwd,
                command_actions=body["commandActions"],
                reason=given.get("justification"),
                proposed_prefix=proposed_prefix(segments, safe=safe, rules={}),
                grant_key=facts.key,
            )
            denied = await self._denied(stage, item, question, body)
            if denied is not None:
                return ToolResult(content=denied)
        return await self._pretend(script, item, _running(body))

    async def _denied(
        self, stage: Stage, item: OpenItem, question: CommandQuestion, body: Mapping[str, Any]
    ) -> str | None:
        decision = await stage.ask_command(item, question)
        match decision:
            case Accepted():
                return None
            case Declined() | Cancelled():
                await item.complete({**body, "status": "declined"})
                return "rejected by user"
            case AskFailed(message=message):
                await item.complete({**body, "status": "failed"})
                return f"approval request failed: {message}"
            case _:
                assert_never(decision)

    async def _pretend(self, script: str, item: OpenItem, body: Mapping[str, Any]) -> ToolResult:
        self.ran.append(script)
        output = script.rsplit("echo ", 1)[-1] + "\n"
        item.delta(output)
        done = {"status": "completed", "aggregatedOutput": output, "exitCode": 0, "durationMs": 1}
        await item.complete({**body, **done})
        return ToolResult(content=output)


def _body(script: str, cwd: str) -> dict[str, Any]:
    return {
        "pluginId": None,
        "scriptPath": None,
        "command": f"/bin/bash -lc '{script}'",
        "cwd": cwd,
        "processId": None,
        "source": "agent",
        "status": "inProgress",
        "commandActions": [{"type": "unknown", "command": script}],
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
    }


def _running(body: Mapping[str, Any]) -> dict[str, Any]:
    return {**body, "processId": "53854", "source": "unifiedExecStartup"}


class Breaks:
    """A tool that raises behind an open item."""

    name = "breaks"
    is_parallel = False
    seconds_max = None
    definition = function("breaks")

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Raise."""
        stage.open("commandExecution", _body("broken", stage.settings.cwd))
        raise RuntimeError("sk-secret-of-a-tool")


class Hangs:
    """A tool that never returns; whether it lets itself be stopped can be chosen."""

    is_parallel = True
    seconds_max = None

    def __init__(self, name: str = "hangs", *, stubborn: bool = False) -> None:
        self.name = name
        self.definition = function(name)
        self.started = asyncio.Event()
        self.released = asyncio.Event()
        self._stubborn = stubborn

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Wait for ever."""
        item = stage.open("commandExecution", _body(self.name, stage.settings.cwd))
        self.started.set()
        while True:
            try:
                await self.released.wait()
                await item.complete(_body("late", stage.settings.cwd))
                return ToolResult(content="late")
            except asyncio.CancelledError:
                if not self._stubborn:
                    raise


class Together:
    """A parallel tool that returns only when as many calls run as it was told."""

    name = "together"
    is_parallel = True
    seconds_max = None
    definition = function("together")

    def __init__(self, count: int) -> None:
        self._barrier = asyncio.Barrier(count)

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Wait for the others."""
        item = stage.open("commandExecution", _body(call.call_id, stage.settings.cwd))
        await self._barrier.wait()
        await item.complete({**item_body(call, stage), "status": "completed"})
        return ToolResult(content=f"done {call.call_id}")


def item_body(call: ToolCall, stage: Stage) -> dict[str, Any]:
    """The body of a command item of that call."""
    return _body(call.call_id, stage.settings.cwd)
