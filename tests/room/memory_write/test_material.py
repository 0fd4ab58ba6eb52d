"""New material in a memory folder is noticed by its names and bytes."""

import os
from pathlib import Path

from memory_write.material import look_for_material

NOTE = "extensions/ad_hoc/notes/one.md"


def write(root: Path, name: str, text: str = "text", at_s: int = 100) -> Path:
    """A file, last changed at that time."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at_s, at_s))
    return path


def test_a_folder_with_nothing_but_our_own_instructions_holds_no_material(
    tmp_path: Path,
) -> None:
    """It looks like one that is not there."""
    write(tmp_path, "extensions/ad_hoc/instructions.md")
    found = look_for_material(tmp_path)
    assert found.files == 0
    assert found == look_for_material(tmp_path / "absent")


def test_a_new_a_changed_and_a_removed_note_are_noticed(tmp_path: Path) -> None:
    """Also a change that keeps size and time."""
    nothing = look_for_material(tmp_path)
    note = write(tmp_path, NOTE, "abc")
    first = look_for_material(tmp_path)
    assert first != nothing and first.files == 1 and first.newest_ms == 100_000
    write(tmp_path, NOTE, "abd")
    assert look_for_material(tmp_path) != first
    note.unlink()
    assert look_for_material(tmp_path) == nothing


def test_a_copy_with_other_times_holds_the_same_material(tmp_path: Path) -> None:
    """As after a publication."""
    write(tmp_path / "before", NOTE, at_s=100)
    write(tmp_path / "after", NOTE, at_s=200)
    assert look_for_material(tmp_path / "before") == look_for_material(tmp_path / "after")


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither the root of the extensions nor a note."""
    write(tmp_path / "elsewhere", NOTE)
    root = tmp_path / "root"
    root.mkdir()
    (root / "extensions").symlink_to(tmp_path / "elsewhere" / "extensions")
    assert look_for_material(root).files == 0
    (root / "extensions").unlink()
    (root / "extensions").mkdir()
    (root / "extensions" / "one.md").symlink_to(tmp_path / "elsewhere" / NOTE)
    assert look_for_material(root).files == 0
