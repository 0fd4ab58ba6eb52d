"""Patches: read as models write them, applied as loosely as must be and as exactly as can be."""

import random
from pathlib import Path

import pytest

from server.agent.tools.apply_patch import patch_in_command
from server.agent.tools.patch import (
    AddFile,
    DeleteFile,
    PatchRefused,
    UpdateFile,
    apply_hunks,
    read_patch,
)
from server.agent.tools.unified import hunks


def _applied(text: str, *body: str) -> str:
    patch = "\n".join(["*** Begin Patch", "*** Update File: f", *body, "*** End Patch"])
    [update] = read_patch(patch)
    assert isinstance(update, UpdateFile)
    return apply_hunks("f", text, update.hunks)


def test_all_kinds_of_operations_are_read() -> None:
    """Add, delete, update, move; several in one patch."""
    patch = """*** Begin Patch
*** Add File: a/new.txt
+one
+
+three
*** Delete File: gone.txt
*** Update File: old.py
*** Move to: new.py
@@ class A
@@ def f
-x
+y
*** End of File
*** End Patch
"""
    added, deleted, updated = read_patch(patch)
    assert added == AddFile("a/new.txt", "one\n\nthree\n")
    assert deleted == DeleteFile("gone.txt")
    assert isinstance(updated, UpdateFile) and updated.move_to == "new.py"
    [hunk] = updated.hunks
    assert hunk.contexts == ["class A", "def f"] and hunk.at_end
    assert hunk.lines == [("-", "x"), ("+", "y")]


@pytest.mark.parametrize(
    ("patch", "word"),
    [
        ("", "first line"),
        ("*** Begin Patch", "last line"),
        ("*** Begin Patch\n*** End Patch", "names no file"),
        ("*** Begin Patch\nhello\n*** End Patch", "line 2"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "no hunk"),
        ("*** Begin Patch\n*** Update File: f\n@@ x\n*** End Patch", "no lines"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n?b\n*** End Patch", "line 5"),
        ("*** Begin Patch\n*** Add File: \n+x\n*** End Patch", "no file"),
    ],
)
def test_what_cannot_be_read_is_explained(patch: str, word: str) -> None:
    """With the line, so that the model can mend it."""
    with pytest.raises(PatchRefused, match=word):
        read_patch(patch)


def test_a_here_document_around_the_patch_is_taken_off() -> None:
    """Models wrap it out of habit."""
    inner = "*** Begin Patch\n*** Delete File: f\n*** End Patch"
    assert read_patch(f"<<'EOF'\n{inner}\nEOF\n") == read_patch(inner)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a\nfoo  \nb\n", "foo"),
        ("a\n   foo\nb\n", "foo"),
        ("a\nsay \u201cfoo\u201d \u2014 now\nb\n", 'say "foo" - now'),
        ("a\r\nfoo\r\nb\r\n", "foo"),
    ],
)
def test_lines_match_ever_more_loosely_and_what_is_kept_stays(text: str, old: str) -> None:
    """Only the line that goes is gone; line ends stay those of the file."""
    end = "\r\n" if "\r\n" in text else "\n"
    after = _applied(text, "@@", " a", f"-{old}", "+bar", " b")
    assert after == f"a{end}bar{end}b{end}"


def test_a_kept_line_stays_byte_for_byte_though_it_matched_loosely() -> None:
    """The context of a hunk is no new text."""
    assert _applied("  a\t \nold\n", " a", "-old", "+new") == "  a\t \nnew\n"


def test_ends_of_files() -> None:
    """No newline stays no newline; additions without a place go to the end."""
    assert _applied("a\nb", "-b", "+c") == "a\nc"
    assert _applied("a\n", "@@", "+b") == "a\nb\n"
    assert _applied("", "@@", "+b") == "b\n"
    assert _applied("x\ny\nx\ny\n", "@@", "-y", "+z", "*** End of File") == "x\ny\nx\nz\n"
    assert _applied("def f():\nb\n", "@@ def f():", "+    pass") == "def f():\n    pass\nb\n"
    assert _applied("\ufeffa\nb\n", "-a", "+c") == "\ufeffc\nb\n"
    assert _applied("a\nb\n", "-b", "+c", "") == "a\nc\n"


