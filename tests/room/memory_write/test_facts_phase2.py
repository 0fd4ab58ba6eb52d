"""Facts about consolidation that the original's tests and failures name, one by one."""

import os
from pathlib import Path

import pytest

from memory_write.limits import Phase2Limits
from memory_write.ports import ConsolidationRequest
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.consolidation import (
    contents,
    drop_output,
    git,
    job_of,
    needs_git,
    phase2_of,
    published,
    put_output,
)
from tests.support.consolidators import ScriptedConsolidator, Tools, write_well


def recaps(live: Path) -> list[str]:
    """What stands first in each recap, and its words."""
    return [path.read_text() for path in sorted((live / "rollout_summaries").iterdir())]


@needs_git
@pytest.mark.requirement("MW-8.2-diff-across-runs")
async def test_with_room_for_one_the_newer_replaces_the_older(
    state: State, live: Path, clock: ManualClock
) -> None:
    one = Phase2Limits(outputs_max=1)
    old = await put_output(state, "the user wants small commits", idle_hours=12)
    await published(state, limits=one)
    [first] = recaps(live)
    assert f"thread_id: {old}" in first and "git_branch: main" in first
    new = await put_output(state, "the checks run with make check", idle_hours=8)
    shown: list[str] = []

    async def looks(tools: Tools, request: ConsolidationRequest) -> None:
        shown.append(await tools("read", path="phase2_workspace_diff.md"))
        await write_well(tools, request)

    agent = await published(state, ScriptedConsolidator(looks), limits=one)
    [second] = recaps(live)
    assert f"thread_id: {new}" in second and old not in second
    raw = (live / "raw_memories.md").read_text()
    assert new in raw and old not in raw
    assert new in shown[0], "it is told what came"
    assert git(live, "status", "--porcelain") == ""
    held = await phase2_of(state, agent).run(ignore_cooldown=False)
    assert held.status == "skipped" and held.reason == "cooldown"


@pytest.mark.requirement("MW-8.2-old-resources")
async def test_old_resources_go_also_without_any_output(state: State, live: Path) -> None:
    """A resource eight days old goes, one of six days stays; nobody was learned from."""
    folder = live / "extensions" / "feed" / "resources"
    folder.mkdir(parents=True, mode=0o700)
    (folder.parent / "instructions.md").write_text("Read the resources.\n")
    for day in (10, 12):  # the clock stands at 2026-11-18
        (folder / f"2026-11-{day}T11-06-40-x-10min-note.md").write_text("seen\n")
    await published(state)
    left = sorted(path.name[:10] for path in folder.iterdir())
    assert left == ["2026-11-12"]


@pytest.mark.requirement("MW-8.3-baseline")
async def test_looking_for_changes_writes_no_objects(state: State, live: Path) -> None:
    await put_output(state, "the user wants small commits")
    await published(state)
    objects = {path for path in contents(live) if path.startswith(".git/objects")}
    (live / "skills").mkdir(exist_ok=True)
    (live / "MEMORY.md").write_text((live / "MEMORY.md").read_text() + "\n- by hand\n")

    async def breaks(tools: Tools, request: ConsolidationRequest) -> None:
        await tools("delete", path="MEMORY.md")

    await phase2_of(state, ScriptedConsolidator(breaks)).run(ignore_cooldown=True)
    assert {path for path in contents(live) if path.startswith(".git/objects")} == objects


@pytest.mark.requirement("MW-8.3-size")
async def test_limits_of_the_folder_count_neither_git_nor_links(state: State, live: Path) -> None:
    """A loop of links does no harm, and git's own objects take none of the room."""
    await put_output(state, "the user wants small commits")
    await published(state)
    (live / "skills").mkdir(exist_ok=True)
    (live / "skills" / "loop").symlink_to(live, target_is_directory=True)
    (live / ".git" / "large").write_bytes(b"x" * 2_000_000)
    await put_output(state, "titles are short")
    await published(state, limits=Phase2Limits(folder_bytes_max=200_000))
    assert not (live / "skills" / "loop").is_symlink()


@pytest.mark.requirement("MW-9-21")
async def test_a_recap_deleted_by_hand_is_put_back_without_a_model(
    state: State, live: Path
) -> None:
    """It is an input that code writes: its return is no work for anybody."""
    await put_output(state, "the user wants small commits")
    agent = await published(state)
    before = recaps(live)
    for path in (live / "rollout_summaries").iterdir():
        path.unlink()
    for _ in range(3):
        await phase2_of(state, agent).run(ignore_cooldown=True)
    assert len(agent.requests) == 1
    assert recaps(live) == before


@pytest.mark.requirement("MW-F-noop")
async def test_a_consolidator_that_does_nothing_leaves_the_inputs_new(
    state: State, live: Path, clock: ManualClock
) -> None:
    """Failure table: "Consolidator does nothing": there its success loses the new facts."""

    async def nothing(tools: Tools, request: ConsolidationRequest) -> None:
        return None

    await put_output(state, "the user wants small commits")
    report = await phase2_of(state, ScriptedConsolidator(nothing)).run(ignore_cooldown=True)
    assert report.status == "failed"
    clock.advance(3_601)
    await published(state)
    await put_output(state, "titles are short")
    report = await phase2_of(state, ScriptedConsolidator(nothing)).run(ignore_cooldown=True)
    assert report.status == "failed"
    assert (report.reason or "").startswith("unsound: nothing_written")
    clock.advance(3_601)
    await published(state)
    assert "titles are short" in (live / "MEMORY.md").read_text()


@pytest.mark.requirement("MW-F-readonly-folder")
async def test_a_folder_that_cannot_be_written_waits_with_its_reason(
    state: State, live: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure table: "Memory folder read-only": the old memory stands and no try is lost."""
    await put_output(state, "the user wants small commits")
    await published(state)
    before = contents(live)
    await put_output(state, "titles are short")
    mkdir = os.mkdir

    def refused(path: str | Path, *rest: int, **more: int) -> None:
        if str(state.home.staging) in str(path):
            raise OSError(30, "Read-only file system", str(path))
        mkdir(path, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", refused)
        report = await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    assert report.status == "failed" and report.reason
    job = await job_of(state)
    assert (job.status, job.attempts_left) == ("failed", 3)
    assert contents(live) == before
    clock.advance(3_601)
    await published(state)
    assert "titles are short" in (live / "MEMORY.md").read_text()


@pytest.mark.requirement("FR-C5")
async def test_a_withdrawn_output_leaves_a_later_edit_by_hand(state: State, live: Path) -> None:
    """Field report C5: what was imported goes again, and what a person wrote since stays."""
    await put_output(state, "the user wants small commits")
    going = await put_output(state, "the staging host needs the blue badge")
    await published(state)
    handbook = live / "MEMORY.md"
    handbook.write_text(handbook.read_text() + "\n- I water the plants on Mondays.\n")
    await drop_output(state, going)
    await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    text = handbook.read_text()
    assert "blue badge" not in text
    assert "plants on Mondays" in text
