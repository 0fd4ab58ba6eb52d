"""What a thread gave leaves every read surface at once, before any file is touched, and comes back.

The work behind it is held: whatever is not shown here is withheld by the readers alone.
"""

import asyncio
import errno
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from protocol import methods as protocol_methods
from tests.support.homes import provider_config, serving
from tests.support.methods import said
from tests.support.read_surfaces import (
    COMMAND,
    FACT,
    READ_METHODS,
    READ_TOOLS,
    SURFACES,
    TELL_NO_TEXT,
    WORD,
    World,
    can_run,
    seen,
    world_of,
)
from tests.support.responses_server import Call, Reply, ResponsesServer, calls, says
from tests.support.source import ROOT

MCP_SERVER = ROOT / "tests" / "support" / "plain_mcp_server.py"
CONFIG = "\n[memories]\ndisable_on_external_context = true\n"


class Held:
    """Lets a step of the background work wait."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.free.set()

    async def __call__(self, step: str) -> None:
        if step == "phase2/claimed":
            await self.free.wait()


def told(*, going: bool, command: bool = True) -> dict[str, tuple[bool, bool]]:
    """What is seen by each surface: of the thread that goes or not, of the other one always.

    Between a command and a file stands no code that could withhold a line: it may see none.
    """
    tried = [name for name in SURFACES if name != COMMAND or can_run()]
    return {name: (going, command or name != COMMAND) for name in tried}


@asynccontextmanager
async def world(folder: Path, config: str = CONFIG) -> AsyncIterator[tuple[World, Held]]:
    """A memory of two threads that is served; what withdraws from its files can be held."""
    held = Held()
    async with (
        ResponsesServer() as model,
        serving(folder, config=provider_config(model.base_url) + config, steps=held) as home,
        home.wire.client("pair") as client,
    ):
        made = await world_of(home, model, client, folder)
        try:
            yield made, held
        finally:
            held.free.set()


def _items(*items: dict[str, object]) -> Reply:
    return says("done", items=tuple(items))


async def _turn_with(world: World, *replies: Reply) -> None:
    world.model.script(*replies)
    await said(world.client, world.going, "look it up")


async def _web_search(world: World) -> None:
    action = {"type": "search", "query": "x"}
    await _turn_with(world, _items({"type": "web_search_call", "id": "w", "action": action}))


async def _tool_search(world: World) -> None:
    await _turn_with(world, _items({"type": "tool_search_call", "id": "t"}))


async def _tool_search_output(world: World) -> None:
    await _turn_with(world, _items({"type": "tool_search_output", "id": "t"}))


async def _other(world: World) -> None:
    await _turn_with(world, _items({"type": "function_call_output", "output": "ran elsewhere"}))


async def _mcp(world: World) -> None:
    call = Call(name="echo", namespace="mcp__work_shop", arguments={"text": "x"})
    await _turn_with(world, calls(call), says("done"))


async def _disabled(world: World) -> None:
    given = {"threadId": world.going, "mode": "disabled"}
    assert await world.client.request("thread/memoryMode/set", given) == {}


SOURCES: dict[str, Callable[[World], Awaitable[None]]] = {
    "web search": _web_search,
    "tool search": _tool_search,
    "output of a tool search": _tool_search_output,
    "other": _other,
    "mcp": _mcp,
    "disabled": _disabled,
}


def _mcp_config() -> str:
    return f'\n[mcp_servers."work shop"]\ncommand = "{sys.executable}"\nargs = ["{MCP_SERVER}"]\n'


@pytest.mark.requirement("MR-9-15", "MR-9-16", "FR-T15", "FR-F4")
@pytest.mark.parametrize("source", SOURCES)
async def test_it_is_read_nowhere_from_then_on_and_everywhere_when_enabled_again(
    tmp_path: Path, source: str
) -> None:
    """By each way in which outside context comes in, and by order; no file changed meanwhile."""
    config = CONFIG + (_mcp_config() if source == "mcp" else "")
    async with world(tmp_path, config) as (made, held):
        assert await seen(made) == told(going=True)
        held.free.clear()
        await SOURCES[source](made)
        folder = made.home.home.memories("v1")
        assert await seen(made) == told(going=False, command=False)
        assert FACT in (folder / "MEMORY.md").read_text()
        view = await made.client.request("memory/overview")
        assert view["versions"][0]["withdrawalPending"] == "under_way"
        given = {"threadId": made.going, "mode": "enabled"}
        await made.client.request("thread/memoryMode/set", given)
        assert await seen(made) == told(going=True)


@pytest.mark.requirement("MW-F-forgotten-now", "FR-F4", "MR-9-22")
async def test_a_deletion_holds_for_readers_before_it_is_answered(tmp_path: Path) -> None:
    """Whoever deletes waits for the files; nobody else reads of it meanwhile."""
    async with world(tmp_path) as (made, held):
        held.free.clear()
        withheld = made.home.server.services.state.outputs.withheld
        committed = asyncio.Event()
        withheld.watch(committed.set)
        async with made.home.wire.client("pair") as other:
            deleting = asyncio.create_task(other.request("thread/delete", {"threadId": made.going}))
            await asyncio.wait_for(committed.wait(), 20)
            assert await seen(made) == told(going=False, command=False)
            assert not deleting.done()
            held.free.set()
            assert await deleting == {}
        assert not withheld.of("v1")
        assert WORD not in (made.home.home.memories("v1") / "MEMORY.md").read_text()
        assert await seen(made) == told(going=False)


@pytest.mark.requirement("FR-T15", "FR-F4", "MW-9-16")
async def test_a_crash_before_the_files_were_cut_leaves_it_withheld(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next owner cannot cut them, for the disk is full: it withholds as the first did."""
    former = os.mkdir

    def refused(path: object, *rest: int, **more: int) -> None:
        if "staging/v1-" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        former(path, *rest, **more)  # type: ignore[arg-type]

    async with world(tmp_path) as (made, held):
        held.free.clear()
        await _disabled(made)
        going = made.going
        monkeypatch.setattr(os, "mkdir", refused)
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url) + CONFIG) as home,
        home.wire.client("pair") as client,
    ):
        again = World(
            home=home,
            model=model,
            client=client,
            folder=tmp_path,
            going=going,
            staying=made.staying,
            reader=made.reader,
        )
        await client.request("thread/resume", {"threadId": made.reader})
        view = await client.request("memory/overview")
        assert view["versions"][0]["withdrawalPending"] == "disk_full"
        assert await seen(again) == told(going=False, command=False)
        assert WORD in (home.home.memories("v1") / "MEMORY.md").read_text()


def test_each_method_about_memory_is_tried_or_tells_no_text() -> None:
    """A new one has to say which."""
    names = {
        value.name
        for value in vars(protocol_methods).values()
        if isinstance(name := getattr(value, "name", None), str) and "memory" in name.lower()
    }
    assert names == {
        one for one in (*READ_METHODS, *TELL_NO_TEXT) if not one.startswith("memories.")
    }
    assert {one for tried in READ_METHODS.values() for one in tried} <= SURFACES.keys()


async def test_each_tool_of_memory_is_tried_or_tells_no_text(tmp_path: Path) -> None:
    """A new one has to say which."""
    async with serving(tmp_path) as home:
        tools = home.server.services.read.tools("v1").tools
    names = {f"memories.{tool.name}" for tool in tools}
    assert names == {one for one in (*READ_TOOLS, *TELL_NO_TEXT) if one.startswith("memories.")}
    assert {one for tried in READ_TOOLS.values() for one in tried} <= SURFACES.keys()
