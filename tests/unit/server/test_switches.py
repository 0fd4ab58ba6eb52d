"""The switches of use, generation and instruction files, at every level."""

from pathlib import Path

import pytest

from server.settings import load_settings
from server.switches import Switches, project_switches, switches_for
from state.home import Home


@pytest.mark.requirement("FR-U3")
def test_a_folder_has_the_switches_of_the_nearest_project_around_it() -> None:
    """Each switch on its own; a folder beside it has none."""
    projects, odd = project_switches(
        {
            "/w": {"use_memories": False, "instruction_files": False},
            "/w/app/": {"use_memories": True, "generate_memories": False, "trust_level": "x"},
            "/odd": {"use_memories": "no"},
            "/none": 3,
        }
    )
    assert odd == ['projects."/odd".use_memories']
    assert switches_for(projects, "/w/app/core") == Switches(
        use_memories=True, generate_memories=False, instruction_files=False
    )
    assert switches_for(projects, "/w") == Switches(use_memories=False, instruction_files=False)
    assert switches_for(projects, "/wide") == switches_for({}, "/w") == Switches()
    assert project_switches("no table") == ({}, [])


@pytest.mark.requirement("FR-U3")
def test_the_environment_stands_above_the_file_and_an_odd_word_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On and off in the usual spellings."""
    home = Home(tmp_path)
    home.config.write_text("instruction_files = false\n[memories]\ngenerate_memories = false\n")
    monkeypatch.setenv("MEMORYD_USE_MEMORIES", "0")
    monkeypatch.setenv("MEMORYD_GENERATE_MEMORIES", "ON")
    monkeypatch.setenv("MEMORYD_INSTRUCTION_FILES", "perhaps")
    settings = load_settings(home)
    assert (settings.use_memories, settings.memory.generate) == (False, True)
    assert settings.instruction_files is False
    assert "MEMORYD_INSTRUCTION_FILES must be on or off" in str(settings.warnings[0])
