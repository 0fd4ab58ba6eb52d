"""kill -9 at every durable step: published memory is the old or the new one, never mixed."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from memory_write.phase2.recover import recover
from memory_write.phase2.steps import PHASE2_STEPS
from state.workspace.trees import aside_of
from tests.support import phase2_child
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, job_of, phase2_of, put_output
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.learning import opened

NEW = frozenset({"phase2/swapped", "phase2/marking", "phase2/marked", "phase2/cleaned"})


def _visible(folder: Path) -> dict[str, bytes]:
    return {path: data for path, data in contents(folder).items() if not path.startswith(".git")}


async def _prepared(home: Path) -> dict[str, bytes]:
    async with opened(home, ManualClock()) as state:
        await put_output(state, "the user wants small commits")
        agent = ScriptedConsolidator(write_well)
        assert (await phase2_of(state, agent).run(ignore_cooldown=True)).status == "published"
        await put_output(state, "the checks run with make check")
        return _visible(state.home.memories("v1"))


async def _killed_at(home: Path, step: str) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        phase2_child.__file__,
        str(home),
        step,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(child.communicate(), 60)
    assert child.returncode == -signal.SIGKILL, errors.decode()


@pytest.mark.requirement("MW-9-18", "MW-F-kill-phase2")
@pytest.mark.parametrize("step", PHASE2_STEPS)
async def test_after_a_kill_the_next_start_finishes_by_itself(tmp_path: Path, step: str) -> None:
    home = tmp_path / "home"
    old = await _prepared(home)
    await _killed_at(home, step)

    async with opened(home, ManualClock(), owner="second") as state:
        live = state.home.memories("v1")
        found = _visible(live)
        recovered = await recover(state)
        assert _visible(live) == found, "recovering changes no published byte"
        if step in NEW:
            assert b"make check" in found["MEMORY.md"]
            assert len([path for path in found if path.startswith("rollout_summaries/")]) == 2
            assert (await job_of(state)).outcome == "published"
            async with state.database.reading() as read:
                counts = await state.outputs.counts(read, "v1")
            assert counts.selected == 2
        else:
            assert found == old
        undecided = step in ("phase2/swapped", "phase2/marking")
        assert len(recovered.finished) == undecided
        assert len(recovered.abandoned) == (step in ("phase2/intended", "phase2/swapping"))
        assert list(state.home.staging.iterdir()) == []
        again = await recover(state)
        assert (again.finished, again.abandoned, again.removed) == ((), (), ())

        agent = ScriptedConsolidator(write_well)
        report = await phase2_of(state, agent).run(ignore_cooldown=True)
        assert report.status == ("unchanged" if step in NEW else "published")
        assert b"make check" in _visible(live)["MEMORY.md"]
        async with state.database.reading() as read:
            assert await state.editions.open_ones(read) == []


async def test_a_swap_cut_between_its_renames_is_undone(tmp_path: Path) -> None:
    """Where the system cannot exchange two folders, the old one is brought back."""
    home = tmp_path / "home"
    old = await _prepared(home)
    await _killed_at(home, "phase2/intended")
    async with opened(home, ManualClock(), owner="second") as state:
        live = state.home.memories("v1")
        (staged,) = state.home.staging.iterdir()
        live.rename(aside_of(staged))
        recovered = await recover(state)
        assert len(recovered.abandoned) == 1
        assert _visible(live) == old
        assert list(state.home.staging.iterdir()) == []


async def test_a_folder_that_became_a_link_keeps_nobody_from_starting(tmp_path: Path) -> None:
    """The intent stays open, and its run is undone once the folder is one again."""
    home = tmp_path / "home"
    old = await _prepared(home)
    await _killed_at(home, "phase2/intended")
    async with opened(home, ManualClock(), owner="second") as state:
        live = state.home.memories("v1")
        _move_behind_a_link(live, tmp_path / "moved")
        recovered = await recover(state)
        assert len(recovered.left_open) == 1
        assert len(list(state.home.staging.iterdir())) == 1
        _move_back(live, tmp_path / "moved")
        assert len((await recover(state)).abandoned) == 1
        assert _visible(live) == old
        assert list(state.home.staging.iterdir()) == []


def _move_behind_a_link(live: Path, moved: Path) -> None:
    live.rename(moved)
    live.symlink_to(moved)


def _move_back(live: Path, moved: Path) -> None:
    live.unlink()
    moved.rename(live)
