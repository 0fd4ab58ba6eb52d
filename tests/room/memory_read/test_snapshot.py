"""What a thread may see of the memory folder."""

from pathlib import Path

import pytest

from memory_read.snapshot import MemorySnapshot
from memory_read.withheld import OPEN
from state.home import Home


@pytest.mark.requirement("FR-R7")
def test_files_that_somebody_put_there_are_listed_with_the_reason(home: Home, memory: Path) -> None:
    """They are found by the tools, and not in the summary."""
    (memory / "my-rules.md").write_text("rule")
    (memory / "raw_memories.md").write_text("ours")
    found = MemorySnapshot(home, "v1", OPEN).stray_files()
    assert [(one.path, "tools" in one.reason or "search" in one.reason) for one in found] == [
        ("my-rules.md", True)
    ]
    assert MemorySnapshot(home, "v2", OPEN).stray_files() == ()


def test_notes_that_are_no_text_are_passed_over(home: Home, memory: Path) -> None:
    """One bad file hides no other."""
    notes = memory / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "2026-11-29T10-00-00-a.md").write_bytes(b"\xff")
    (notes / "2026-11-29T10-00-01-b.md").write_text("  \n")
    (notes / "2026-11-29T10-00-02-c.md").symlink_to("/etc/hostname")
    (notes / "2026-11-29T10-00-03-d.txt").write_text("not a note")
    (notes / "2026-11-29T10-00-04-e.md").write_text("good")
    found = MemorySnapshot(home, "v1", OPEN).pending_notes()
    assert [note.path for note in found] == ["extensions/ad_hoc/notes/2026-11-29T10-00-04-e.md"]
