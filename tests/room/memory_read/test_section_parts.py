"""What a section says beside its summary: corrections, days, pointers; every combination."""

from pathlib import Path

import pytest

from memory_read.dating import LEGEND
from memory_read.instructions import (
    BEGINS,
    CORRECTIONS_BEGIN,
    CORRECTIONS_END,
    ENDS,
    NOTES_BEGIN,
    NOTES_END,
    MemorySection,
    memory_section,
    raw_summary,
)
from memory_read.standing import CORRECTED
from state.home import Home
from state.policy.budget import estimate_tokens
from state.policy.corrections import correction_text
from tests.support.published import SUMMARY, publish
from tests.support.rows import NOW_MS


def section(home: Home) -> MemorySection:
    """The section of version 1."""
    return memory_section(home, version="v1", use=True, dedicated_tools=True)


def note(folder: Path, name: str, text: str) -> None:
    """A note that a user asked for."""
    notes = folder / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / name).write_text(text)


def framed(text: str) -> str:
    """What stands between the delimiters."""
    return text.split(f"\n{BEGINS}\n")[1].split(f"\n{ENDS}\n")[0]


DAY_MS = 86_400_000


def correct(folder: Path, name: str, target: str, old: str, new: str) -> None:
    """A correction as the method writes it."""
    note(folder, name, correction_text(target, [old], new))


@pytest.mark.requirement("FR-F2", "FR-R6")
def test_a_correction_stands_above_the_line_it_contradicts(home: Home, memory: Path) -> None:
    """The line is not there any more, in the summary as in the other notes."""
    note(memory, "2026-11-29T09-00-00-old.md", "Run `make check`.\nUse tabs.")
    correct(
        memory, "2026-11-29T10-00-00-x.md", "memory_summary.md:10", "Run `make check`.", "Just."
    )
    found = section(home)
    (text,) = found.parts
    assert (found.notes, found.corrections) == (2, 1)
    block = text.split(f"\n{CORRECTIONS_BEGIN}\n")[1].split(f"\n{CORRECTIONS_END}\n")[0]
    assert block == (
        "memory_summary.md:10 (extensions/ad_hoc/notes/2026-11-29T10-00-00-x.md):\nJust."
    )
    assert text.index(CORRECTIONS_END) < text.index(BEGINS)
    assert "Run `make check`" not in text
    assert "Use tabs." in text
    assert framed(text) == SUMMARY.strip().replace("- Run `make check`.", CORRECTED)


@pytest.mark.requirement("FR-F2")
def test_corrections_have_the_room_of_notes_first(home: Home, memory: Path) -> None:
    """However many newer notes there are; what does not fit is counted."""
    correct(memory, "2026-11-01T10-00-00-x.md", "MEMORY.md:3", "tests run with make check", "Just.")
    for number in range(60):
        note(memory, f"2026-11-29T10-00-{number:02d}-n.md", f"note {number} " + "word " * 40)
    found = section(home)
    assert found.corrections == 1
    assert "Just." in found.parts[0]
    assert found.tokens <= 2_500 + 600 + 3_000
    for number in range(60):
        old = f"statement number {number}"
        correct(memory, f"2026-11-30T10-00-{number:02d}-c.md", "a:1", old, "word " * 60)
    found = section(home)
    assert 0 < found.corrections < 61
    assert f"{61 - found.corrections} older corrections did not fit here" in found.parts[0]


def test_what_the_user_asked_to_forget_is_read_nowhere(home: Home, memory: Path) -> None:
    """Not in the summary, whole or injected, not in the note itself; published or not."""
    (memory / "memory_summary.md").write_text(f"{SUMMARY}- The user lives in Lisbon.\n")
    note(memory, "2026-11-29T10-00-00-x.md", "Forget that I live in Lisbon.\nUse tabs.")
    for _ in range(2):
        assert "Lisbon" not in "".join(section(home).parts)
        assert "Lisbon" not in (raw_summary(home, "v1") or "")
        publish(memory)
    note(memory, "2026-11-29T10-00-00-y.md", "Forget that I moved to Porto.")
    assert "Porto" not in "".join(section(home).parts)


