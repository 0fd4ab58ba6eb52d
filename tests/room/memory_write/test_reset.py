"""A reset forgets all that was learned, or is refused and changes nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memory_write.controls.reset import MemoryReset
from memory_write.limits import MemorySettings
from memory_write.phase1.run import Phase1
from state.errors import WorkspaceUnsafe
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.learning import (
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)


class NoPasses:
    """Nothing runs; notes that it was asked to end what does."""

    def __init__(self) -> None:
        self.asked = 0

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nothing to end."""
        self.asked += 1
        yield


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home in which one thread was learned from."""
    async with opened(tmp_path / "home", ManualClock()) as opened_state:
        await put_thread(opened_state, PREFERENCE, name="learned")
        await put_thread(opened_state, PREFERENCE, mode="disabled", name="disabled")
        phase1 = Phase1(
            opened_state,
            ScriptedModels(ScriptedExtraction()),
            OpenQuota(),
            Announced(),
            MemorySettings(),
        )
        await phase1.run_pass(current_thread=None, busy=frozenset(), everything=True)
        root = opened_state.home.memories("v1")
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref")
        (root / "MEMORY.md").write_text("# Known")
        yield opened_state


async def rows(state: State) -> tuple[int, int]:
    """Outputs and jobs."""
    async with state.database.reading() as read:
        outputs = await state.outputs.counts(read, "v1")
        jobs = await state.jobs.list(read, version="v1", limit=100)
    return outputs.total, len(jobs)


@pytest.mark.requirement("MW-8.1-clear", "MW-8.3-clear-root", "MR-9-17")
async def test_a_reset_empties_rows_and_folders_and_keeps_threads(state: State) -> None:
    """Roots stay as folders, threads keep their modes, and copies under way go too."""
    left_over = state.home.staging / "v1-7"
    left_over.mkdir()
    (left_over / "MEMORY.md").write_text("# Known")
    async with state.database.reading() as read:
        modes = {row.memory_mode for row in await state.threads.all_enabled(read)}
    passes = NoPasses()
    report = await MemoryReset(state, passes).run()
    assert (report.outputs, report.jobs, report.entries, report.had_memory) == (1, 2, 2, True)
    assert await rows(state) == (0, 0)
    root = state.home.memories("v1")
    assert root.is_dir() and list(root.iterdir()) == []
    assert list(state.home.staging.iterdir()) == []
    assert passes.asked == 1
    async with state.database.reading() as read:
        assert {row.memory_mode for row in await state.threads.all_enabled(read)} == modes


async def test_a_second_reset_finds_nothing(state: State) -> None:
    """And says so."""
    reset = MemoryReset(state, NoPasses())
    await reset.run()
    assert not (await reset.run()).had_memory


async def test_what_a_reset_forgot_can_be_learned_anew_under_a_higher_fence(
    state: State,
) -> None:
    """Fences go on counting, so no old claim fits a new job."""
    thread_id = await put_thread(state, PREFERENCE, name="again")

    async def claim() -> int:
        async with state.database.writing() as tx:
            claimed = await state.jobs.claim_extraction(
                tx, version="v1", thread_id=thread_id, watermark_ms=1, lease_s=90, running_max=8
            )
        return claimed.claim.fence  # type: ignore[union-attr]  # a skip would fail the test

    before = await claim()
    await MemoryReset(state, NoPasses()).run()
    assert await claim() > before


@pytest.mark.requirement("MW-8.3-clear-root", "MR-9-20")
@pytest.mark.parametrize("name", ["memories", "memories_v2", "memories_extensions", "staging"])
async def test_a_root_that_is_a_link_is_refused_before_anything_goes(
    state: State, tmp_path: Path, name: str
) -> None:
    """Rows, folders and the link's target stay as they were."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("mine")
    link = state.home.root / name
    if link.exists():
        link.rename(tmp_path / "aside")
    link.symlink_to(elsewhere)
    before = await rows(state)
    passes = NoPasses()
    with pytest.raises(WorkspaceUnsafe):
        await MemoryReset(state, passes).run()
    assert await rows(state) == before
    assert passes.asked == 0
    assert (elsewhere / "precious").read_text() == "mine"


async def test_links_inside_a_root_go_and_their_targets_stay(state: State, tmp_path: Path) -> None:
    """A link is an entry like any other."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "precious").write_text("mine")
    (state.home.memories("v1") / "link").symlink_to(target)
    await MemoryReset(state, NoPasses()).run()
    assert (target / "precious").read_text() == "mine"
    assert not (state.home.memories("v1") / "link").is_symlink()
