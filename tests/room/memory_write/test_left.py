"""What readers are shown meanwhile is what code leaves of the files, or less."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.limits import Phase2Limits
from memory_write.phase2.left import left_in
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.consolidators import ScriptedConsolidator
from tests.support.forgetting import (
    CANARY,
    GOING,
    OTHER,
    phase2_for,
    remembered,
    stored,
    write_both,
)
from tests.support.learning import opened

HAND = "- the deploy key lies in the vault"


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", ManualClock()) as state:
        yield state


def lines_of(folder: Path) -> dict[str, frozenset[str]]:
    """The lines of every file but those of git."""
    return {
        str(path.relative_to(folder)): frozenset(
            line.strip() for line in path.read_text().split("\n")
        )
        for path in folder.rglob("*.md")
        if ".git" not in path.parts
    }


@pytest.mark.requirement("FR-F4", "FR-T15", "MW-9-1")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("how", GOING)
async def test_it_is_never_more_than_code_leaves_of_the_files(
    state: State, how: str, version: str
) -> None:
    """With an edit by hand, and an input that no consolidation has seen."""
    memory = await remembered(state, version)
    left = left_in(state.home, Phase2Limits())
    assert left(version, frozenset()) == lines_of(memory.folder)
    summary = memory.folder / "memory_summary.md"
    heading = "## General Tips\n"
    summary.write_text(summary.read_text().replace(heading, f"{heading}{HAND}\n"))
    await stored(state, version, "the office is in Lisbon", 10)
    await GOING[how](state, memory.going)
    withheld = state.outputs.withheld.of(version)
    assert set(withheld) == {memory.going}
    shown = left(version, frozenset(withheld))
    phase2 = phase2_for(state, version, ScriptedConsolidator(write_both))
    assert await phase2.still_standing() == (memory.going,)
    assert await phase2.take_out() is not None
    after = lines_of(memory.folder)
    assert shown.keys() == after.keys()
    for path, lines in shown.items():
        assert lines <= after[path], path
        assert not any(CANARY in line or memory.going in line for line in lines)
    assert any(OTHER in line for line in shown["memory_summary.md"])
    assert HAND in shown["memory_summary.md"]
    assert await phase2.still_standing() == ()
