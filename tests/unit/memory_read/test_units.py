"""What of a memory file can be found at all."""

import pytest

from memory_read.units import cut_units


def found(text: str) -> list[str]:
    """The texts of a file's units."""
    return [unit.text.strip() for unit in cut_units(text.encode(), path="MEMORY.md")]


@pytest.mark.parametrize(
    "sentence",
    ["返信は日本語でお願いします。", "请用简体中文回答", "กรุณาตอบเป็นภาษาไทย", "port=9090"],
)
def test_a_sentence_without_spaces_is_no_label(sentence: str) -> None:
    """One alone in its file, one among others, and one below a heading."""
    assert found(sentence) == [sentence]
    assert found(f"# Notes\n\n{sentence}\n\nAnother line of it.") == [
        sentence,
        "Another line of it.",
    ]


def test_a_line_that_only_names_what_follows_is_none_unless_it_is_all_there_is() -> None:
    """A note of one word was asked for as it is."""
    assert found("References\n\n- a link\n\nReusable knowledge:\n\n- b link") == [
        "- a link",
        "- b link",
    ]
    assert found("pytest") == ["pytest"]
    assert found("# Tools\n\npytest\n") == ["pytest"]


def test_what_a_consolidation_writes_around_statements_is_no_unit() -> None:
    """A line of its frame states nothing; in a note the same words are the user's."""
    assert found(
        "# Raw Memories\n\nMerged stage-1 raw memories (stable ascending thread-id order):\n\n"
        "---\ntask: ports\nkeywords: port, 9090\n---\n\ntask: ports\ntask_outcome: uncertain\n\n"
        "Outcome: uncertain\n\n- extensions/restored_memory/resources/a-v1-recap.md (source=x)\n\n"
        "- the port is 9090\n\nTask lists are kept in tasks.md"
    ) == ["- the port is 9090", "Task lists are kept in tasks.md"]
    note = b"task: water the plants\n\nkeywords: green"
    units = cut_units(note, path="extensions/ad_hoc/notes/2026-11-29T10-00-00-a.md")
    assert [unit.text.strip() for unit in units] == ["task: water the plants", "keywords: green"]


GROUP = (
    "# Task Group: shop\n\nscope: what the user stated while working in shop\n\n"
    "## Task 1: ports, success\n\n### rollout_summary_files\n\n"
    "- rollout_summaries/2026-11-29T10-00-00-a.md (cwd=/home/ada/shop)\n\n"
    "### keywords\n\n- port, 9090\n\n"
)


def test_a_heading_that_names_what_stands_elsewhere_is_no_unit() -> None:
    """A task without text of its own, its group, a section that is empty."""
    statement = "- the port is 9090 [Task 1]"
    assert found(f"{GROUP}## Task 2: nothing that still stands\n\n## User preferences\n") == []
    assert found(f"{GROUP}## Reusable knowledge\n\n{statement}\n") == [statement]
    assert found(f"# Task Group: empty\n\n{GROUP}## Conflicts\n\n{statement}\n") == [statement]


def test_a_heading_by_which_a_person_states_something_is_one() -> None:
    """In a group too, and in a note whatever it is called."""
    spoken = "## Never deploy on a Friday"
    assert found(f"{GROUP}{spoken}\n") == [spoken]
    assert found("# Plans\n\n## Task 7: water the plants\n") == ["## Task 7: water the plants"]
    note = b"# Task Group: mine\n\n## Task 1: water the plants\n"
    units = cut_units(note, path="extensions/ad_hoc/notes/2026-11-29T10-00-00-a.md")
    assert [unit.text.strip() for unit in units] == ["## Task 1: water the plants"]
