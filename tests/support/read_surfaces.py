"""Every way in which memory text reaches anybody, by name, and a memory that rests on two threads.

A surface asks the running server and gives back all that it was told. `READ_METHODS` and
`READ_TOOLS` say by which surface a method or tool is tried; what tells no memory text stands in
`TELL_NO_TEXT`.
"""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.agent.sandbox.sandbox import MEANS, Ready
from state.ids import ThreadId
from tests.support.confined import proved
from tests.support.consolidation import change_output
from tests.support.consolidators import ScriptedConsolidator
from tests.support.forgetting import phase2_for, write_both
from tests.support.homes import Serving
from tests.support.methods import said, started
from tests.support.responses_server import Call, Recorded, ResponsesServer, calls, says
from tests.support.wire import RpcError, WireClient

WORD = "zanzibar"
FACT = f"the staging host is called {WORD}-7731 and needs the blue badge"
KEPT = "commits"
OTHER = "commits are small and titles are short"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A server that serves a memory of two threads, and one who asks."""

    home: Serving
    model: ResponsesServer
    client: WireClient
    folder: Path
    """For what is written outside the home."""
    going: str
    staying: str
    reader: str
    """A loaded thread that was told of memory."""


async def world_of(
    home: Serving, model: ResponsesServer, client: WireClient, folder: Path
) -> World:
    """Two threads were learned from, a third one was told of it."""
    going = await _learned(home, client, folder, FACT)
    staying = await _learned(home, client, folder, OTHER)
    phase2 = phase2_for(home.server.services.state, "v1", ScriptedConsolidator(write_both))
    report = await phase2.run(ignore_cooldown=True)
    assert report.status == "published", report
    await home.server.services.index.settle()
    reader = await started(client)
    await said(client, reader, "hello")
    return World(
        home=home,
        model=model,
        client=client,
        folder=folder,
        going=going,
        staying=staying,
        reader=reader,
    )


async def _learned(home: Serving, client: WireClient, folder: Path, text: str) -> str:
    """A thread of a client, and what was taken from it; its words stand there alone."""
    thread = await started(client, memoryUse=False, cwd=str(folder))
    await said(client, thread, "hello")
    state = home.server.services.state
    await change_output(state, ThreadId(thread), text, slug=text.split(" and ")[0])
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, ThreadId(thread))
        assert row is not None
        await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=row.updated_at_ms)
    return thread


Surface = Callable[[World], Awaitable[str]]


def _developer(request: Recorded) -> str:
    return json.dumps(request.body["input"], ensure_ascii=False)


async def _turn(world: World, thread: str) -> str:
    await said(world.client, thread, "and now")
    return _developer(world.model.requests[-1])


async def _first_turn(world: World) -> str:
    return await _turn(world, await started(world.client))


async def _next_turn(world: World) -> str:
    return await _turn(world, world.reader)


async def _fork(world: World) -> str:
    forked = await world.client.request("thread/fork", {"threadId": world.reader})
    return await _turn(world, forked["thread"]["id"])


async def _resume(world: World) -> str:
    thread = await started(world.client)
    await said(world.client, thread, "hello")
    await world.home.server.services.live.unload(ThreadId(thread))
    await world.client.request("thread/resume", {"threadId": thread})
    return await _turn(world, thread)


async def _compaction(world: World) -> str:
    thread = await started(world.client)
    await said(world.client, thread, "hello")
    world.model.script(says("what was said so far"))
    await world.client.request("thread/compact/start", {"threadId": thread})
    await world.client.notification("turn/completed")
    return await _turn(world, thread)


async def _read(world: World) -> str:
    found = await world.client.request("thread/memory/read", {"threadId": world.reader})
    return str(found["summary"])


async def _search(world: World) -> str:
    both = [
        await world.client.request("memory/search", {"query": query, "limit": 50})
        for query in ("staging host badge", "commits titles short", world.going)
    ]
    return json.dumps(both, ensure_ascii=False)


async def _export(world: World) -> str:
    folder = world.folder / "exported"
    shutil.rmtree(folder, ignore_errors=True)
    await world.client.request("memory/export", {"folder": str(folder)})
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(f"{path}\n{path.read_text()}" for path in files)


async def _correct(world: World) -> str:
    """What a correction is told stands at a line, for each line of the handbook."""
    told = []
    folder = world.home.home.memories("v1")
    for path in ("MEMORY.md", "memory_summary.md"):
        lines = (folder / path).read_text().split("\n")
        for number in range(1, len(lines) + 1):
            given = {"id": f"{path}:{number}", "base": "0" * 12, "text": "x"}
            try:
                await world.client.request("memory/correct", given)
            except RpcError as error:
                told.append(json.dumps([error.message, error.data], ensure_ascii=False))
    return "\n".join(told)


def _tool(name: str, *given: dict[str, Any]) -> Surface:
    async def ask(world: World) -> str:
        made = [Call(name=name, namespace="memories", arguments=one) for one in given]
        world.model.script(calls(*made), says("done"))
        # Without the section, so that what the model sees of memory is what the tool says.
        thread = await started(world.client)
        await said(world.client, thread, "look")
        return json.dumps(
            [
                item
                for item in world.model.requests[-1].body["input"]
                if item["type"] == "function_call_output"
            ],
            ensure_ascii=False,
        )

    return ask


async def _read_tool(world: World) -> str:
    folder = world.home.home.memories("v1")
    paths = sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*.md") if ".git" not in path.parts
    )
    # The names of files are what `list` tells; here their lines count.
    told = await _tool("read", *({"path": path} for path in paths))(world)
    names = {path for path in paths if WORD in path}
    for name in names:
        told = told.replace(name, "")
    return told


async def _command(world: World) -> str:
    """What a thread without memory tools reads with the shell."""
    folder = world.home.home.memories("v1")
    wanted = {"cmd": f"cat {folder}/memory_summary.md {folder}/MEMORY.md"}
    world.model.script(calls(Call(name="exec_command", arguments=wanted)), says("done"))
    given = {"memories.dedicated_tools": False}
    thread = await started(world.client, config=given, cwd=str(world.folder))
    await said(world.client, thread, "look")
    return str(world.model.requests[-1].body["input"][-1]["output"])


async def _offline(world: World) -> str:
    """An answer with its citations, by the provider that has tools and no model."""
    told = []
    for question in ("Which staging host needs the badge?", "How short are titles of commits?"):
        thread = await started(world.client, modelProvider="offline")
        told.append(json.dumps(await said(world.client, thread, question), ensure_ascii=False))
    return "\n".join(told)


SURFACES: dict[str, Surface] = {
    "a first turn": _first_turn,
    "the next turn of a thread that was told": _next_turn,
    "a fork": _fork,
    "a resumed thread": _resume,
    "a compacted thread": _compaction,
    "thread/memory/read": _read,
    "memory/search": _search,
    "memory/export": _export,
    "memory/correct": _correct,
    "tool list": _tool("list", {"path": "rollout_summaries"}, {"path": "skills"}),
    "tool read": _read_tool,
    "tool search": _tool(
        "search",
        {"queries": ["badge", "titles"], "context_lines": 20},
        {"queries": ["commits", "badge"], "match_mode": {"type": "any"}},
        {"queries": ["badge", "called"], "match_mode": {"type": "all_on_same_line"}},
        {"queries": ["badge", "w"], "match_mode": {"type": "all_within_lines", "line_count": 9}},
    ),
    "tool recall": _tool("recall", {"query": "staging host badge"}, {"query": "commits titles"}),
    "a command": _command,
    "an offline answer": _offline,
}
COMMAND = "a command"
READ_METHODS = {
    "thread/memory/read": ("thread/memory/read",),
    "memory/search": ("memory/search",),
    "memory/export": ("memory/export",),
    "memory/correct": ("memory/correct",),
}
READ_TOOLS = {
    "memories.list": ("tool list",),
    "memories.read": ("tool read",),
    "memories.search": ("tool search",),
    "memories.recall": ("tool recall",),
}
TELL_NO_TEXT = frozenset(
    {
        "memory/status",
        "memory/reset",
        "memory/consolidate/start",
        "memory/overview",
        "memory/pause",
        "memory/import",
        "memory/restore",
        "memory/remember",
        "memory/progress",
        "thread/memory/report",
        "thread/memoryMode/set",
        "memories.add_ad_hoc_note",
    }
)


def can_run() -> bool:
    """Whether this machine holds commands where they belong; else none is run."""
    return any(isinstance(proved(means), Ready) for means in MEANS)


async def seen(world: World) -> dict[str, tuple[bool, bool]]:
    """By surface, whether the word of the one thread and that of the other one is told."""
    found = {}
    for name, ask in SURFACES.items():
        if name == COMMAND and not can_run():
            continue
        async with asyncio.timeout(60):
            told = await ask(world)
        found[name] = (WORD in told or world.going in told, KEPT in told)
    return found
