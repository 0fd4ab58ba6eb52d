"""Fixtures for tests of consolidation: a home with nothing in it, its clock, its published folder.

A test folder takes them in with its `conftest.py`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.learning import opened


@pytest.fixture
def clock() -> ManualClock:
    """The clock that the tests move."""
    return ManualClock()


@pytest.fixture
async def state(tmp_path: Path, clock: ManualClock) -> AsyncIterator[State]:
    """A home with nothing in it."""
    async with opened(tmp_path / "home", clock) as opened_state:
        yield opened_state


@pytest.fixture
def live(state: State) -> Path:
    """Where memory is published."""
    return state.home.memories("v1")
