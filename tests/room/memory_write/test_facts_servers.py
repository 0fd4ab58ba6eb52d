"""Two turns close together, as two clients of one server make them."""

from pathlib import Path

import pytest

from memory_write.limits import MemorySettings
from memory_write.phase1.run import Phase1
from memory_write.scheduler import Scheduler
from tests.support.clock import ManualClock
from tests.support.consolidation import phase2_of
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.learning import (
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)


@pytest.mark.requirement("MW-F-close-turns")
async def test_two_turns_close_together_cost_no_cooldown(tmp_path: Path) -> None:
    """Failure table: there the second turn's empty pass makes the first one's result wait 6 h."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        agent = ScriptedConsolidator(write_well)
        heard = ScriptedExtraction()
        settings = MemorySettings()
        scheduler = Scheduler(
            Phase1(state, ScriptedModels(heard), OpenQuota(), Announced(), settings),
            phase2_of(state, agent),
            state,
            settings,
            clock,
            Announced(),
            lambda: frozenset(),
        )
        first = await scheduler._automatic()
        assert first.phase2 is None, "nothing is eligible, nothing is consolidated"
        await put_thread(state, PREFERENCE)
        second = await scheduler._automatic()
        assert second.phase1.succeeded == 1
        assert second.phase2 is not None and second.phase2.status == "published"
        assert len(agent.requests) == 1
