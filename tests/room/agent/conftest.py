"""What the tests of this folder share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.scripted_model import Bench, live_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """Live threads over a home of their own, with a scripted model."""
    async with live_bench(tmp_path / "home") as made:
        yield made
