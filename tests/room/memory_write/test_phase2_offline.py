"""The rule-based consolidator under the real phase 2: what it writes is sound and settles."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.offline.consolidation import OfflineConsolidator
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.consolidation import drop_output, phase2_of, put_output
from tests.support.learning import opened


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", ManualClock()) as state:
        yield state


async def _run(state: State) -> str:
    report = await phase2_of(state, OfflineConsolidator()).run(ignore_cooldown=True)
    assert report.reason is None, report
    return report.status


async def test_it_publishes_settles_and_lets_go(state: State) -> None:
    live = state.home.memories("v1")
    first = await put_output(state, "the user wants small commits", idle_hours=12)
    await put_output(state, "the checks run with make check", idle_hours=11)
    assert await _run(state) == "published"
    assert await _run(state) == "unchanged"
    await put_output(state, "titles are short", idle_hours=10)
    assert await _run(state) == "published"
    await drop_output(state, first)
    assert await _run(state) == "published"
    assert first not in (live / "MEMORY.md").read_text()
    assert await _run(state) == "unchanged"
    (live / "MEMORY.md").write_text((live / "MEMORY.md").read_text() + "\n- A line by hand.\n")
    assert await _run(state) == "published"
    assert "A line by hand." in (live / "MEMORY.md").read_text()
    assert await _run(state) == "unchanged"


async def test_the_last_thread_may_go(state: State) -> None:
    only = await put_output(state, "the user wants small commits")
    assert await _run(state) == "published"
    await drop_output(state, only)
    assert await _run(state) == "published"
    memory = state.home.memories("v1")
    for name in ("MEMORY.md", "memory_summary.md", "raw_memories.md"):
        assert "small commits" not in (memory / name).read_text()
