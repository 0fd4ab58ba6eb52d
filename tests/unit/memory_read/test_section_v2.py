"""The section of a thread that reads version 2: its rules, its parts, its bytes."""

import pytest

from memory_read.instructions import BEGINS, ENDS, render_section
from memory_read.snapshot import PendingNote

RULES = {
    "historical context": "It is historical context",
    "real preferences, in their scope": "real preferences, corrections and decisions",
    "pointers may be used directly": "use that pointer directly",
    "not looked up again": "do not look up first what is already named",
    "recap only when it changes the answer": "evidence, wording, order of events or uncertainty",
    "no speculation": "retrieve no history on speculation",
    "selective search": "only when you need a route that the summary does not give",
    "no proof": "Memory does not prove how things are now",
    "drift, cost, harm": "drifted, what a check costs and what harm",
    "owning source": "the source that owns it",
    "admit uncertainty": "admit what stays uncertain",
    "batch lookups": "lookups that do not depend on each other into one step",
    "current instructions": "instruction files and other current instructions",
    "cite what was used": "Only memory that you really used",
    "never in pull requests": "Never put the block into a pull request",
    "explicit request": "only when the user asks for it explicitly",
    "not the generated files": "Never edit the generated files",
    "a consolidation applies notes": "a consolidation works it in",
    "one block at the end": "exactly one block",
    "outside code": "outside any code fence",
    "never the summary": "Never cite `memory_summary.md`",
    "real paths": "a real path relative to the memory folder",
    "short notes": "a short note on one line",
    "ids at hand": "at hand anyway",
    "no reads for citations": "call no tool only to make or check a citation",
}


def section(summary: str | None = "v1\n\n- likes tabs", *, tools: bool = True) -> str:
    """The rendered text."""
    found = render_section(
        "/home/u/memories_v2", summary, (), version="v2", tokens_max=2_500, dedicated_tools=tools
    )
    return "".join(found.parts)


@pytest.mark.parametrize("rule", list(RULES))
def test_every_rule_has_its_mark(rule: str) -> None:
    """In our own words."""
    assert RULES[rule] in section()


def test_the_summary_stands_once_between_its_delimiters() -> None:
    """And the section names its own folder."""
    text = section()
    assert text.startswith("## Memory\n")
    assert text.count(BEGINS) == text.count(ENDS) == 1
    assert f"{BEGINS}\nv1\n\n- likes tabs\n{ENDS}\n" in text
    assert "/home/u/memories_v2" in text
    assert "MEMORY.md" not in text


def test_notes_go_the_way_that_the_thread_has() -> None:
    """By the tool, or by a small new file."""
    assert "add_ad_hoc_note" in section()
    by_file = section(tools=False)
    assert "add_ad_hoc_note" not in by_file
    assert "`/home/u/memories_v2/extensions/ad_hoc/notes/`" in by_file


def test_a_long_section_comes_in_parts_that_join_to_its_very_text() -> None:
    """Each of at most 8,900 bytes, cut between characters."""
    summary = "v1\n" + "- mag Äpfel und 苹果\n" * 380
    found = render_section("/m", summary, (), version="v2", tokens_max=2_500, dedicated_tools=True)
    sizes = [len(part.encode()) for part in found.parts]
    assert len(sizes) > 1
    assert all(8_896 <= size <= 8_900 for size in sizes[:-1]) and 0 < sizes[-1] <= 8_900
    joined = "".join(found.parts)
    assert joined.count(BEGINS) == joined.count(ENDS) == 1
    whole = render_section("/m", summary, (), version="v1", tokens_max=2_500, dedicated_tools=True)
    assert len(whole.parts) == 1


def test_pending_notes_are_in_force_here_too() -> None:
    """Behind the summary."""
    note = PendingNote(path="extensions/ad_hoc/notes/x.md", text="use tabs")
    found = render_section(
        "/m", None, (note,), version="v2", tokens_max=2_500, dedicated_tools=True
    )
    assert "use tabs" in found.parts[-1]
    assert found.notes == 1
