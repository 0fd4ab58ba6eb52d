"""What of memory a thread may read by commands."""

from dataclasses import replace
from pathlib import Path

import pytest

from server.agent.inputs import ThreadSettings
from server.machine import memory_places
from state.home import Home

SETTINGS = ThreadSettings(provider="p", model="m", cwd="/w", dedicated_tools=False)
PUBLISHED = ["memory_summary.md", "MEMORY.md", "rollout_summaries", "skills"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """With memory of two versions."""
    made = Home(tmp_path / "home")
    for version in ("v1", "v2"):
        made.memories(version).mkdir(parents=True)
    return made


def test_a_thread_without_memory_tools_reads_what_is_published(home: Home) -> None:
    """Of its own version; neither notes, nor what waits for a consolidation, nor its history."""
    for version in ("v1", "v2"):
        places = memory_places(home, replace(SETTINGS, memory_version=version))
        assert places == tuple(f"{home.memories(version)}/{name}" for name in PUBLISHED)


def test_every_other_thread_reads_nothing(home: Home) -> None:
    """One with the tools, one that does not see memory, and one that is not loaded."""
    assert memory_places(home, replace(SETTINGS, dedicated_tools=True)) == ()
    assert memory_places(home, replace(SETTINGS, use_memories=False)) == ()
    assert memory_places(home, None) == ()


def test_a_link_in_place_of_memory_shows_nothing(home: Home) -> None:
    """It may lead to a key."""
    (home.memories("v1") / "MEMORY.md").symlink_to("../keys/access")
    assert not [one for one in memory_places(home, SETTINGS) if one.endswith("MEMORY.md")]
