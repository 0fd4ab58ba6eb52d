"""Consolidators that follow a script: one that does the job well, and many that do not."""

import json
from collections.abc import Awaitable, Callable, Sequence

from memory_write.ports import (
    ConsolidationReport,
    ConsolidationRequest,
    Consolidator,
    ExtractionModel,
    FileTool,
    ModelUse,
)

USE = ModelUse(input_tokens=1_000, cached_input_tokens=100, output_tokens=200)
SUMMARY = """v1

## User Profile

A person who writes tests.

## User preferences

- Small commits.

## General Tips

- Run the checks first.

## What's in Memory

### /home/user/project

#### 2026-11-29

- commits: small, reviewed
"""


class Tools:
    """The tools of a request, called by name with keyword arguments."""

    def __init__(self, tools: Sequence[FileTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.replies: list[str] = []

    async def __call__(self, name: str, **arguments: object) -> str:
        """Call one and keep its reply."""
        reply = await self._tools[name].call(json.dumps(arguments))
        self.replies.append(reply)
        return reply

    async def json(self, name: str, **arguments: object) -> dict[str, object]:
        """Call one whose reply is an object."""
        value = json.loads(await self(name, **arguments))
        assert isinstance(value, dict)
        return value

    async def recaps(self) -> list[tuple[str, str]]:
        """The path of each recap and the thread it names."""
        listed = await self.json("list", path="rollout_summaries")
        entries = listed["entries"]
        assert isinstance(entries, list)
        found: list[tuple[str, str]] = []
        for entry in entries:
            content = (await self.json("read", path=entry["path"], max_lines=1))["content"]
            assert isinstance(content, str)
            found.append((entry["path"], content.removeprefix("thread_id: ").strip()))
        return found


Script = Callable[[Tools, ConsolidationRequest], Awaitable[None]]


class ScriptedConsolidator:
    """Runs a script; remembers what it was asked and what the tools answered."""

    def __init__(self, script: Script, report: ConsolidationReport | None = None) -> None:
        self._script = script
        self._report = report or ConsolidationReport(use=USE, model_calls=3)
        self.requests: list[ConsolidationRequest] = []
        self.replies: list[str] = []

    async def run(self, request: ConsolidationRequest) -> ConsolidationReport:
        """One run of the agent."""
        self.requests.append(request)
        tools = Tools(request.tools)
        try:
            await self._script(tools, request)
        finally:
            self.replies.extend(tools.replies)
        return self._report


class ScriptedModels:
    """Models whose consolidator is the scripted one; it cannot extract."""

    def __init__(self, consolidator: Consolidator) -> None:
        self._consolidator = consolidator

    def extraction(self, provider: str | None) -> ExtractionModel:
        """Nothing here extracts."""
        raise NotImplementedError

    def consolidator(self, provider: str | None) -> Consolidator:
        """The scripted one."""
        return self._consolidator


class OpenQuota:
    """Never refuses."""

    def until_ms(self) -> int | None:
        """Nobody said."""
        return None

    async def refusal(self) -> str | None:
        """Always go."""
        return None


async def write_well(tools: Tools, request: ConsolidationRequest) -> None:
    """A handbook with one topic for each recap, and a sound summary."""
    blocks: list[str] = []
    for path, thread_id in await tools.recaps():
        recap = (await tools.json("read", path=path))["content"]
        assert isinstance(recap, str)
        body = recap.split("\n\n", 1)[1].strip()
        blocks.append(
            f"# Task Group: {thread_id[-4:]}\n\nscope: work\n"
            "applies_to: cwd=/home/user/project; reuse_rule=same project\n\n"
            f"## Task 1: work, done\n\n### rollout_summary_files\n\n"
            f"- {path} (thread_id={thread_id})\n\n### keywords\n\n- work\n\n"
            f"## Reusable knowledge\n\n- {body}\n"
        )
    notes = await tools("search", queries=["note:"], path="extensions")
    if notes.startswith("{"):
        found = json.loads(notes)["matches"]
        blocks.extend(f"- {match['content']} [ad-hoc note]\n" for match in found)
    await tools("write", path="MEMORY.md", content="\n".join(blocks) or "# Nothing yet\n")
    await tools("write", path="memory_summary.md", content=SUMMARY)
