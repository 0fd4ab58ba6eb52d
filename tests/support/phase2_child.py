"""A process that consolidates once and ends as by kill -9 at a named step.

Run as: python phase2_child.py HOME STEP [OWNER]. The clock is the test's, so ids and times repeat.
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.clock import ManualClock
from tests.support.consolidation import phase2_of
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.faults import RecordedSteps, kill_this_process
from tests.support.learning import opened


async def main(home: Path, step: str) -> None:
    """One run of phase 2."""
    async with opened(home, ManualClock(), owner="child") as state:
        steps = RecordedSteps(step, kill_this_process)
        agent = ScriptedConsolidator(write_well)
        await phase2_of(state, agent, steps=steps).run(ignore_cooldown=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
