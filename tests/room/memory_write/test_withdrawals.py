"""What a deleted or barred thread gave is taken out whatever comes between, and proved to be."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memory_write.controls.outside import Barred, NotStored, OutsideContext
from memory_write.phase2.recover import recover
from memory_write.withdrawals import RETRY_FIRST_S, Withdrawals
from state.ids import ThreadId
from state.recovery import State
from state.stores.withdrawal import (
    OutsideSource,
    change_memory_mode,
    delete_thread_memory,
    outside_source,
)
from tests.support.clock import ManualClock
from tests.support.consolidation import consolidated, contents, phase2_of, put_output
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.learning import Announced, opened

NOTE = "2026-11-18T09-00-00-port.md"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def state(tmp_path: Path, clock: ManualClock) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", clock) as state:
        yield state


async def deleted(state: State, thread_id: ThreadId) -> None:
    """As when a person deletes a thread."""
    async with state.database.writing() as tx:
        await delete_thread_memory(
            tx,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=thread_id,
            now_ms=state.clock.now_ms(),
        )
        await state.threads.delete(tx, thread_id)


@pytest.mark.requirement("FR-F4")
@pytest.mark.parametrize("step", ["phase2/intended", "phase2/swapping", "phase2/swapped"])
async def test_a_kill_while_an_input_is_deleted_publishes_nothing_of_it(
    tmp_path: Path, clock: ManualClock, step: str
) -> None:
    """The deletion is committed, then the process dies: the next start leaves no word of it."""

    class Killed(BaseException):
        """Stands for the end of the process: nothing after it is carried out."""

    home = tmp_path / "home"
    async with opened(home, clock) as state:
        await put_output(state, "the user wants small commits")
        await consolidated(state)
        gone = await put_output(state, "the codeword is zanzibar")

        async def at(name: str) -> None:
            if name == step:
                await deleted(state, gone)
                raise Killed

        with pytest.raises(Killed):
            await phase2_of(state, ScriptedConsolidator(write_well), steps=at).run(
                ignore_cooldown=True
            )
    async with opened(home, clock, owner="second") as again:
        await recover(again)
        phase2 = phase2_of(again, ScriptedConsolidator(write_well))
        withdrawals = Withdrawals({"v1": phase2}, clock, again.outputs.withheld)
        await withdrawals.before_reading()
        live = again.home.memories("v1")
        shown = [
            path
            for path, data in contents(live).items()
            if b"zanzibar" in data and ".git" not in path
        ]
        assert shown == [] and not withdrawals.pending
        assert "small commits" in (live / "MEMORY.md").read_text()


@pytest.mark.requirement("FR-F4")
async def test_a_withdrawal_that_cannot_be_done_is_pending_until_it_is_proved(
    state: State, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk refuses, then it works again: it is tried until nothing stands there."""
    gone = await put_output(state, "the codeword is zanzibar")
    await put_output(state, "the user wants small commits")
    await consolidated(state)
    await deleted(state, gone)
    live = state.home.memories("v1")
    phase2 = phase2_of(state, ScriptedConsolidator(write_well))
    withdrawals = Withdrawals({"v1": phase2}, clock, state.outputs.withheld)
    former = os.mkdir

    def refused(path: Any, *rest: Any, **more: Any) -> None:
        if "v1-" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        former(path, *rest, **more)

    monkeypatch.setattr(os, "mkdir", refused)
    assert await withdrawals.now() == {"v1": "disk_full"}
    assert withdrawals.pending == {"v1": "disk_full"}
    assert "zanzibar" in (live / "MEMORY.md").read_text()
    monkeypatch.setattr(os, "mkdir", former)
    async with asyncio.timeout(20):
        while withdrawals.pending:
            await asyncio.sleep(0)
            clock.advance(RETRY_FIRST_S)
    assert "zanzibar" not in (live / "MEMORY.md").read_text()
    await withdrawals.stop()


class OneVersion:
    """The lanes of a server with one version."""

    versions = ("v1",)

    def __init__(self, withdrawals: Withdrawals) -> None:
        self._withdrawals = withdrawals

    def withdraw_soon(self) -> None:
        """As the lanes do it."""
        self._withdrawals.soon()


@pytest.mark.requirement("FR-F4")
async def test_outside_context_bars_a_thread_and_its_return_brings_all_back(
    state: State, clock: ManualClock, tmp_path: Path
) -> None:
    """It is pending until the files are without it; source and mode outlive the database."""
    barred = await put_output(state, "the codeword is zanzibar")
    await put_output(state, "the user wants small commits")
    await consolidated(state)
    live = state.home.memories("v1")
    phase2 = phase2_of(state, ScriptedConsolidator(write_well))
    told = Announced()
    withdrawals = Withdrawals({"v1": phase2}, clock, state.outputs.withheld)
    outside = OutsideContext(state, OneVersion(withdrawals), told)
    source = OutsideSource("mcp", "tickets")
    assert await outside.taken_in(ThreadId("no such thread"), source) == NotStored()
    assert await outside.taken_in(barred, source) == Barred(newly=True)
    assert withdrawals.pending == {"v1": "under_way"}
    assert await withdrawals.now() == {}
    assert "zanzibar" not in (live / "MEMORY.md").read_text()
    assert await outside.taken_in(barred, OutsideSource("web_search", "web")) == Barred(newly=False)
    async with state.database.reading() as read:
        assert await outside_source(read, barred) == source
    assert '"kind":"mcp","name":"tickets"' in state.home.journal.read_text()
    async with state.database.writing() as tx:
        assert await change_memory_mode(
            tx,
            threads=state.threads,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=barred,
            mode="enabled",
            now_ms=clock.now_ms(),
        )
    await phase2.run(ignore_cooldown=True)
    assert "zanzibar" in (live / "MEMORY.md").read_text()
    async with state.database.reading() as read:
        assert await outside_source(read, barred) is None
