"""Differences between two states: labels, unified text, bounds."""

from state.workspace.diff import COMPARED_LINES_MAX, Change, FileVersion, compare


def _file(text: str, executable: bool = False) -> FileVersion:
    return FileVersion(data=text.encode(), executable=executable)


def test_added_modified_and_deleted_files_are_told_apart_by_path() -> None:
    diff = compare(
        {"b": _file("old\n"), "c": _file("gone\n"), "same": _file("same\n")},
        {"b": _file("new\n"), "a": _file("fresh\n"), "same": _file("same\n")},
        bytes_max=10_000,
    )
    assert diff.changes == (Change("A", "a"), Change("M", "b"), Change("D", "c"))
    assert diff.text == (
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n"
        "@@ -0,0 +1,1 @@\n+fresh\n"
        "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-old\n+new\n"
        "diff --git a/c b/c\ndeleted file mode 100644\n--- a/c\n+++ /dev/null\n"
        "@@ -1,1 +0,0 @@\n-gone\n"
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


def test_a_huge_file_is_not_compared_line_by_line() -> None:
    old = "\n".join(str(number) for number in range(COMPARED_LINES_MAX))
    diff = compare({"a": _file(old)}, {"a": _file(f"new\n{old}")}, bytes_max=2_000)
    assert diff.truncated


def test_bad_bytes_are_shown_as_such() -> None:
    diff = compare({}, {"a": FileVersion(data=b"\xff\xfe\n")}, bytes_max=1_000)
    assert "+\ufffd\ufffd\n" in diff.text
