"""Phase 2 on real files, real git objects and a real database.

Longer than the habit: one run is followed from its claim to its end.
"""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from memory_write.limits import DailyBudget, MemorySettings, Phase2Limits
from memory_write.phase2.steps import PHASE2_STEPS
from memory_write.ports import ConsolidationReport, ConsolidationRequest, ModelFailed
from state.recovery import State
from state.workspace.repo import Baseline
from state.workspace.snapshot import FileContent
from tests.support.clock import ManualClock
from tests.support.consolidation import (
    change_output,
    contents,
    drop_output,
    git,
    job_of,
    needs_git,
    open_modes,
    phase2_of,
    published,
    put_output,
)
from tests.support.consolidators import SUMMARY, USE, ScriptedConsolidator, Tools, write_well
from tests.support.faults import RecordedSteps
from tests.support.learning import Announced, OpenQuota, opened


def _plant_links(live: Path, outside: Path) -> None:
    outside.mkdir()
    (outside / "kept.md").write_text("kept")
    live.mkdir()
    (live / "extensions").symlink_to(outside)
    (live / "MEMORY.md").symlink_to(outside / "kept.md")


def _move_behind_a_link(live: Path, moved: Path) -> None:
    live.rename(moved)
    live.symlink_to(moved)


@pytest.mark.requirement("MW-F-fresh-home")
async def test_a_first_start_with_nothing_stored_calls_no_model(state: State, live: Path) -> None:
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent).run(ignore_cooldown=False)
    assert (report.status, report.reason) == ("unchanged", "nothing_selected")
    assert agent.requests == []
    assert (await job_of(state)).outcome == "nothing_selected"
    again = await phase2_of(state, agent).run(ignore_cooldown=False)
    assert again.status == "unchanged", "a pass without work starts no cooldown"


@pytest.mark.requirement("MW-8.3-diff-gone", "MW-9-27")
@needs_git
async def test_outputs_become_published_memory_with_one_clean_commit(
    state: State, live: Path
) -> None:
    first = await put_output(state, "the user wants small commits", idle_hours=12)
    second = await put_output(state, "the checks run with make check", idle_hours=11)
    agent = ScriptedConsolidator(write_well)
    announced = Announced()
    report = await phase2_of(state, agent, announce=announced).run(ignore_cooldown=False)

    assert report.status == "published"
    assert report.use == USE
    assert "small commits" in (live / "MEMORY.md").read_text()
    assert (live / "memory_summary.md").read_text() == SUMMARY
    assert len(list((live / "rollout_summaries").glob("*.md"))) == 2
    assert (live / "extensions/ad_hoc/instructions.md").exists()
    assert not (live / "phase2_workspace_diff.md").exists()
    assert git(live, "status", "--porcelain") == ""
    assert git(live, "rev-list", "--all", "--count").strip() == "1"
    assert "dangling" not in git(live, "fsck")
    assert list(state.home.staging.iterdir()) == []
    job = await job_of(state)
    assert (job.status, job.outcome) == ("done", "published")
    async with state.database.reading() as read:
        edition = await state.editions.latest(read, "v1")
        assert edition is not None
        assert edition.edition_id == report.edition_id
        assert set(edition.inputs.added) == {first, second}
        assert edition.commit_id == git(live, "rev-parse", "HEAD").strip()
        assert await state.outputs.max_consolidated(read, "v1") == 2
        stored = await state.outputs.get(read, "v1", first)
        assert stored is not None and stored.selected
        day = "2026-11-18"
        assert await state.spending.total(read, day=day, kind="consolidation") == 1_200
    assert [(one.what, one.data.get("step")) for one in announced.all] == [
        ("consolidation/started", None),
        ("consolidation/progress", "gathered"),
        ("consolidation/progress", "publishing"),
        ("consolidation/finished", None),
    ]
    assert announced.all[1].data["added"] == 2