def test_hunks_are_looked_for_in_order() -> None:
    """A second hunk stands behind the first one."""
    assert _applied("x\na\nx\n", "@@", "-x", "+1", "@@", "-x", "+2") == "1\na\n2\n"


def test_what_does_not_fit_says_which_hunk_of_which_file() -> None:
    """And that nothing was changed."""
    with pytest.raises(PatchRefused, match=r"hunk 2 of 2 does not fit f: .*(?s:.)*nothing was"):
        _applied("a\nb\n", "@@", "-a", "+1", "@@", "-nope", "+2")
    with pytest.raises(PatchRefused, match="no line reads 'def g'"):
        _applied("a\n", "@@ def g", "-a")


def _mutated(lines: list[str], rng: random.Random) -> list[str]:
    made = list(lines)
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(made))
        match rng.choice(("insert", "delete", "replace")):
            case "insert":
                made[at:at] = [f"new {rng.random()}"]
            case "delete" if made:
                del made[min(at, len(made) - 1)]
            case "replace" if made:
                made[min(at, len(made) - 1)] = f"other {rng.random()}"
    return made


@pytest.mark.parametrize("seed", range(60))
def test_a_patch_made_of_a_diff_makes_the_other_text(seed: int) -> None:
    """Whatever the texts: the hunks of our diff, as a patch, lead from one to the other."""
    rng = random.Random(seed)
    words = ["a", "b", "", "  c", "d" * 5]
    before = [rng.choice(words) + str(rng.randint(0, 9)) for _ in range(rng.randint(1, 60))]
    after = _mutated(before, rng)
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    diff = hunks(old, new)
    if not diff:
        assert old == new
        return
    body = ["@@" if line.startswith("@@") else line for line in diff.splitlines()]
    if "@@" in body and not new:
        return
    assert _applied(old, *body) == new


def test_a_large_file_is_changed_in_linear_work(tmp_path: Path) -> None:
    """Five megabytes, one line in its middle; the diff is small."""
    lines = [f"line {number} of a large file, with some text in it" for number in range(100_000)]
    text = "\n".join(lines) + "\n"
    after = _applied(text, f"-{lines[50_000]}", "+changed")
    assert after.count("\n") == 100_000 and "\nchanged\n" in after
    assert len(hunks(text, after).splitlines()) == 9


def test_a_diff_that_would_take_too_long_is_coarse_and_still_right() -> None:
    """Many equal lines on both sides."""
    before, after = "a\nb\n" * 5_000, "b\na\nc\n" * 5_000
    diff = hunks(f"x\n{before}", f"y\n{after}")
    gone = "".join(f"{line[1:]}\n" for line in diff.splitlines()[1:] if line.startswith("-"))
    assert gone.endswith("a\nb\n" * 10) or diff


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (["bash", "-lc", "apply_patch <<'EOF'\n{}\nEOF"], None),
        (["/bin/sh", "-c", "cd sub/dir && apply_patch <<EOF\n{}\nEOF\n"], "sub/dir"),
        (["apply_patch", "{}"], None),
        ('applypatch <<"P"\n{}\nP', None),
        ("cd 'a b' && apply_patch <<'EOF'\n{}\nEOF", "a b"),
        ("apply_patch '{}'", None),
    ],
)
def test_a_patch_through_the_shell_is_found(command: str | list[str], folder: str | None) -> None:
    """However models write it."""
    patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch"
    if isinstance(command, str):
        found = patch_in_command(command.replace("{}", patch))
    else:
        found = patch_in_command([word.replace("{}", patch) for word in command])
    assert found == (patch, folder)


@pytest.mark.parametrize(
    "command",
    [
        "apply_patch <<'EOF'\nx\nEOF\nrm -rf /",
        "rm x; apply_patch <<'EOF'\nx\nEOF",
        "cd $(evil) && apply_patch <<'EOF'\nx\nEOF && more",
        ["bash", "-lc", "echo apply_patch"],
        ["python", "-c", "apply_patch <<'EOF'\nx\nEOF"],
    ],
)
def test_what_does_more_than_patch_is_left_to_the_shell(command: str | list[str]) -> None:
    """Only the patch and nothing beside it."""
    assert patch_in_command(command) is None
