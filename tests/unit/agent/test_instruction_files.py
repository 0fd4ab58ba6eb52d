"""Instruction files: which hold for a folder, in which order, and what never gets in."""

import os
from pathlib import Path

import pytest

from server.agent.instruction_files import (
    BYTES_MAX_DEFAULT,
    InstructionSettings,
    fragment,
    read_instructions,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of memoryd."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with two folders inside each other."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "app" / "core").mkdir(parents=True)
    return root


def settings(home: Path, **more: object) -> InstructionSettings:
    """Those of a server with that home."""
    return InstructionSettings(home=home, **more)  # type: ignore[arg-type]  # fields by name


@pytest.mark.requirement("FR-U3")
def test_files_hold_from_the_home_over_the_root_down_to_the_folder(
    home: Path, project: Path
) -> None:
    """In each folder an override stands for the usual file, and another name only without both."""
    (home / "AGENTS.md").write_text("for all\n")
    (project.parent / "AGENTS.md").write_text("outside of the repository\n")
    (project / "AGENTS.md").write_text("usual\n")
    (project / "AGENTS.override.md").write_text("override\n")
    (project / "app" / "TEAM.md").write_text("other name\n")
    (project / "app" / "core" / "AGENTS.md").write_text("nearest\n")
    (project / "app" / "core" / "TEAM.md").write_text("not needed\n")
    found = read_instructions(
        str(project / "app" / "core"), settings(home, fallbacks=("TEAM.md", "../x", "/etc/passwd"))
    )
    assert found.text == (
        "for all\n\n\n--- project-doc ---\n\noverride\n\n\nother name\n\n\nnearest\n"
    )
    assert [os.path.relpath(one, project.parent) for one in found.sources] == [
        "home/AGENTS.md",
        "project/AGENTS.override.md",
        "project/app/TEAM.md",
        "project/app/core/AGENTS.md",
    ]
    assert found.faults == ()
    outside = read_instructions(str(project.parent), settings(home))
    assert [Path(one).parent.name for one in outside.sources] == ["home", project.parent.name]


def test_the_fragment_has_the_form_of_the_original() -> None:
    """Heading, a blank line, the text between its tags."""
    assert fragment("/home/user/proj_a", "# Rules\n\nAlways run make check.\n") == (
        "# AGENTS.md instructions for /home/user/proj_a\n\n<INSTRUCTIONS>\n# Rules\n\n"
        "Always run make check.\n\n</INSTRUCTIONS>"
    )


@pytest.mark.requirement("FR-U3")
def test_the_switch_and_a_cap_of_nothing_leave_them_out(home: Path, project: Path) -> None:
    """The switch all of them, the cap those of projects."""
    (home / "AGENTS.md").write_text("for all")
    (project / "AGENTS.md").write_text("here")
    assert read_instructions(str(project), settings(home, enabled=False)).sources == ()
    assert read_instructions(str(project), settings(home, bytes_max=0)).text == "for all"


def test_all_project_files_share_one_cap_and_a_cut_is_told(home: Path, project: Path) -> None:
    """Cut behind a whole line; what no longer fits is not read."""
    (project / "AGENTS.md").write_text("one\n" * 5_000)
    (project / "app" / "AGENTS.md").write_text("two, ü\n" * 5_000)
    (project / "app" / "core" / "AGENTS.md").write_text("three\n")
    found = read_instructions(str(project / "app" / "core"), settings(home))
    assert len(found.text.encode()) <= BYTES_MAX_DEFAULT + 2
    assert found.text.endswith("two, ü\n") and "three" not in found.text
    [fault] = found.faults
    assert "app/AGENTS.md: cut" in fault and "project_doc_max_bytes" in fault
    (project / "AGENTS.md").write_text("ü" * 40_000)
    endless = read_instructions(str(project), settings(home))
    assert endless.text == "ü" * (BYTES_MAX_DEFAULT // 2)


def test_what_cannot_be_used_is_left_out_and_told_without_its_text(
    home: Path, project: Path, tmp_path: Path
) -> None:
    """Pipes, folders, links out of the repository; odd bytes are replaced; nothing waits."""
    secret = tmp_path / "id_secret"
    secret.write_text("PRIVATE-CANARY")
    os.mkfifo(home / "AGENTS.md")
    (project / "AGENTS.override.md").symlink_to(secret)
    (project / "AGENTS.md").symlink_to("app/REAL.md")
    (project / "app" / "REAL.md").write_text("behind a link inside\n")
    (project / "app" / "AGENTS.md").mkdir()
    (project / "app" / "core" / "AGENTS.md").write_bytes(b"odd \xff bytes\n")
    found = read_instructions(str(project / "app" / "core"), settings(home))
    assert found.text == "behind a link inside\n\n\nodd \ufffd bytes\n"
    assert "PRIVATE-CANARY" not in "".join(found.faults)
    reasons = [fault.rpartition("/")[2] for fault in found.faults]
    assert reasons == [
        "AGENTS.md: not a regular file; it is left out",
        "AGENTS.override.md: a link that leaves the project; it is left out",
        "AGENTS.md: not a regular file; it is left out",
        "AGENTS.md: not all of it is UTF-8; odd bytes are replaced",
    ]


def test_links_in_a_circle_and_paths_that_are_none_end_at_once(home: Path, project: Path) -> None:
    """A path of any kind gives an answer."""
    (project / "AGENTS.md").symlink_to("AGENTS.md")
    assert read_instructions(str(project), settings(home)).text == ""
    for cwd in ("/", "relative", "/no/such/folder", "/a\0b", "/proc/self/mem"):
        assert read_instructions(cwd, settings(home)).text == ""
