"""Differences between two states: labels, unified text, bounds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.workspace.diff import Change, FileVersion, compare


def _file(text: str, executable: bool = False) -> FileVersion:
    return FileVersion(data=text.encode(), executable=executable)


@pytest.mark.requirement("MW-8.3-baseline")
def test_added_modified_and_deleted_files_are_told_apart_by_path() -> None:
    diff = compare(
        {"b": _file("old\n"), "c": _file("gone\n"), "same": _file("same\n")},
        {"b": _file("new\n"), "a": _file("fresh\n"), "same": _file("same\n")},
        bytes_max=10_000,
    )
    assert diff.changes == (Change("A", "a"), Change("M", "b"), Change("D", "c"))
    assert diff.text == (
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n"
        "@@ -0,0 +1 @@\n+fresh\n"
        "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-old\n+new\n"
        "diff --git a/c b/c\ndeleted file mode 100644\n--- a/c\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-gone\n"
    )
    assert diff.paths("A", "D") == ("a", "c")


def test_a_mode_change_alone_is_a_modification() -> None:
    diff = compare({"a": _file("x\n")}, {"a": _file("x\n", executable=True)}, bytes_max=1_000)
    assert diff.changes == (Change("M", "a"),)
    assert diff.text == "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"


def test_a_missing_last_line_feed_is_told() -> None:
    diff = compare({"a": _file("x\n")}, {"a": _file("x")}, bytes_max=1_000)
    assert diff.text.endswith("-x\n+x\n\\ No newline at end of file\n")


def test_the_text_is_bounded_at_a_character_and_every_change_keeps_its_label() -> None:
    files = {name: _file("ä" * 50 + "\n") for name in "abc"}
    diff = compare({}, files, bytes_max=120)
    assert diff.truncated
    assert len(diff.text.encode()) <= 120
    assert len(diff.changes) == 3


def test_a_change_in_a_huge_file_is_still_shown_line_by_line() -> None:
    lines = [f"line {number}\n" if number % 2 else "again\n" for number in range(50_000)]
    changed = [*lines[:20_000], "changed\n", *lines[20_001:40_000], *lines[40_100:]]
    diff = compare({"a": _file("".join(lines))}, {"a": _file("".join(changed))}, bytes_max=100_000)
    shown = diff.text.splitlines()
    assert "+changed" in shown
    assert sum(line.startswith("-") for line in shown) == 1 + 1 + 100


def test_lines_in_another_order_without_anchors_count_as_replaced() -> None:
    old, new = "x\n" * 3_000, "y\n" * 3_000
    diff = compare({"a": _file(old)}, {"a": _file(new)}, bytes_max=100_000)
    assert diff.text.count("\n-x") == diff.text.count("\n+y") == 3_000


@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=30),
    st.lists(st.sampled_from("abcdefgh"), max_size=30),
)
def test_the_text_turns_the_old_file_into_the_new_one(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{one}\n" for one in old), "".join(f"{one}\n" for one in new)
    diff = compare({"a": _file(before)}, {"a": _file(after)}, bytes_max=100_000)
    assert _applied(old, diff.text.splitlines()) == new


def _applied(old: list[str], text: list[str]) -> list[str]:
    result: list[str] = []
    at = 0
    for line in text:
        if found := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            start = int(found[1]) - (found[2] != "0")
            result.extend(old[at:start])
            at = start
        elif line.startswith((" ", "-")) and not line.startswith("---"):
            assert old[at] == line[1:]
            result.extend(old[at : at + 1] if line[0] == " " else [])
            at += 1
        elif line.startswith("+") and not line.startswith("+++"):
            result.append(line[1:])
    return [*result, *old[at:]]


def test_bad_bytes_are_shown_as_such() -> None:
    diff = compare({}, {"a": FileVersion(data=b"\xff\xfe\n")}, bytes_max=1_000)
    assert "+\ufffd\ufffd\n" in diff.text
