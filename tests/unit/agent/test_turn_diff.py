"""What a turn changed, told once: from how each file was to how it is."""

from server.agent.tools.stage import FileChanged
from server.agent.turn_diff import DIFF_BYTES_MAX, TurnDiff


def _changed(
    path: str, before: str | None, after: str | None, moved_from: str | None = None
) -> FileChanged:
    return FileChanged(
        path=path,
        before=None if before is None else before.encode(),
        after=None if after is None else after.encode(),
        moved_from=moved_from,
    )


def test_a_new_file_is_told_as_git_would() -> None:
    """With the id that git gives to the content."""
    diff = TurnDiff()
    diff.add([_changed("/p/hello.txt", None, "hello from the mock\n")])
    assert diff.text("/p") == (
        "diff --git a/hello.txt b/hello.txt\n"
        "new file mode 100644\n"
        "index 0000000000000000000000000000000000000000.."
        "7ee67c4bc1a71e8599f54d4e44815b5d535119ed\n"
        "--- /dev/null\n+++ b/hello.txt\n@@ -0,0 +1 @@\n+hello from the mock\n"
    )


def test_what_is_again_as_it_was_is_not_told() -> None:
    """Neither a change taken back nor a file that came and went."""
    diff = TurnDiff()
    diff.add([_changed("/p/a", "1\n", "2\n"), _changed("/p/b", None, "x\n")])
    assert "a/a" in diff.text("/p") and "b/b" in diff.text("/p")
    diff.add([_changed("/p/a", "2\n", "1\n"), _changed("/p/b", "x\n", None)])
    assert diff.text("/p") == ""


def test_several_changes_of_a_file_are_one() -> None:
    """From the first before to the last after, also over a move."""
    diff = TurnDiff()
    diff.add([_changed("/p/a", "1\n", "2\n")])
    diff.add([_changed("/p/b", "2\n", "3\n", moved_from="/p/a")])
    text = diff.text("/p")
    assert "rename from a\nrename to b\n" in text
    assert "-1\n+3\n" in text and "2\n" not in text.split("@@")[-1]


def test_what_cannot_be_shown_is_named() -> None:
    """Binary files, and those too large."""
    diff = TurnDiff()
    diff.add([_changed("/p/a", "a\0", "b\0"), _changed("/q/b", "", "x" * (DIFF_BYTES_MAX + 1))])
    assert "Binary files a/a and b/a differ\n" in diff.text("/p")
    assert "Binary files a/q/b and b/q/b differ\n" in diff.text("/p")
