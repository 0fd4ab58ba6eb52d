"""The operations that the fault sweep breaks: what each does, and the home that it begins with."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memory_write.controls.reset import MemoryReset
from memory_write.housekeeping import Housekeeping
from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.run import Phase1
from memory_write.phase2.recover import recover
from memory_write.phase2.run import Phase2
from memory_write.ports import no_steps
from memory_write.withdrawals import Withdrawals
from state.home import Home
from state.ids import ThreadId
from state.recovery import State, open_state
from state.stores.backlog import Backlog
from state.stores.withdrawal import delete_thread_memory
from tests.support.clock import ManualClock
from tests.support.fault_seams import Operation, Seams
from tests.support.learning import Announced, OpenQuota
from tests.support.one_process import Models, Script, said_lines
from tests.support.rows import DAY_MS, NOW_MS, a_thread, an_output, thread_id

SETTINGS = MemorySettings(phase1=Phase1Limits(concurrent_max=1))
PUBLISHED, HEARD, FRESH, STALE, KEPT = (thread_id(number) for number in (1, 2, 3, 4, 5))
"""A thread whose memory is published, one that waits to be, one not heard yet, one long unused,
and one whose memory is published and stays whatever happens to the first."""


class NoPasses:
    """Nothing runs."""

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nothing to end."""
        yield


@asynccontextmanager
async def settled(root: Path, owner: str, *, later_ms: int = 0) -> AsyncIterator[State]:
    """A home as a start leaves it, closed at the end."""
    state = await open_state(Home(root), ManualClock(NOW_MS + later_ms), owner)
    try:
        await recover(state)
        yield state
    finally:
        await state.close()


async def prepare(root: Path) -> None:
    """The home that every operation begins with."""
    async with settled(root, "maker") as state:
        await _put(state, PUBLISHED, heard=True)
        await _put(state, KEPT, heard=True)
        await consolidate(state, None)
        await _put(state, HEARD, heard=True)
        await _put(state, FRESH, heard=False)
        await _put(state, STALE, heard=False)
        async with state.database.writing() as tx:
            old_ms = NOW_MS - 90 * DAY_MS
            await state.outputs.put(
                tx, an_output(4, source_updated_at_ms=old_ms, raw_memory="fact-000004")
            )


async def _put(state: State, chosen: ThreadId, *, heard: bool) -> None:
    number = int(chosen[-3:])
    row = a_thread(number, created_at_ms=NOW_MS - DAY_MS, updated_at_ms=NOW_MS - DAY_MS)
    path = state.home.root / row.rollout_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(said_lines(chosen, NOW_MS - DAY_MS, first=True)))
    async with state.database.writing() as tx:
        await state.threads.put(tx, row)
        if heard:
            fact = f"fact-{number:06d}"
            await state.outputs.put(tx, an_output(number, raw_memory=fact, rollout_summary=fact))
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=NOW_MS)


async def hear(state: State, seams: Seams | None) -> None:
    """Claim and hear the thread that was not heard, and store what was learned."""
    steps = no_steps if seams is None else seams.step
    phase1 = Phase1(state, Models(Script()), OpenQuota(), Announced(), SETTINGS, steps)
    await phase1.run_pass(current_thread=None, busy=frozenset(), everything=False, only=FRESH)


async def consolidate(state: State, seams: Seams | None) -> None:
    """Publish."""
    steps = no_steps if seams is None else seams.step
    phase2 = Phase2(state, Models(Script()), OpenQuota(), Announced(), SETTINGS, steps)
    await phase2.run(ignore_cooldown=True)


async def claim(state: State, seams: Seams | None) -> None:
    """Note an order, and claim both kinds of job."""
    async with state.database.reading() as read:
        row = await state.threads.get(read, FRESH)
    assert row is not None
    async with state.database.writing() as tx:
        await Backlog().ask(tx, version="v1", threads=[row])
    async with state.database.writing() as tx:
        await state.jobs.claim_extraction(
            tx,
            version="v1",
            thread_id=FRESH,
            watermark_ms=row.updated_at_ms,
            lease_s=90,
            running_max=8,
        )
    async with state.database.writing() as tx:
        await state.jobs.claim_consolidation(
            tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True
        )


async def prune(state: State, seams: Seams | None) -> None:
    """Drop what nobody used for long, outputs and jobs, as every pass does first."""
    await Housekeeping(state).keep(SETTINGS)


async def reset(state: State, seams: Seams | None) -> None:
    """Forget everything."""
    await MemoryReset(state, NoPasses()).run()


async def delete(state: State, seams: Seams | None) -> None:
    """Delete the thread whose memory is published, as the server does: its file, then its rows."""
    path = state.home.root / a_thread(1).rollout_path
    if path.exists():
        os.unlink(path)
    async with state.database.writing() as tx:
        await delete_thread_memory(
            tx,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=PUBLISHED,
            now_ms=state.clock.now_ms(),
        )
        await state.threads.delete(tx, PUBLISHED)


async def withdraw(state: State, seams: Seams | None) -> None:
    """Delete that thread, and publish by code without what it gave, as the server does then."""
    await delete(state, seams)
    steps = no_steps if seams is None else seams.step
    phase2 = Phase2(state, Models(Script()), OpenQuota(), Announced(), SETTINGS, steps)
    withdrawals = Withdrawals({"v1": phase2}, state.clock, state.outputs.withheld)
    try:
        await withdrawals.now()
    finally:
        await withdrawals.stop()


ON_STATE = {
    "claim": claim,
    "store": hear,
    "publish": consolidate,
    "prune": prune,
    "reset": reset,
    "delete": delete,
    "withdraw": withdraw,
}


def _whole(name: str) -> Operation:
    async def operation(root: Path, seams: Seams) -> None:
        async with settled(root, "worker") as state:
            await ON_STATE[name](state, seams)

    return operation


OPERATIONS = {name: _whole(name) for name in ON_STATE}