async def test_the_agent_is_told_the_mode_and_the_diff_and_gets_seven_tools(
    state: State, live: Path
) -> None:
    await put_output(state, "the user wants small commits")
    seen: list[str] = []

    async def look(tools: Tools, request: ConsolidationRequest) -> None:
        content = (await tools.json("read", path="phase2_workspace_diff.md"))["content"]
        assert isinstance(content, str)
        seen.append(content)
        await write_well(tools, request)

    agent = ScriptedConsolidator(look)
    await phase2_of(state, agent).run(ignore_cooldown=False)
    request = agent.requests[0]
    names = [tool.name for tool in request.tools]
    assert names == ["list", "read", "search", "write", "edit", "move", "delete"]
    assert "Memory workspace diff: `phase2_workspace_diff.md`" in request.brief
    assert "Mode: INIT" in request.brief
    assert "Memory extensions (under" in request.brief
    assert "- A raw_memories.md" in seen[0]
    assert "+- the user wants small commits" in seen[0]


async def test_unchanged_inputs_cost_no_model_call_and_no_cooldown(
    state: State, live: Path
) -> None:
    await put_output(state, "the user wants small commits")
    await published(state)
    before = contents(live)
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert report.status == "unchanged"
    assert agent.requests == []
    assert contents(live) == before


async def test_a_success_starts_the_cooldown(state: State, clock: ManualClock) -> None:
    await put_output(state, "the user wants small commits")
    await published(state)
    await put_output(state, "the checks run with make check")
    phase2 = phase2_of(state, ScriptedConsolidator(write_well))
    assert (await phase2.run(ignore_cooldown=False)).reason == "cooldown"
    clock.advance(6 * 3_600)
    assert (await phase2.run(ignore_cooldown=False)).status == "published"


@pytest.mark.requirement("FR-C1", "MW-8.2-missing-artefacts")
async def test_a_missing_artefact_is_work_to_do_although_nothing_changed(
    state: State, live: Path
) -> None:
    await put_output(state, "the user wants small commits")
    await published(state)
    (live / "MEMORY.md").unlink()
    await published(state)
    assert (live / "MEMORY.md").exists()


@pytest.mark.requirement("MW-8.3-latest-only")
async def test_a_thread_that_went_takes_its_recap_with_it(state: State, live: Path) -> None:
    gone = await put_output(state, "the user lives in Paris")
    await put_output(state, "the user wants small commits")
    await published(state)
    await drop_output(state, gone)
    await published(state)
    assert "Paris" not in (live / "raw_memories.md").read_text()
    assert "Paris" not in (live / "MEMORY.md").read_text()
    async with state.database.reading() as read:
        edition = await state.editions.latest(read, "v1")
    assert edition is not None
    assert edition.inputs.removed == (gone,)


@pytest.mark.requirement("MW-8.3-latest-only")
async def test_a_changed_slug_renames_the_recap(state: State, live: Path) -> None:
    thread_id = await put_output(state, "the user wants small commits", slug="old name")
    await published(state)
    await change_output(state, thread_id, "the user wants small commits", slug="new name")
    await published(state)
    names = [path.name for path in (live / "rollout_summaries").iterdir()]
    assert len(names) == 1
    assert names[0].endswith("-new_name.md")


async def test_a_note_alone_is_reason_enough(state: State, live: Path) -> None:
    note = live / "extensions/ad_hoc/notes/2026-11-29T10-00-00-tea.md"
    note.parent.mkdir(parents=True)
    note.write_text("note: the user drinks tea\n")
    await published(state)
    assert "the user drinks tea" in (live / "MEMORY.md").read_text()
    assert note.read_text() == "note: the user drinks tea\n"


