"""A note and an edit by hand stay in force until somebody has worked them in."""

import logging
import shutil

import pytest

from memory_write.hand_lines import group_name, places_of
from memory_write.phase2.recover import recover
from memory_write.ports import ConsolidationRequest
from state.notes import Kept, keep_note
from state.recovery import State
from state.workspace.layout import NOTES
from state.workspace.repo import Baseline
from state.workspace.staging import clear_staging
from tests.support.clock import ManualClock
from tests.support.consolidation import phase2_of, published, put_output
from tests.support.consolidators import ScriptedConsolidator, Tools, write_well
from tests.support.faults import RecordedSteps

NOTE = "2026-11-18T09-00-00-port.md"


async def looks(tools: Tools, request: ConsolidationRequest) -> None:
    """Reads what came, and writes nothing."""
    await tools("read", path="phase2_workspace_diff.md")


async def passes_over(tools: Tools, request: ConsolidationRequest) -> None:
    """Does not even look."""


def in_force(state: State) -> bool:
    """Whether a new thread is told the note, since no edition has it."""
    live = state.home.memories("v1")
    return (live / NOTES / NOTE).exists() and f"{NOTES}/{NOTE}" not in Baseline(live).blob_ids("")


async def noted(state: State) -> None:
    """A consolidated memory, and a new note."""
    await put_output(state, "the user wants small commits")
    await published(state)
    assert isinstance(await keep_note(state, "v1", NOTE, "note: the port is 8080"), Kept)


@pytest.mark.requirement("P11")
async def test_a_note_that_was_passed_over_is_not_published_as_worked_in(state: State) -> None:
    await noted(state)
    agent = ScriptedConsolidator(passes_over)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert report.status == "failed" and "nothing_written" in str(report.reason)
    assert in_force(state)


@pytest.mark.requirement("P11")
async def test_a_note_that_was_looked_at_and_not_worked_in_stays_in_force(state: State) -> None:
    await noted(state)
    await published(state, ScriptedConsolidator(looks))
    assert in_force(state)
    assert "8080" in state.home.journal.read_text()
    await published(state, ScriptedConsolidator(write_well))
    assert not in_force(state), "the next one worked it in"


@pytest.mark.requirement("P11")
async def test_an_edit_by_hand_that_nobody_worked_in_outlives_the_run_after(state: State) -> None:
    await noted(state)
    await published(state)
    handbook = state.home.memories("v1") / "MEMORY.md"
    handbook.write_text(f"{handbook.read_text()}- by hand: remark\n")
    await published(state, ScriptedConsolidator(looks))
    await published(state)
    assert "- by hand: remark" in handbook.read_text()


@pytest.mark.requirement("FR-C5", "P11")
async def test_an_edit_by_hand_in_a_project_s_block_that_nobody_worked_in_holds_there(
    state: State,
) -> None:
    """In the handbook under a block of that folder, in the summary with its name."""
    await put_output(state, "the user wants small commits")
    await published(state)
    live = state.home.memories("v1")
    handbook, summary = live / "MEMORY.md", live / "memory_summary.md"
    [place] = {one for one in places_of(handbook.read_text()) if one}
    handbook.write_text(f"{handbook.read_text()}- by hand: remark\n")
    summary.write_text(f"{summary.read_text()}\n### {place}\n\n- by hand: detail\n")
    await published(state)
    text = handbook.read_text()
    assert dict(zip(text.split("\n"), places_of(text), strict=True))["- by hand: remark"] == place
    assert f"- by hand: detail (in {group_name(place)})" in summary.read_text()


@pytest.mark.requirement("P11")
async def test_a_run_whose_copy_its_new_holder_cleared_away_ends_as_lost(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    await put_output(state, "the user wants small commits")

    async def taken_over() -> None:
        async with state.database.writing() as tx:
            await state.jobs.claim_consolidation(
                tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True, take_over=True
            )
        clear_staging(state.home, version="v1")

    steps = RecordedSteps(at="phase2/consolidated", action=taken_over)
    with caplog.at_level(logging.INFO):
        report = await phase2_of(state, ScriptedConsolidator(write_well), steps=steps).run(
            ignore_cooldown=True
        )
    assert (report.status, report.reason) == ("failed", "lease_lost")
    assert not [one for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR]


@pytest.mark.requirement("P11")
async def test_a_run_whose_edition_its_new_holder_settled_ends_as_published(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    await put_output(state, "the user wants small commits")

    async def settled() -> None:
        async with state.database.writing() as tx:
            await state.jobs.claim_consolidation(
                tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True, take_over=True
            )
        await recover(state)

    steps = RecordedSteps(at="phase2/marking", action=settled)
    report = await phase2_of(state, ScriptedConsolidator(write_well), steps=steps).run(
        ignore_cooldown=True
    )
    assert report.status == "published"
    assert not [one for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR]


@pytest.mark.requirement("P11")
async def test_a_folder_that_is_deleted_just_before_the_swap_is_an_edit(
    state: State, clock: ManualClock
) -> None:
    await put_output(state, "the user wants small commits")
    live = state.home.memories("v1")
    steps = RecordedSteps(at="phase2/swapping", action=lambda: shutil.rmtree(live))
    report = await phase2_of(state, ScriptedConsolidator(write_well), steps=steps).run(
        ignore_cooldown=True
    )
    assert report.reason == "edited_meanwhile"
    clock.advance(60)
    await published(state)
