"""What of memory a thread may read by commands, and what of the server none may write."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from server.agent.inputs import ThreadSettings
from server.machine import memory_places, places_of
from state.home import Home
from state.ids import ThreadId
from state.stores.withheld import Withheld

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
        places = memory_places(home, replace(SETTINGS, memory_version=version), Withheld())
        assert places == tuple(f"{home.memories(version)}/{name}" for name in PUBLISHED)


def test_every_other_thread_reads_nothing(home: Home) -> None:
    """One with the tools, one that does not see memory, and one that is not loaded."""
    assert memory_places(home, replace(SETTINGS, dedicated_tools=True), Withheld()) == ()
    assert memory_places(home, replace(SETTINGS, use_memories=False), Withheld()) == ()
    assert memory_places(home, None, Withheld()) == ()


def test_a_link_in_place_of_memory_shows_nothing(home: Home) -> None:
    """It may lead to a key."""
    (home.memories("v1") / "MEMORY.md").symlink_to("../keys/access")
    places = memory_places(home, SETTINGS, Withheld())
    assert not [one for one in places if one.endswith("MEMORY.md")]


@pytest.mark.requirement("FR-T15", "FR-F4")
def test_while_words_of_a_thread_are_withheld_commands_read_nothing(home: Home) -> None:
    """Of that version, until the files are without them."""
    withheld, other = Withheld(), replace(SETTINGS, memory_version="v2")
    withheld.add(ThreadId("gone"), ("v1",))
    assert memory_places(home, SETTINGS, withheld) == ()
    assert memory_places(home, other, withheld) != ()
    withheld.proved("v1", withheld.of("v1"))
    assert memory_places(home, SETTINGS, withheld) != ()


def test_every_module_of_ours_lies_in_a_place_that_no_command_writes(home: Home) -> None:
    """What a command could change there would run unconfined at the next one."""
    programs = places_of(home).programs
    for name in ("server.agent.sandbox.confine", "state.home", "protocol.base", "memory_read"):
        found = importlib.import_module(name).__file__
        assert found is not None
        assert any(Path(found).resolve().is_relative_to(one) for one in programs), name
    assert any(Path(sys.prefix).resolve().is_relative_to(one) for one in programs)
