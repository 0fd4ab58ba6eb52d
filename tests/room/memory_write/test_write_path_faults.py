"""What goes wrong under a consolidation is told, costs no retry, and loses nobody's words."""

import asyncio
import errno
import importlib
import os
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memory_write.phase2.recover import recover
from memory_write.ports import ConsolidationRequest
from state.notes import Kept, keep_note
from state.recovery import State
from state.workspace.carrying import carried_text
from state.workspace.layout import NOTES
from tests.support.clock import ManualClock
from tests.support.consolidation import consolidated, contents, job_of, phase2_of, put_output
from tests.support.consolidators import SUMMARY, ScriptedConsolidator, Tools, write_well
from tests.support.learning import opened

NOTE = "2026-11-18T09-00-00-port.md"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def state(tmp_path: Path, clock: ManualClock) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", clock) as state:
        yield state


async def noted(state: State, text: str, name: str = NOTE) -> None:
    """A note of the user's."""
    assert isinstance(await keep_note(state, "v1", name, text), Kept)


@pytest.mark.requirement("FR-S13")
@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOSPC, "disk_full"), (errno.EIO, "disk_error")]
)
@pytest.mark.parametrize("tool", ["write", "read"])
async def test_a_machine_that_fails_under_a_tool_ends_the_job_and_costs_no_retry(
    state: State,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    reason: str,
    tool: str,
) -> None:
    """Whatever the model makes of the reply: nothing is published, and the next run is soon."""
    await put_output(state, "the user wants small commits")
    await consolidated(state)
    before = contents(state.home.memories("v1"))
    await put_output(state, "titles are short")
    former = os.open

    def refused(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if "MEMORY.md" in str(path) and more.get("dir_fd") is not None:
            raise OSError(number, os.strerror(number))
        return former(path, flags, *rest, **more)

    async def carries_on(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        with monkeypatch.context() as broken:
            broken.setattr(os, "open", refused)
            arguments = {"path": "MEMORY.md"} | ({"content": "x"} if tool == "write" else {})
            await tools(tool, **arguments)
        assert "has ended" in await tools("write", path="MEMORY.md", content="x")

    agent = ScriptedConsolidator(carries_on)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", reason)
    assert report.use.total_tokens >= 0
    assert contents(state.home.memories("v1")) == before
    job = await job_of(state)
    assert (job.status, job.attempts_left) == ("failed", 3)
    assert job.retry_at_ms is not None and job.retry_at_ms <= clock.now_ms() + 120_000
    clock.advance(120)
    await consolidated(state)


@pytest.mark.requirement("FR-S13")
async def test_a_copy_that_cannot_be_made_costs_no_retry(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The staging folder of a failing disk."""
    await put_output(state, "the user wants small commits")
    former = os.mkdir

    def refused(path: Any, *rest: Any, **more: Any) -> None:
        if "v1-" in str(path):
            raise OSError(errno.EIO, "Input/output error")
        former(path, *rest, **more)

    monkeypatch.setattr(os, "mkdir", refused)
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "disk_error")
    assert (await job_of(state)).attempts_left == 3 and not agent.requests


@pytest.mark.requirement("FR-C5")
async def test_what_is_written_between_swap_and_loss_is_carried_back(state: State) -> None:
    """The job is taken over just after its swap: a note and a hand edit of then stand after it."""
    await put_output(state, "the user wants small commits")
    await consolidated(state)
    live = state.home.memories("v1")
    former = (live / "MEMORY.md").read_text()
    await put_output(state, "titles are short")

    async def at(step: str) -> None:
        if step != "phase2/swapped":
            return
        assert "titles are short" in (live / "MEMORY.md").read_text()
        await noted(state, "the port is 8080")
        with (live / "MEMORY.md").open("a") as file:
            file.write("- written by hand\n")
        async with state.database.writing() as tx:
            await state.jobs.clear(tx, "v1")

    report = await phase2_of(state, ScriptedConsolidator(write_well), steps=at).run(
        ignore_cooldown=True
    )
    assert (report.status, report.reason) == ("failed", "lease_lost")
    assert (live / NOTES / NOTE).read_text() == "the port is 8080"
    text = (live / "MEMORY.md").read_text()
    assert "- written by hand" in text and "titles are short" not in text
    assert text.replace("- written by hand\n", "") == former


def test_edits_are_put_into_another_text() -> None:
    """Added lines stand behind the line they stood behind; removed ones go; the rest stays."""
    before = "# A\n- one\n- two\n# B\n- new\n"
    edited = "# A\n- one\n- by hand\n# B\n- new\n- last\n"
    assert carried_text(before, edited, "# A\n- one\n- two\n- old\n") == (
        "# A\n- one\n- by hand\n- last\n- old\n"
    )
    assert carried_text(before, before, "other\n") == "other\n"


@pytest.mark.parametrize("by", ["start", "consolidation"])
async def test_a_note_lost_with_its_folder_is_worked_in_after_all(state: State, by: str) -> None:
    """It is back at the next start or consolidation; once worked in it comes back no more."""
    await put_output(state, "the user wants small commits")
    await consolidated(state)
    await noted(state, "note: the port is 8080")
    live = state.home.memories("v1")
    shutil.rmtree(live)
    if by == "start":
        await recover(state)
        assert (live / NOTES / NOTE).read_text() == "note: the port is 8080"
    await consolidated(state)
    assert "the port is 8080" in (live / "MEMORY.md").read_text()
    assert "8080" not in state.home.journal.read_text(), "what is worked in left the journal"
    shutil.rmtree(live)
    await recover(state)
    assert not (live / NOTES).exists()


@pytest.mark.requirement("FR-C13")
async def test_a_model_that_looks_and_finds_nothing_to_add_is_done(state: State) -> None:
    """Asked once more it stands by it: the job is done with that reason, and not run again."""

    async def looks(tools: Tools, request: ConsolidationRequest) -> None:
        await tools("read", path="phase2_workspace_diff.md")

    await put_output(state, "the user wants small commits")
    await consolidated(state)
    live = state.home.memories("v1")
    handbook = (live / "MEMORY.md").read_bytes()
    await put_output(state, "hello again")
    agent = ScriptedConsolidator(looks)
    assert await consolidated(state, agent) == "nothing_added"
    assert len(agent.requests) == 2
    assert (await job_of(state)).outcome == "nothing_added"
    assert (live / "MEMORY.md").read_bytes() == handbook
    assert len(list((live / "rollout_summaries").iterdir())) == 2
    assert (await phase2_of(state, agent).run(ignore_cooldown=True)).status == "unchanged"
    assert len(agent.requests) == 2


async def test_a_model_that_never_works_anything_in_waits_longer_each_time(
    state: State, clock: ManualClock
) -> None:
    """It did not even look: no success, and not every hour for ever."""

    async def nothing(tools: Tools, request: ConsolidationRequest) -> None:
        return None

    await put_output(state, "the user wants small commits")
    await consolidated(state)
    await put_output(state, "titles are short")
    phase2 = phase2_of(state, ScriptedConsolidator(nothing))
    waits = []
    for _ in range(4):
        report = await phase2.run(ignore_cooldown=True)
        assert (report.reason or "").startswith("unsound: nothing_written")
        assert report.retry_at_ms is not None
        waits.append(report.retry_at_ms - clock.now_ms())
        clock.advance(report.retry_at_ms / 1_000 - clock.now_ms() / 1_000 + 1)
    assert waits == [waits[0] * factor for factor in (1, 2, 4, 8)]


@pytest.mark.requirement("FR-C9")
async def test_a_note_holds_against_a_model_that_is_sure_of_itself(state: State) -> None:
    """Note: port 8080. The model writes 9090: 8080 is published, and the conflict is listed."""
    await put_output(state, "the dev server listens on port 9090 (confidence: 1.0)")
    await noted(state, "The dev server listens on port 8080.")

    async def trusts_itself(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        summary = SUMMARY.replace(
            "- Run the checks first.", "- The dev server listens on port 9090, restart in 30 s."
        )
        await tools("write", path="memory_summary.md", content=summary)

    await consolidated(state, ScriptedConsolidator(trusts_itself))
    live = state.home.memories("v1")
    summary = (live / "memory_summary.md").read_text()
    assert "port 8080" in summary and "9090" not in summary
    [conflict] = [line for line in (live / "MEMORY.md").read_text().split("\n") if "9090" in line]
    assert "port 8080. A session says otherwise, and the note holds:" in conflict


@pytest.mark.requirement("FR-C9")
async def test_what_the_user_said_after_the_note_is_no_inference(state: State) -> None:
    """And a number of something else is no contradiction."""
    await noted(state, "The dev server listens on port 8080.", "2026-11-01T09-00-00-port.md")
    await put_output(state, 'the user said: "the dev server listens on port 9090 from now on"')
    await put_output(state, "the dev server listens again 30 seconds after a restart")
    await consolidated(state)
    text = (state.home.memories("v1") / "MEMORY.md").read_text()
    assert "port 9090" in text and "30 seconds" in text and "note holds" not in text


@pytest.mark.parametrize("where", ["author.write_back", "gather.sync"])
async def test_a_run_that_is_stopped_while_a_thread_writes_leaves_no_copy(
    state: State,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    where: str,
) -> None:
    """The thread ends first, then the copy goes, without a word in the log."""
    await put_output(state, "the user wants small commits")
    module, name = where.split(".")
    owner = importlib.import_module(f"memory_write.phase2.{module}")
    former, began, go_on = getattr(owner, name), threading.Event(), threading.Event()

    def slowly(*given: Any) -> None:
        began.set()
        go_on.wait(20)
        former(*given)

    monkeypatch.setattr(owner, name, slowly)
    run = asyncio.create_task(
        phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    )
    await asyncio.to_thread(began.wait, 20)
    run.cancel()
    await asyncio.sleep(0)
    assert not run.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert list(state.home.staging.iterdir()) == []
    assert "could not be removed" not in caplog.text
    assert (await job_of(state)).reason == "cancelled"
