"""Methods of memory, import and settings: what they promise beyond their shapes."""

import json
from pathlib import Path
from typing import Any

from state.ids import ThreadId
from tests.support.homes import Serving, serving
from tests.support.methods import error_of, said, started

NOBODY = "00000000-0000-7000-8000-000000000000"
SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"


async def test_the_memory_mode_can_be_set_in_every_state_of_a_thread(tmp_path: Path) -> None:
    """Before the first turn, loaded, stored, polluted; not for what is not kept."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        params = {"threadId": thread, "mode": "disabled"}
        assert await client.request("thread/memoryMode/set", params) == {}
        await said(client, thread, "hello")
        assert await _mode(home, thread) == "disabled"
        await client.request("thread/memoryMode/set", {**params, "mode": "enabled"})
        assert await _mode(home, thread) == "enabled"
        await home.server.services.live.unload(ThreadId(thread))
        await client.request("thread/memoryMode/set", params)
        assert await _mode(home, thread) == "disabled"
        await _set(home, thread, "polluted")
        await client.request("thread/memoryMode/set", {**params, "mode": "enabled"})
        assert await _mode(home, thread) == "enabled"
        ephemeral = await started(client, ephemeral=True)
        for thread_id, sentence in (
            (ephemeral, f"ephemeral thread does not support metadata updates: {ephemeral}"),
            (NOBODY, f"no rollout found for thread id {NOBODY}"),
        ):
            error = await error_of(
                client, "thread/memoryMode/set", {"threadId": thread_id, "mode": "enabled"}
            )
            assert (error["code"], error["message"]) == (-32600, sentence)


async def test_the_memory_a_thread_reads_is_its_file_as_it_is(tmp_path: Path) -> None:
    """Untrimmed and whole, blank counts as none, and none for a thread without memory."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        without = await started(client, config={"memories.use_memories": False})
        folder = home.home.memories("v1")
        folder.mkdir(exist_ok=True)
        text = "\n  # Summary\n" + "likes blue\n" * 5_000
        for content, summary in ((text, text), (" \n\t\n", None)):
            (folder / "memory_summary.md").write_text(content, "utf-8")
            read = await client.request("thread/memory/read", {"threadId": thread})
            assert read == {"summary": summary}
            assert await client.request("thread/memory/read", {"threadId": without}) == {
                "summary": None
            }
        (folder / "memory_summary.md").write_bytes(b"\xff\xfe")
        read = await client.request("thread/memory/read", {"threadId": thread})
        assert read == {"summary": None}
        error = await error_of(client, "thread/memory/read", {"threadId": NOBODY})
        assert error["message"] == f"thread not found: {NOBODY}"


async def test_an_import_is_told_as_it_goes_and_an_overview_counts_it(tmp_path: Path) -> None:
    """Relative paths and missing files are refused."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        for path in ("relative/path", str(tmp_path / "nothing")):
            error = await error_of(client, "thread/import", {"path": path})
            assert path in error["message"]
        dry = await client.request("thread/import", {"path": str(SAMPLES), "dryRun": True})
        assert (dry["dryRun"], dry["imported"] > 0) == (True, True)
        done = await client.request("thread/import", {"path": str(SAMPLES)})
        assert done["imported"] == dry["imported"]
        assert client.notifications("thread/import/progress") != []
        again = await client.request("thread/import", {"path": str(SAMPLES)})
        assert (again["imported"], again["unchanged"]) == (0, done["imported"])
        error = await error_of(client, "thread/import", {"path": str(SAMPLES), "since": "soon"})
        assert "since must be a date" in error["message"]
        overview = await client.request("memory/overview", {})
        assert overview["threads"]["imported"] == done["imported"]
        assert overview["jobs"]["done"] == 0
        assert overview["lastEdition"] is None


async def test_an_ordered_consolidation_is_waited_for_or_not(tmp_path: Path) -> None:
    """Either way it is done, and the overview shows its edition."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        begun = await client.request("memory/consolidate/start", {"wait": False})
        assert (begun["status"], begun["extraction"]) == ("running", None)
        done = await client.request("memory/consolidate/start", {"wait": True})
        assert done["status"] == "finished"
        overview = await client.request("memory/overview", {})
        assert overview["lastEdition"] is not None
        assert overview["outputs"] > 0
        assert overview["waiting"] == []
        error = await error_of(client, "memory/consolidate/start", {"threadId": NOBODY})
        assert error["message"] == f"no rollout found for thread id {NOBODY}"
        assert client.notifications("memory/progress") != []


async def test_configured_secrets_are_not_shown(tmp_path: Path) -> None:
    """Names of variables stay, values of telling keys do not."""
    config = """
        model = "m"
        [model_providers.mine]
        base_url = "http://127.0.0.1:1/v1"
        env_key = "MY_KEY"
        [model_providers.mine.http_headers]
        Authorization = "Bearer sk-secret"
        """
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        result = await client.request("config/read", {"includeLayers": True, "cwd": "."})
        assert "sk-secret" not in json.dumps(result)
        assert result["config"]["model_providers"]["mine"]["env_key"] == "MY_KEY"
        assert result["config"]["features"] == {"memories": True}
        assert "model" in result["origins"]


async def _mode(home: Serving, thread_id: str) -> str:
    state = home.server.services.state
    async with state.database.reading() as read:
        row = await state.threads.get(read, ThreadId(thread_id))
    assert row is not None
    return row.memory_mode


async def _set(home: Serving, thread_id: str, mode: Any) -> None:
    state = home.server.services.state
    async with state.database.writing() as tx:
        await state.threads.set_memory_mode(tx, ThreadId(thread_id), mode)
