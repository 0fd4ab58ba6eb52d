"""A memory folder that is wiped, replaced or cut off from its past while a server runs."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings
from memory_write.phase1.report import Phase1Report
from memory_write.phase2.recover import recover
from memory_write.scheduler import ConsolidateReport, Scheduler
from state.recovery import State
from state.workspace.trees import special_files
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, job_of, phase2_of, put_output
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.faults import RecordedSteps
from tests.support.learning import Announced, opened

DAY_S = 86_400


class NothingToHear:
    """A phase 1 that never has work."""

    async def run_pass(self, **_: object) -> Phase1Report:
        """Nothing claimed."""
        return Phase1Report()


class Passes:
    """The passes of a scheduler, one at a time."""

    def __init__(self, state: State) -> None:
        self.agent = ScriptedConsolidator(write_well)
        self._scheduler = Scheduler(
            NothingToHear(),
            phase2_of(state, self.agent),
            state,
            MemorySettings(),
            state.clock,
            Announced(),
            lambda: frozenset(),
        )

    async def one(self) -> ConsolidateReport:
        """What the scheduler does when it wakes."""
        return await self._scheduler._automatic()


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home whose memory is published."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as opened_state:
        await put_output(opened_state, "the user wants small commits")
        report = await Passes(opened_state).one()
        assert report.phase2 is not None and report.phase2.status == "published"
        clock.advance(60)
        yield opened_state


def folder(state: State) -> Path:
    """Where memory lies."""
    return state.home.memories("v1")


def emptied(root: Path) -> None:
    """Everything in it is gone."""
    for entry in root.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def removed(root: Path) -> None:
    """The folder itself is gone."""
    shutil.rmtree(root)


def summary_gone(root: Path) -> None:
    """One artefact is gone."""
    (root / "memory_summary.md").unlink()


def baseline_gone(root: Path) -> None:
    """Its past is gone."""
    shutil.rmtree(root / ".git")


def baseline_destroyed(root: Path) -> None:
    """Its past cannot be read."""
    for path in (root / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"noise")


@pytest.mark.requirement("FR-C1", "FR-S15", "MW-F-wiped-folder")
@pytest.mark.parametrize(
    "wipe", [emptied, removed, summary_gone, baseline_gone, baseline_destroyed]
)
async def test_wiped_memory_is_made_anew_by_the_next_pass(
    state: State, wipe: Callable[[Path], None]
) -> None:
    """Failure table: "Consolidator wipes the folder": no memory until somebody asks? No."""
    before = {path for path in contents(folder(state)) if not path.startswith(".git")}
    wipe(folder(state))
    passes = Passes(state)
    report = await passes.one()
    assert report.phase2 is not None and report.phase2.status == "published"
    after = {path for path in contents(folder(state)) if not path.startswith(".git")}
    assert after == before
    assert (await passes.one()).phase2 is None, "and then there is nothing to do"


@pytest.mark.requirement("FR-S16", "FR-C1", "MW-F-linked-root")
async def test_a_folder_that_became_a_link_is_told_and_memory_returns_when_it_is_gone(
    state: State, tmp_path: Path
) -> None:
    """Failure table: "The folder itself a symlink": never followed, told, and not for good."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    shutil.rmtree(folder(state))
    folder(state).symlink_to(outside)
    passes = Passes(state)
    report = await passes.one()
    assert report.phase2 is not None and report.phase2.status == "failed"
    job = await job_of(state)
    assert job.reason is not None and "link" in job.reason and job.retry_at_ms is not None
    assert sorted(os.listdir(outside)) == ["precious"]
    folder(state).unlink()
    state.clock.advance(DAY_S)  # type: ignore[attr-defined]  # the clock is the test's
    report = await passes.one()
    assert report.phase2 is not None and report.phase2.status == "published"


@pytest.mark.requirement("FR-S16")
async def test_a_start_with_a_broken_folder_serves_all_the_same(
    state: State, tmp_path: Path
) -> None:
    """Failure table: "The folder itself a symlink": memory is not all that a home has."""
    shutil.rmtree(folder(state))
    folder(state).symlink_to(tmp_path)
    assert (await recover(state)).left_open == ()


@pytest.mark.requirement("FR-S16")
async def test_special_files_are_passed_over_and_named(state: State, tmp_path: Path) -> None:
    """Failure table: "Symlink put into the folder": link, dangling link, FIFO, device: no hang."""
    outside = tmp_path / "outside"
    outside.write_text("the secret plan")
    root = folder(state)
    (root / "link.md").symlink_to(outside)
    (root / "dangling.md").symlink_to(tmp_path / "nowhere")
    os.mkfifo(root / "pipe.md")
    names = {"link.md", "dangling.md", "pipe.md"}
    if os.geteuid() == 0:
        os.mknod(root / "device.md", 0o600 | 0o020000, os.makedev(1, 5))
        names.add("device.md")
    assert set(special_files(root)) == names
    await put_output(state, "the checks run with make check")
    report = await Passes(state).one()
    state.clock.advance(DAY_S)  # type: ignore[attr-defined]  # the clock is the test's
    report = await Passes(state).one()
    assert report.phase2 is not None and report.phase2.status == "published"
    seen = contents(root)
    assert b"make check" in seen["MEMORY.md"]
    assert all(b"secret plan" not in data for data in seen.values())
    assert outside.read_text() == "the secret plan"


@pytest.mark.requirement("FR-C1", "FR-S16")
async def test_a_folder_that_is_pulled_away_under_a_run_is_told_and_made_anew(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    """It is nobody's fault here: a reason, no traceback, and the next run begins from nothing."""
    await put_output(state, "the checks run with make check")
    steps = RecordedSteps("phase2/staged", lambda: removed(folder(state)))
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent, steps=steps).run(ignore_cooldown=True)
    assert (report.status, report.reason) == (
        "failed",
        "workspace_unsafe: it has no readable baseline",
    )
    assert not any(record.exc_info for record in caplog.records)
    assert "no readable baseline" in caplog.text
    state.clock.advance(DAY_S)  # type: ignore[attr-defined]  # the clock is the test's
    again = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert again.status == "published"
    assert b"make check" in contents(folder(state))["MEMORY.md"]
