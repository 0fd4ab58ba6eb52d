"""A disk that is full or read-only in each phase of a turn: the client is told, and it passes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.assembly import start_server
from server.settings import load_settings
from state.errors import HomeUnusable
from state.home import Home
from state.ids import ThreadId
from tests.support.homes import provider_config, serving
from tests.support.methods import said, started
from tests.support.responses_server import ResponsesServer, says
from tests.support.small_disk import SmallDisk, small_disk

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
LONG = "a long message " * 4_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of its own."""
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def whole_lines(home: Home) -> int:
    """How many lines all transcripts have; each must be whole."""
    count = 0
    for path in home.sessions.rglob("*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            json.loads(line)
            count += 1
    return count


async def listed(client: Any) -> list[str]:
    """The ids of the listed threads."""
    return [one["id"] for one in (await client.request("thread/list", {}))["data"]]


@pytest.mark.requirement("FR-S13", "P11", "MW-F-full-disk")
async def test_a_first_turn_on_a_full_disk_fails_and_the_next_one_is_recorded(
    disk: SmallDisk,
) -> None:
    """Failure table: "Disk full during a turn": no completed turn, no empty thread in the list."""
    async with serving(disk.root) as home, home.wire.client("pair") as client:
        other = await started(client)
        assert (await said(client, other, "hello"))["status"] == "completed"
        thread = await started(client)
        disk.fill()
        turn = await said(client, thread, LONG)
        assert turn["status"] == "failed"
        assert "could not be recorded" in turn["error"]["message"]
        assert await listed(client) == [other]
        whole_lines(home.home)
        # Everybody else is served meanwhile.
        assert await client.request("thread/loaded/list", {})
        disk.free()
        turn = await said(client, thread, LONG)
        assert turn["status"] == "completed"
        assert set(await listed(client)) == {thread, other}
    async with serving(disk.root) as home, home.wire.client("pair") as client:
        resumed = await client.request("thread/resume", {"threadId": thread})
        shown = [turn["status"] for turn in resumed["thread"]["turns"]]
        assert shown[-1] == "completed"


@pytest.mark.requirement("FR-S13", "P11")
async def test_a_disk_that_fills_in_the_middle_of_an_answer_fails_the_turn(
    disk: SmallDisk,
) -> None:
    """Failure table: "Disk full during a turn": what cannot be recorded was not answered."""
    half = asyncio.Event()
    async with ResponsesServer() as model:
        model.script(says("first"), says(LONG, gate=half, delta_characters=8_000), says("third"))
        config = provider_config(model.base_url)
        async with serving(disk.root, config=config) as home, home.wire.client("pair") as client:
            thread = await started(client)
            assert (await said(client, thread, "one"))["status"] == "completed"
            words = [{"type": "text", "text": "two"}]
            await client.request("turn/start", {"threadId": thread, "input": words})
            await client.notification("item/agentMessage/delta")
            disk.fill()
            half.set()
            turn = (await client.notification("turn/completed"))["turn"]
            assert turn["status"] == "failed"
            assert "could not be recorded" in turn["error"]["message"]
            whole_lines(home.home)
            disk.free()
            assert (await said(client, thread, "three"))["status"] == "completed"
            whole_lines(home.home)
            await home.server.services.live.unload(ThreadId(thread))
            resumed = await client.request("thread/resume", {"threadId": thread})
            statuses = [one["status"] for one in resumed["thread"]["turns"]]
            assert statuses[0] == statuses[-1] == "completed"
            assert statuses[1] in ("failed", "interrupted")


@pytest.mark.requirement("FR-S13", "P11")
async def test_a_change_on_a_full_disk_is_refused_and_the_next_one_goes_through(
    disk: SmallDisk,
) -> None:
    """Failure table: "Disk full during a turn": no transaction stays open behind an error."""
    async with serving(disk.root) as home, home.wire.client("pair") as client:
        threads = [await started(client) for _ in range(3)]
        for thread in threads:
            await said(client, thread, "hello")
        disk.fill()
        refused = 0
        for _ in range(20):
            for thread in threads:
                mode = {"threadId": thread, "mode": "disabled"}
                reply = await client.reply("thread/memoryMode/set", mode)
                if "error" in reply:
                    refused += 1
                    assert reply["error"]["data"]["kind"] in ("diskFull", "journalUnusable")
                    assert reply["error"]["data"]["retryable"] is True
        assert refused > 0
        assert len(await listed(client)) == 3  # reading goes on
        disk.free()
        for thread in threads:
            await client.request("thread/memoryMode/set", {"threadId": thread, "mode": "disabled"})
    async with serving(disk.root) as home:
        state = home.server.services.state
        async with state.database.reading() as read:
            rows = [await state.threads.get(read, ThreadId(thread)) for thread in threads]
        assert [row.memory_mode if row else None for row in rows] == ["disabled"] * 3


@pytest.mark.requirement("FR-S13", "MW-F-readonly-home")
async def test_a_read_only_home_is_refused_by_its_name(disk: SmallDisk) -> None:
    """Failure table: "Whole home read-only": which place, why, and nothing is left behind."""
    async with serving(disk.root):
        pass
    disk.read_only(True)
    with pytest.raises(HomeUnusable, match="Read-only file system"):
        await start_server(load_settings(Home(disk.root / "home")))
    disk.read_only(False)
    async with serving(disk.root) as home, home.wire.client("pair") as client:
        assert (await said(client, await started(client), "hello"))["status"] == "completed"


@pytest.mark.requirement("FR-S13")
async def test_a_consolidation_on_a_full_disk_keeps_the_old_memory_and_is_made_good(
    disk: SmallDisk,
) -> None:
    """Failure table: "Memory folder read-only", "Disk full": the order fails with its reason."""
    async with serving(disk.root) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        disk.fill()
        async with asyncio.timeout(30):
            reply = await client.reply("memory/consolidate/start", {"wait": True})
        consolidation = (reply.get("result") or {}).get("consolidation") or {}
        assert "error" in reply or consolidation.get("status") != "published"
        assert not (home.home.memories("v1") / "MEMORY.md").exists()
        disk.free()
    async with serving(disk.root) as home, home.wire.client("pair") as client:
        result = await client.request("memory/consolidate/start", {"wait": True})
        assert result["consolidation"]["status"] == "published"
        assert list(home.home.staging.iterdir()) == []
