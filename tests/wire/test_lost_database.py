"""A server whose database was lost goes on from transcripts, journal and published memory."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from state.home import Home
from state.ids import ThreadId
from state.stores.outputs import SelectedOutput
from tests.support.homes import Serving, serving
from tests.support.methods import error_of, said, started
from tests.support.wire import WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(2).randbytes(4_096))


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _removed(path: Path) -> None:
    path.unlink()


def _pages_garbled(path: Path) -> None:
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4_096, 2):
            file.seek(page * 4_096)
            file.write(random.Random(page).randbytes(4_096))


LOSSES: dict[str, Callable[[Path], None]] = {
    "noise": _noise,
    "truncated": _truncated,
    "emptied": _emptied,
    "removed": _removed,
    "pages garbled": _pages_garbled,
}


async def _threads(client: WireClient) -> dict[str, dict[str, Any]]:
    page = await client.request("thread/list", {"limit": 100})
    kept = ("name", "preview", "cwd", "createdAt", "modelProvider", "source", "path")
    return {one["id"]: {key: one[key] for key in kept} for one in page["data"]}


async def _modes(home: Serving) -> dict[str, tuple[str, bool]]:
    state = home.server.services.state
    async with state.database.reading() as read:
        found = [await state.threads.get(read, ThreadId(one)) for one in await _ids(home)]
    return {row.thread_id: (row.memory_mode, row.use_memories) for row in found if row}


async def _ids(home: Serving) -> list[str]:
    async with home.wire.client("pair") as client:
        return list(await _threads(client))


def _learned(one: SelectedOutput) -> tuple[object, ...]:
    output = one.output
    texts = (output.raw_memory.strip(), output.rollout_summary, output.rollout_slug)
    return (output.thread_id, output.source_updated_at_ms, output.selected, *texts)


def _folder(home: Home) -> dict[str, bytes]:
    root = home.memories("v1")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


@pytest.mark.requirement(
    "FR-S6",
    "FR-S5",
    "P11",
    "FR-F15",
    "MW-9-16",
    "MW-F-corrupt-memory-database",
    "MW-F-corrupt-state-database",
    "MR-9-19",
)
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_lost_database_costs_no_thread_no_name_no_mode_and_no_memory(
    tmp_path: Path, loss: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Failure table: "State database corrupt" and "Memory database corrupt or truncated".

    Disabled, polluted and private threads stay so, a deleted one stays deleted, and what was
    published stands: nothing is heard again that was heard before.
    """
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        disabled, polluted, gone, plain = [await started(client) for _ in range(4)]
        private = await started(client, config={"memories.use_memories": False})
        for thread in (disabled, polluted, gone, plain, private):
            await said(client, thread, f"hello from {thread[-4:]}")
        set_mode = {"threadId": disabled, "mode": "disabled"}
        await client.request("thread/memoryMode/set", set_mode)
        state = home.server.services.state
        async with state.database.writing() as tx:
            await state.threads.set_memory_mode(tx, ThreadId(polluted), "polluted")
        await client.request("thread/name/set", {"threadId": plain, "name": "Mine"})
        await client.request("thread/delete", {"threadId": gone})
        before, modes = await _threads(client), await _modes(home)
        async with state.database.reading() as read:
            outputs = await state.outputs.latest(read, version="v1", outputs_max=100)
        published = _folder(home.home)
        assert outputs
    assert modes[disabled][0] == "disabled" and modes[polluted][0] == "polluted"
    assert modes[private][1] is False
    LOSSES[loss](home.home.database)
    caplog.clear()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert await _threads(client) == before
        assert await _modes(home) == modes
        error = await error_of(client, "thread/resume", {"threadId": gone})
        assert "no rollout found" in error["message"]
        state = home.server.services.state
        async with state.database.reading() as read:
            again = await state.outputs.latest(read, version="v1", outputs_max=100)
        assert [_learned(one) for one in again] == [_learned(one) for one in outputs]
        assert _folder(home.home) == published
        notes = " ".join((await client.request("memory/overview", {}))["notes"])
        assert str(home.home.database) in notes and "published memory still stand" in notes
        warnings = [one for one in caplog.records if one.levelname in ("WARNING", "ERROR")]
        assert len(warnings) == 1 and str(home.home.database) in warnings[0].getMessage()
        aside = list(home.home.root.glob("state.sqlite.broken-*"))
        assert [str(one) in notes for one in aside] == [True] * len(aside)
        assert len(aside) == (loss not in ("removed", "emptied"))
        # Nothing that was heard is heard again; what was not, is.
        await client.request("memory/consolidate/start", {"wait": True})
        async with state.database.reading() as read:
            jobs = await state.jobs.list(read, version="v1", limit=100)
        heard = {job.key for job in jobs if job.kind == "extraction"}
        assert {plain, private} <= heard
        assert heard.isdisjoint(one.output.thread_id for one in outputs)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert await _modes(home) == modes


@pytest.mark.requirement("FR-S6", "MW-F-reset")
async def test_a_reset_stays_a_reset_when_the_database_is_lost(tmp_path: Path) -> None:
    """Failure table: "`memory/reset`": what was said before it is never learned again."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        await client.request("memory/reset", {})
    home.home.database.unlink()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert len(await _threads(client)) > 0
        await client.request("memory/consolidate/start", {"wait": True})
        state = home.server.services.state
        async with state.database.reading() as read:
            assert (await state.outputs.counts(read, "v1")).total == 0