@needs_git
@pytest.mark.requirement("FR-C5")
async def test_a_note_written_during_a_run_is_carried_over_and_seen_by_the_next(
    state: State, live: Path
) -> None:
    await put_output(state, "the user wants small commits")
    note = live / "extensions/ad_hoc/notes/2026-11-29T10-00-00-tea.md"

    async def with_note(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        note.parent.mkdir(parents=True)
        note.write_text("note: the user drinks tea\n")

    report = await phase2_of(state, ScriptedConsolidator(with_note)).run(ignore_cooldown=True)
    assert report.status == "published"
    assert note.read_text() == "note: the user drinks tea\n"
    assert git(live, "status", "--porcelain").startswith("?? extensions/ad_hoc/notes/")
    await published(state)
    assert "the user drinks tea" in (live / "MEMORY.md").read_text()
    assert git(live, "status", "--porcelain") == ""


@pytest.mark.parametrize("step", ["phase2/consolidated", "phase2/swapping", "phase2/swapped"])
async def test_a_note_written_at_the_last_moment_is_not_lost(
    state: State, live: Path, step: str
) -> None:
    """Also one written to the former folder just when it was swapped away is found again."""
    await put_output(state, "the user wants small commits")
    note = live / "extensions/ad_hoc/notes/2026-11-29T10-00-00-tea.md"

    def write() -> None:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("note: tea\n")

    steps = RecordedSteps(step, write)
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent, steps=steps).run(ignore_cooldown=True)
    assert report.status == "published"
    assert note.read_text() == "note: tea\n"


@pytest.mark.requirement("FR-C5", "MW-9-12")
@pytest.mark.parametrize(
    "step", ["phase2/staged", "phase2/consolidating", "phase2/consolidated", "phase2/swapping"]
)
async def test_a_hand_edit_during_a_run_is_kept_and_the_run_is_tried_again(
    state: State, live: Path, clock: ManualClock, step: str
) -> None:
    await put_output(state, "the user wants small commits")
    await published(state)
    await put_output(state, "the checks run with make check")

    def edit() -> None:
        with (live / "MEMORY.md").open("a") as file:
            file.write("\nA line by hand.\n")

    steps = RecordedSteps(step, edit)
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent, steps=steps).run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "edited_meanwhile")
    assert (live / "MEMORY.md").read_text().endswith("\nA line by hand.\n")
    job = await job_of(state)
    assert job.retry_at_ms == clock.now_ms() + 30_000
    assert job.attempts_left == 3
    async with state.database.reading() as read:
        assert await state.editions.open_ones(read) == []


async def test_every_step_is_announced_in_its_order(state: State) -> None:
    await put_output(state, "the user wants small commits")
    steps = RecordedSteps()
    agent = ScriptedConsolidator(write_well)
    await phase2_of(state, agent, steps=steps).run(ignore_cooldown=True)
    assert tuple(steps.seen) == PHASE2_STEPS


@pytest.mark.requirement("MW-F-outage")
async def test_a_model_that_is_down_uses_up_no_retry_and_waits_longer_each_time(
    state: State, live: Path, clock: ManualClock
) -> None:
    await put_output(state, "the user wants small commits")

    async def down(tools: Tools, request: ConsolidationRequest) -> None:
        raise ModelFailed("unavailable", transient=True)

    phase2 = phase2_of(state, ScriptedConsolidator(down))
    for delay_s in (60, 120, 240):
        report = await phase2.run(ignore_cooldown=True)
        assert (report.status, report.reason) == ("failed", "model:unavailable")
        job = await job_of(state)
        assert job.retry_at_ms == clock.now_ms() + delay_s * 1_000
        assert job.attempts_left == 3
        clock.advance(delay_s)
    assert not (live / "MEMORY.md").exists()


async def test_a_run_that_cost_something_and_gave_nothing_waits_longer_each_time(
    state: State, clock: ManualClock
) -> None:
    await put_output(state, "the user wants small commits")

    async def broken(tools: Tools, request: ConsolidationRequest) -> None:
        raise ModelFailed("refused", transient=False)

    phase2 = phase2_of(state, ScriptedConsolidator(broken))
    for delay_s in (3_600, 7_200, 14_400):
        assert (await phase2.run(ignore_cooldown=True)).reason == "model:refused"
        assert (await job_of(state)).retry_at_ms == clock.now_ms() + delay_s * 1_000
        clock.advance(delay_s)