def dated_section(home: Home, now_ms: int) -> str:
    """The section of version 1 at that time."""
    found = memory_section(home, version="v1", use=True, dedicated_tools=True, now_ms=now_ms)
    return "".join(found.parts)


@pytest.mark.requirement("FR-F12", "FR-K8")
def test_an_old_line_is_injected_with_its_day_and_a_mark(home: Home, memory: Path) -> None:
    """After 120 days; two threads a minute apart are told the same, the next day too."""
    (memory / "rollout_summaries" / "one.md").write_text(
        'thread_id: x\nupdated_at: 2026-11-29T10:00:00+00:00\n\n- the user said: "Small commits." '
        "-> Small commits. (rule; project)\n"
    )
    fresh = dated_section(home, NOW_MS)
    assert "verify" not in framed(fresh)
    later = NOW_MS + 120 * DAY_MS
    old = dated_section(home, later)
    assert "- Small commits. [2026-11-29: verify]" in framed(old)
    assert LEGEND in old
    assert dated_section(home, later + 60_000) == old
    assert dated_section(home, later + DAY_MS) == old
    (memory / "memory_summary.md").write_text("v1\n" + "- Small commits.\n" * 2_000)
    assert estimate_tokens(framed(dated_section(home, later))) <= 2_500


@pytest.mark.requirement("FR-C12")
def test_pointers_in_doubt_are_told_below_the_summary(
    home: Home, memory: Path, tmp_path: Path
) -> None:
    """Those that are there are not; without a workspace nothing is."""
    project = tmp_path / "p"
    project.mkdir()
    (project / "here.py").write_text("")
    (memory / "memory_summary.md").write_text("v1\n- see `here.py` and `lost.py`\n")
    found = memory_section(home, version="v1", use=True, dedicated_tools=True, cwd=str(project))
    (text,) = found.parts
    assert found.doubtful_pointers == 1
    line = next(one for one in text.split("\n") if one.startswith("Pointers above"))
    assert "`lost.py`" in line and "here.py" not in line
    assert text.index(ENDS) < text.index(line)
    assert "Pointers above" not in section(home).parts[0]


@pytest.mark.requirement("FR-R8", "FR-R13", "FR-R17")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("dedicated_tools", [True, False])
@pytest.mark.parametrize("with_summary", [True, False])
@pytest.mark.parametrize("kind", ["none", "note", "correction", "both"])
def test_every_combination_is_whole(
    home: Home, version: str, dedicated_tools: bool, with_summary: bool, kind: str
) -> None:
    """No placeholder left, each frame opened and closed once, no tool that is not there."""
    folder = home.memories(version)
    folder.mkdir()
    if with_summary:
        (folder / "memory_summary.md").write_text(SUMMARY)
    if kind in ("note", "both"):
        note(folder, "2026-11-29T10-00-00-a.md", "Use tabs.")
    if kind in ("correction", "both"):
        correct(folder, "2026-11-29T10-00-01-b.md", "x:1", "Small commits.", "Large ones.")
    found = memory_section(
        home, version=version, use=True, dedicated_tools=dedicated_tools, now_ms=NOW_MS
    )
    text = "".join(found.parts)
    if not with_summary and kind == "none":
        assert (text, found.reason) == ("", "no_summary")
        return
    assert "$" not in text
    for frame, wanted in (
        ((BEGINS, ENDS), with_summary),
        ((NOTES_BEGIN, NOTES_END), kind in ("note", "both")),
        ((CORRECTIONS_BEGIN, CORRECTIONS_END), kind in ("correction", "both")),
    ):
        assert [text.count(f"{one}\n") for one in frame] == [int(wanted)] * 2
    tools = ("`list`", "`read`", "`search`", "add_ad_hoc_note", "namespace `memories`")
    assert [name in text for name in tools] == [dedicated_tools] * len(tools)
    assert str(folder) in text
    assert "not synchronised with any other" in text
    assert "all projects of this user" in text
    assert "follow that one and say so" in text
