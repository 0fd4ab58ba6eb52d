"""A home with a published memory of version 1."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state.home import Home
from state.recovery import State, open_state
from tests.support.clock import ManualClock
from tests.support.published import HANDBOOK, SUMMARY, publish
from tests.support.rows import NOW_MS


@pytest.fixture
def clock() -> ManualClock:
    """Time that stands still until it is moved."""
    return ManualClock(NOW_MS)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A prepared home without a memory."""
    home = Home(tmp_path / "home")
    home.prepare()
    return home


@pytest.fixture
def memory(home: Home) -> Path:
    """Its memory folder with a summary, a handbook and a recap, published."""
    folder = home.memories("v1")
    (folder / "rollout_summaries").mkdir(parents=True)
    (folder / "memory_summary.md").write_text(SUMMARY)
    (folder / "MEMORY.md").write_text(HANDBOOK)
    (folder / "rollout_summaries" / "one.md").write_text("thread_id: x\n\nrecap\n")
    publish(folder)
    return folder


@pytest.fixture
async def state(home: Home, clock: ManualClock) -> AsyncIterator[State]:
    """The open state of the home."""
    opened = await open_state(home, clock, "owner")
    yield opened
    await asyncio.wait_for(opened.close(), 5)