@pytest.mark.requirement("MW-9-11")
async def test_a_wall_clock_cap_ends_an_agent_that_never_stops(
    state: State, live: Path, clock: ManualClock
) -> None:
    """The cap is the clock's; what the agent still tries afterwards changes nothing."""
    await put_output(state, "the user wants small commits")
    await published(state)
    await put_output(state, "the checks run with make check")
    before = contents(live)
    tried: list[str] = []

    async def stubborn(tools: Tools, request: ConsolidationRequest) -> None:
        while True:
            try:
                clock.advance(15)
                await tools("list")
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                tried.append(await tools("write", path="MEMORY.md", content="too late"))
                raise

    limits = Phase2Limits(seconds_max=120)
    phase2 = phase2_of(
        state, ScriptedConsolidator(stubborn), settings=MemorySettings(phase2=limits)
    )
    report = await phase2.run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "capped:seconds")
    assert contents(live) == before
    assert list(state.home.staging.iterdir()) == []
    assert (await job_of(state)).attempts_left == 2


@pytest.mark.requirement("FR-K1", "MW-9-11")
async def test_an_agent_that_calls_tools_in_circles_is_ended(state: State, live: Path) -> None:
    await put_output(state, "the user wants small commits")

    async def circle(tools: Tools, request: ConsolidationRequest) -> None:
        while True:
            await tools("list")

    limits = Phase2Limits(turns_max=2)
    agent = ScriptedConsolidator(circle)
    phase2 = phase2_of(state, agent, settings=MemorySettings(phase2=limits))
    report = await phase2.run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "capped:tool_calls")
    assert len(agent.replies) < 60


@pytest.mark.requirement("FR-K1", "MW-9-14")
@pytest.mark.parametrize("cap", ["turns", "tokens"])
async def test_what_a_capped_agent_wrote_is_not_published(
    state: State, live: Path, cap: str
) -> None:
    await put_output(state, "the user wants small commits")
    report = ConsolidationReport(use=USE, model_calls=60, stopped_by=cap)
    ended = await phase2_of(state, ScriptedConsolidator(write_well, report)).run(
        ignore_cooldown=True
    )
    assert (ended.status, ended.reason) == ("failed", f"capped:{cap}")
    assert not (live / "MEMORY.md").exists()
    assert ended.use == USE


async def test_the_day_budget_is_held_and_lowers_the_cap_of_a_run(
    state: State, clock: ManualClock
) -> None:
    await put_output(state, "the user wants small commits")
    agent = ScriptedConsolidator(write_well)
    settings = MemorySettings(budget=DailyBudget(consolidation_tokens=2_000))
    phase2 = phase2_of(state, agent, settings=settings)
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    assert agent.requests[0].budget.tokens_max == 2_000
    await put_output(state, "the checks run with make check")
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    assert agent.requests[1].budget.tokens_max == 800
    await put_output(state, "titles are short")
    report = await phase2.run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "budget")
    assert len(agent.requests) == 2
    assert report.retry_at_ms is not None
    assert report.retry_at_ms // 1000 % 86_400 == 0, "it waits for the next day"


async def test_a_quota_that_refuses_holds_back_only_what_would_cost(state: State) -> None:
    quota = OpenQuota("limit")
    agent = ScriptedConsolidator(write_well)
    phase2 = phase2_of(state, agent, quota=quota)
    assert (await phase2.run(ignore_cooldown=True)).status == "unchanged"
    await put_output(state, "the user wants small commits")
    report = await phase2.run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "quota:limit")
    assert agent.requests == []
    assert (await job_of(state)).attempts_left == 3


@pytest.mark.requirement("MW-9-12", "MR-9-18")
async def test_a_lost_lease_leaves_the_published_memory(state: State, live: Path) -> None:
    """The job is cleared under a run that is about to publish: what it wrote goes nowhere."""
    await put_output(state, "the user wants small commits")
    await published(state)
    await put_output(state, "the checks run with make check")
    before = contents(live)

    async def clear() -> None:
        async with state.database.writing() as tx:
            await state.jobs.clear(tx, "v1")

    for step in ("phase2/consolidated", "phase2/committed", "phase2/intended", "phase2/swapped"):
        phase2 = phase2_of(
            state, ScriptedConsolidator(write_well), steps=RecordedSteps(step, clear)
        )
        report = await phase2.run(ignore_cooldown=True)
        assert (report.status, report.reason) == ("failed", "lease_lost"), step
        assert contents(live) == before, step
        assert list(state.home.staging.iterdir()) == []
        async with state.database.reading() as read:
            assert await state.editions.open_ones(read) == []
            assert await state.outputs.max_consolidated(read, "v1") == 1, "only its holder counts"


