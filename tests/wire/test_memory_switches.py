"""Switches of memory over the wire: modes, private threads, instruction files, reset."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from state.database import Database
from state.ids import ThreadId
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Recorded, Reply, ResponsesServer, says
from tests.support.threads_memory import files_below, publish, report
from tests.support.wire import KINDS, Kind

SIDE_BY_SIDE = 3
SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
OFF_EVERYWHERE = {
    "memories": {"use_memories": False, "generate_memories": False},
    "instruction_files": False,
}


@pytest.mark.requirement("FR-T15")
@pytest.mark.parametrize("kind", KINDS)
async def test_modes_are_set_at_the_start_and_never_wait_for_learning(
    kind: Kind, tmp_path: Path
) -> None:
    """A hundred changes while an extraction hangs in the model; not one waits for it."""
    extracting: list[Recorded] = []

    def choose(request: Recorded) -> Reply | None:
        if request.structured:
            extracting.append(request)
            return says("{}", hangs=True)
        return None

    async with ResponsesServer() as model:
        model.choose = choose
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client(kind) as client,
            home.wire.client(kind, experimental=False) as plain,
        ):
            thread = await started(client, memoryMode="disabled")
            await said(client, thread, "hello")
            assert (await report(client, thread))["memoryMode"] == "disabled"
            await client.request("thread/import", {"path": str(SAMPLES)})
            begun = await client.request("memory/consolidate/start", {"wait": False})
            assert begun["status"] == "running"
            await model.wait_for_requests(2)
            learned = (await client.request("thread/list", {"limit": 3}))["data"][-1]["id"]
            for number in range(100):
                mode = "disabled" if number % 2 else "enabled"
                for one in (thread, learned):
                    params = {"threadId": one, "mode": mode}
                    assert await client.request("thread/memoryMode/set", params) == {}
                assert (await report(client, thread))["memoryMode"] == mode
            assert extracting and (await client.request("memory/overview", {}))["waiting"]
            for field, value in (("memoryMode", "disabled"), ("memoryUse", True)):
                error = await error_of(plain, "thread/start", {field: value})
                assert (
                    error["message"] == f"thread/start.{field} requires experimentalApi capability"
                )
            # A wish to be left alone is granted to every client.
            private = await started(plain, memoryUse=False)
            assert not (await report(client, private))["memoryUse"]
            error = await error_of(client, "thread/start", {"memoryMode": "polluted"})
            assert "unknown variant `polluted`" in error["message"]
            model.release()


@pytest.mark.requirement("FR-T15")
async def test_a_change_of_mode_goes_before_what_learning_has_to_write(tmp_path: Path) -> None:
    """While the one writer is held, sessions wait with their outputs; the change passes them."""
    order: list[str] = []
    there, queued = _Count(SIDE_BY_SIDE), _Count(SIDE_BY_SIDE)
    written = _Count(SIDE_BY_SIDE + 1)
    go = asyncio.Event()
    database: list[Database] = []

    async def steps(name: str) -> None:
        if name == "phase1/before_store" and not there.all.is_set():
            there.one_more()
            await go.wait()
            queued.one_more()
            async with database[0].writing():
                order.append("learning")
            written.one_more()

    async with serving(tmp_path, steps=steps) as home, home.wire.client("pair") as client:
        database.append(home.server.services.state.database)
        thread = await started(client)
        await said(client, thread, "hello")
        live = home.server.services.live.require(thread)

        async def change() -> None:
            await live.memory.set_mode("disabled")
            order.append("mode")
            written.one_more()

        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": False})
        async with asyncio.timeout(5):
            await there.all.wait()
            async with database[0].writing():
                go.set()
                await queued.all.wait()
                changing = asyncio.create_task(change())
                await asyncio.sleep(0)
            await written.all.wait()
            await changing
        assert (await report(client, thread))["memoryMode"] == "disabled"
    assert order == ["mode", *["learning"] * SIDE_BY_SIDE]


class _Count:
    """Set when so many came."""

    def __init__(self, of: int) -> None:
        self._left = of
        self.all = asyncio.Event()

    def one_more(self) -> None:
        """Another one."""
        self._left -= 1
        if self._left <= 0:
            self.all.set()


@pytest.mark.requirement("MR-9-14")
async def test_the_mode_of_loaded_and_stored_threads_is_set(tmp_path: Path) -> None:
    """Disabled stays so; enabled again counts; it needs the experimental interface."""
    async with (
        serving(tmp_path) as home,
        home.wire.client("pair") as client,
        home.wire.client("pair", experimental=False) as plain,
    ):
        thread = await started(client)
        await said(client, thread, "hello")
        for load in (True, False):
            for mode in ("disabled", "enabled", "disabled"):
                if not load:
                    await home.server.services.live.unload(ThreadId(thread))
                params = {"threadId": thread, "mode": mode, "memoryUse": mode == "enabled"}
                await client.request("thread/memoryMode/set", params)
                state = home.server.services.state
                async with state.database.reading() as read:
                    row = await state.threads.get(read, ThreadId(thread))
                assert row is not None
                assert (row.memory_mode, row.use_memories) == (mode, mode == "enabled")
                if load:
                    assert (await report(client, thread))["memoryUse"] is (mode == "enabled")
        error = await error_of(plain, "thread/memoryMode/set", {"threadId": thread, "mode": mode})
        assert error["message"] == "thread/memoryMode/set requires experimentalApi capability"


@pytest.mark.requirement("FR-F15")
async def test_a_private_thread_leaves_its_words_in_its_transcript_alone(tmp_path: Path) -> None:
    """Told, learned, forked, archived, its database lost: a canary stands nowhere else."""
    canary = "CANARY-93af"
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            publish(home, "# Summary\n- MEMORY-LINE\n")
            thread = await started(client, memoryMode="disabled", memoryUse=False)
            await said(client, thread, f"My word is {canary}")
            fork = (await client.request("thread/fork", {"threadId": thread}))["thread"]["id"]
            await said(client, fork, "again")
            await client.request("thread/import", {"path": str(SAMPLES)})
            await client.request("memory/consolidate/start", {"wait": True})
            await client.request("thread/archive", {"threadId": fork})
            await client.request("thread/unarchive", {"threadId": fork})
            told = [await report(client, one) for one in (thread, fork)]
        home.home.database.unlink()
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            for one in (thread, fork):
                await client.request("thread/resume", {"threadId": one})
                await said(client, one, "after the loss")
                told.append(await report(client, one))
            await client.request("memory/consolidate/start", {"wait": True})
            overview = await client.request("memory/overview", {})
        own = [one for one in model.requests if canary in one.text]
        assert all(not one.structured and "MEMORY-LINE" not in one.text for one in own)
        assert all("memories." not in "".join(one.tool_names) for one in own)
    assert [(one["memoryMode"], one["memoryUse"], one["injected"]) for one in told] == [
        ("disabled", False, False)
    ] * 4
    assert {one["reason"] for one in told} == {"private"}
    assert overview["threads"]["disabled"] == 2
    places = [path for path, data in files_below(tmp_path).items() if canary.encode() in data]
    assert places and all(path.startswith("home/sessions/") for path in places)


@pytest.mark.requirement("FR-U3")
@pytest.mark.parametrize("level", ["file", "project", "thread", "environment"])
async def test_with_every_switch_off_nothing_is_written_called_or_told(
    tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three sessions, and an order to learn: no byte of memory changes, no model learns."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("AGENTS-LINE\n")
    switches = "use_memories = false\ngenerate_memories = false\n"
    start: Mapping[str, Any] = {"config": OFF_EVERYWHERE} if level == "thread" else {}
    extra = {
        "file": f"instruction_files = false\n[memories]\n{switches}",
        "project": f"[projects.{json.dumps(str(tmp_path))}]\n{switches}instruction_files = false\n",
    }.get(level, "")
    if level == "environment":
        for name in ("USE_MEMORIES", "GENERATE_MEMORIES", "INSTRUCTION_FILES"):
            monkeypatch.setenv(f"MEMORYD_{name}", "off")
    async with ResponsesServer() as model:
        config = f"{extra}\n{provider_config(model.base_url)}"
        if level == "file":
            top, _, rest = extra.partition("[memories]")
            config = f"{top}{provider_config(model.base_url)}\n[memories]{rest}"
        if level == "project":
            config = f"{provider_config(model.base_url)}\n{extra}"
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            publish(home, "# Summary\n- MEMORY-LINE\n")
            before = files_below(home.home.memories("v1"))
            for number in range(3):
                params = {"cwd": str(project), **start}
                result = await client.request("thread/start", params)
                assert result["instructionSources"] == []
                await said(client, result["thread"]["id"], f"I prefer tabs, really {number}")
            done = await client.request("memory/consolidate/start", {"wait": True})
            assert done["extraction"]["claimed"] == 0
            assert files_below(home.home.memories("v1")) == before
            overview = await client.request("memory/overview", {})
            assert overview["threads"]["disabled"] == 3
        assert len(model.requests) == 3
        assert not any("LINE" in one.text or one.structured for one in model.requests)


@pytest.mark.requirement("FR-U3", "FR-E4")
async def test_each_switch_works_alone_and_instruction_files_are_never_learned(
    tmp_path: Path,
) -> None:
    """Without use the files still hold, without files memory does; extraction hears no order."""
    (tmp_path / "AGENTS.md").write_text("Always answer in rhyme: AGENTS-LINE\n")
    where = {"cwd": str(tmp_path)}
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            publish(home, "# Summary\n- MEMORY-LINE\n")
            for overrides, has_memory, has_files in (
                ({}, True, True),
                ({"memories.use_memories": False}, False, True),
                ({"instruction_files": False}, True, False),
                ({"memories": {"generate_memories": False}}, True, True),
                ({"project_doc_max_bytes": 0}, True, False),
            ):
                result = await client.request("thread/start", {**where, "config": overrides})
                assert len(result["instructionSources"]) == int(has_files)
                await said(client, result["thread"]["id"], "I prefer tabs over spaces.")
                sent = model.requests[-1].text
                assert ("MEMORY-LINE" in sent, "AGENTS-LINE" in sent) == (has_memory, has_files)
            turns = len(model.requests)
            done = await client.request("memory/consolidate/start", {"wait": True})
            assert done["extraction"]["claimed"] == 4
        learned = [one.text for one in model.requests[turns:] if one.structured]
        assert learned and any("tabs over spaces" in one for one in learned)
        assert not any("AGENTS-LINE" in one or "MEMORY-LINE" in one for one in learned)


@pytest.mark.requirement("MR-9-17", "MR-9-20")
@pytest.mark.parametrize("database", ["there", "lost"])
async def test_a_reset_empties_every_version_and_keeps_modes(tmp_path: Path, database: str) -> None:
    """With the database and without: roots stay, empty, and so do the threads' modes."""
    config = "[memories]\ndual_write = true\n"
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        mode = {"threadId": (thread := await started(client)), "mode": "disabled"}
        await client.request("thread/memoryMode/set", mode)
        await said(client, thread, "hello")
    if database == "lost":
        home.home.database.unlink()
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        folders = [home.home.memories(version) for version in ("v1", "v2")]
        assert all(files_below(folder) for folder in folders)
        assert await client.request("memory/reset", {}) == {}
        assert [files_below(folder) for folder in folders] == [{}, {}]
        assert all(folder.is_dir() for folder in folders)
        overview = await client.request("memory/overview", {})
        assert [one["outputs"] for one in overview["versions"]] in ([0, 0], [0])
        assert overview["threads"]["disabled"] == 1


@pytest.mark.requirement("MR-9-21")
async def test_an_old_name_of_a_key_is_told_under_its_own(tmp_path: Path) -> None:
    """In the file, with the canonical one winning beside it, and for one thread."""
    config = """
        [memories]
        no_memories_if_mcp_or_web_search = true
        """
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        result = await client.request("config/read", {})
        assert result["config"]["memories"]["disable_on_external_context"] is True
        assert "no_memories_if_mcp_or_web_search" not in json.dumps(result)
        assert "memories.disable_on_external_context" in result["origins"]
        old = "memories.no_memories_if_mcp_or_web_search"
        for overrides, bars in (
            ({}, True),
            ({old: False}, False),
            ({old: False, "memories.disable_on_external_context": True}, True),
        ):
            thread = await started(client, config=overrides)
            live = home.server.services.live.require(thread)
            await live.memory.pollute("web_search", "web_search_call")
            mode = (await report(client, thread))["memoryMode"]
            assert mode == ("polluted" if bars else "enabled")
