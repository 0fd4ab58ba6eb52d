"""A migrated database in a temporary folder, with its stores."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from state.database import Database
from state.migrations import migrate
from state.stores.editions import EditionStore
from state.stores.jobs import JobStore
from state.stores.outputs import OutputStore
from state.stores.spending import SpendingStore
from state.stores.threads import ThreadStore
from tests.support.clock import ManualClock
from tests.support.rows import NOW_MS


@pytest.fixture
def clock() -> ManualClock:
    """Time that stands still until it is moved."""
    return ManualClock(NOW_MS)


@pytest.fixture
async def database(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Database]:
    """A fresh database with the schema of today."""
    opened = await Database.open(tmp_path / "state.sqlite")
    await migrate(opened, clock)
    yield opened
    await opened.close()


@pytest.fixture
def threads() -> ThreadStore:
    """The store of threads."""
    return ThreadStore()


@pytest.fixture
def jobs(clock: ManualClock) -> JobStore:
    """The store of jobs, for this process."""
    return JobStore(clock, "this process")


@pytest.fixture
def outputs() -> OutputStore:
    """The store of outputs."""
    return OutputStore()


@pytest.fixture
def editions() -> EditionStore:
    """The store of editions."""
    return EditionStore()


@pytest.fixture
def spending() -> SpendingStore:
    """The store of spending."""
    return SpendingStore()