@pytest.mark.requirement("MW-F-clean-stop")
async def test_a_cancelled_run_gives_its_job_back(state: State, live: Path) -> None:
    await put_output(state, "the user wants small commits")
    started = asyncio.Event()

    async def wait(tools: Tools, request: ConsolidationRequest) -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(
        phase2_of(state, ScriptedConsolidator(wait)).run(ignore_cooldown=True)
    )
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(state.home.staging.iterdir()) == []
    assert (await job_of(state)).attempts_left == 3
    await published(state)


@pytest.mark.requirement("MW-F-links-put")
async def test_links_in_the_folder_are_removed_and_a_linked_root_is_refused(
    state: State, live: Path, tmp_path: Path
) -> None:
    await put_output(state, "the user wants small commits")
    outside = tmp_path / "outside"
    _plant_links(live, outside)
    await published(state)
    assert (outside / "kept.md").read_text() == "kept"
    assert [path.name for path in outside.iterdir()] == ["kept.md"]
    assert not (live / "extensions").is_symlink()

    _move_behind_a_link(live, tmp_path / "moved")
    before = contents(tmp_path / "moved")
    await put_output(state, "the checks run with make check")
    report = await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    assert report.status == "failed"
    assert report.reason == "workspace_unsafe: it is a link"
    assert contents(tmp_path / "moved") == before


@pytest.mark.requirement("FR-F22", "MW-8.2-root")
async def test_everything_written_is_for_its_owner_only_whatever_the_umask(
    tmp_path: Path, clock: ManualClock
) -> None:
    before = os.umask(0)
    try:
        async with opened(tmp_path / "home", clock) as state:
            await put_output(state, "the user wants small commits")
            seen: list[str] = []

            def look() -> None:
                seen.extend(open_modes(state.home.staging))

            phase2 = phase2_of(
                state,
                ScriptedConsolidator(write_well),
                steps=RecordedSteps("phase2/intended", look),
            )
            assert (await phase2.run(ignore_cooldown=True)).status == "published"
            assert open_modes(state.home.memories("v1")) == []
            assert seen == []
    finally:
        os.umask(before)


@needs_git
@pytest.mark.requirement("FR-C6", "MW-8.3-baseline")
async def test_the_git_settings_of_the_user_have_no_effect(
    state: State, live: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "hook-ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "reference-transaction"):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
        hook.chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        "[commit]\n\tgpgsign = true\n[user]\n\tsigningkey = NONE\n"
        f"[core]\n\thooksPath = {hooks}\n\tautocrlf = true\n\teol = crlf\n"
        "[init]\n\tdefaultBranch = odd\n[index]\n\tversion = 4\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    await put_output(state, "the user wants\r\nsmall commits\n")
    await published(state)
    assert not ran.exists()
    raw = (live / "raw_memories.md").read_bytes()
    assert b"\r\n" in raw
    committed = Baseline(live).blob_ids("")
    assert committed["raw_memories.md"] == FileContent(data=raw).blob_id, "its bytes"
    assert git(live, "rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    assert git(live, "status", "--porcelain") == ""


@pytest.mark.requirement("MW-8.2-models")
async def test_settings_name_the_model(state: State) -> None:
    await put_output(state, "the user wants small commits")
    agent = ScriptedConsolidator(write_well)
    settings = replace(
        MemorySettings(), consolidation_model="big-1", consolidation_service_tier="flex"
    )
    await phase2_of(state, agent, settings=settings).run(ignore_cooldown=True)
    assert agent.requests[0].model.model == "big-1"
    assert agent.requests[0].model.effort == "medium"
    assert agent.requests[0].model.service_tier == "flex"
