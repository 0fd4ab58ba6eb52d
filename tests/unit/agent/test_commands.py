"""What a command line is made of, and which commands are known to do no harm."""

import pytest

from server.agent.tools.commands import (
    actions,
    destroys_much,
    only_looks,
    segments,
    takes_lines,
)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("ls -la", (("ls", "-la"),)),
        ("cd src && cat 'a b.txt' | head -n 3", (
            ("cd", "src"), ("cat", "a b.txt"), ("head", "-n", "3"),
        )),
        ("echo \"plain words\"; pwd", (("echo", "plain words"), ("pwd",))),
        ("git log --format='%H (%s)'", (("git", "log", "--format=%H (%s)"),)),
    ],
)  # fmt: skip
def test_plain_lines_are_taken_apart(line: str, parts: tuple[tuple[str, ...], ...]) -> None:
    """Words, and what joins commands."""
    assert segments(line) == parts


@pytest.mark.parametrize(
    "line",
    [
        "", "   ", "ls > out", "cat < in", "echo $HOME", "echo `id`", "echo \"$(id)\"", "(ls)",
        "ls *.py", "ls ~", "sleep 1 &", "a && ", "&& a", "echo 'open", "ls\0", "{ ls; }", "! ls",
        "cat a\\ b", "echo \"a`id`b\"", "ls #x", "x=1; $x", "cat <<E\nE",
    ],
)  # fmt: skip
def test_lines_that_are_more_than_words_are_not(line: str) -> None:
    """Expansions, redirections, groups, the background: nothing is guessed."""
    assert segments(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "cat a", "ls -la | head -3", "git status", "git diff HEAD", "rg -n word src", "grep -r x .",
        "sed -n 1,5p f", "find . -name x", "wc -l f", "cd a && ls", "uniq f", "git log -5",
        "uniq -c f", "sort -u f", "file -b f", "git diff --stat", "git log --oneline -3", "rg -i x",
    ],
)  # fmt: skip
def test_looking_is_known_to_be_safe(line: str) -> None:
    """These run without a question under every policy."""
    parts = segments(line)
    assert parts is not None and all(map(only_looks, parts))


@pytest.mark.parametrize(
    "line",
    [
        "rm a", "touch a", "find . -delete", "find . -exec rm x ;", "find . -fprintf out x",
        "rg --pre cmd x", "git diff --output=x", "git -c core.pager=x log", "git grep -Ox y",
        "git log --ext-diff", "sort -o out in", "uniq in out", "sed -i s/a/b/ f", "sed s/x/e/e f",
        "python x", "sh x", "env ls", "xargs rm", "git push", "git branch -D x", "awk x f",
        "base64 --output=x f", "git show --textconv", "git diff --outp=x", "git log --ext-dif",
        "sort --outp=x in", "sort -uo out in", "sort --comp=x in", "uniq -c in out",
        "uniq -d in out", "sed -n 1p -fscript", "rg -iz word", "file -C -m x", "file -bC x",
        "make", "./ls", "date -s x", "hostname x",
    ],
)  # fmt: skip
def test_what_writes_or_runs_something_is_not(line: str) -> None:
    """Also where its name is that of something harmless."""
    parts = segments(line)
    assert parts is None or not all(map(only_looks, parts))


def test_only_a_shell_of_the_system_is_taken_at_its_word() -> None:
    """Another program of that name may do anything with the line."""
    assert all(map(takes_lines, ("/bin/bash", "bash", "/usr/bin/zsh", "sh")))
    assert not any(map(takes_lines, ("/work/bash", "./sh", "python3", "/bin/env", "")))


@pytest.mark.parametrize(
    ("words", "much"),
    [
        (("rm", "-rf", "/"), True), (("rm", "-f", "a"), True), (("rm", "a"), False),
        (("sudo", "rm", "-fr", "x"), True), (("dd", "of=/dev/sda"), True),
        (("dd", "of=file"), False), (("git", "reset", "--hard"), True), (("mkfs.ext4", "x"), True),
        (("git", "clean", "-fdx"), True), (("git", "status"), False),
        (("/bin/rm", "-rf", "x"), True),
    ],
)  # fmt: skip
def test_what_destroys_much_is_known(words: tuple[str, ...], much: bool) -> None:
    """A person is asked even where the sandbox would hold it."""
    assert destroys_much(words) is much


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("cat a.txt", [("read", "/w/a.txt")]),
        ("cd src && sed -n 1,5p b.py", [("read", "/w/src/b.py")]),
        ("ls -la src", [("listFiles", "src")]),
        ("rg -n word src | head -5", [("search", "src")]),
        ("rg --files", [("listFiles", None)]),
        ("find . -name '*.py'", [("search", ".")]),
        ("cat a && make", [("unknown", None)]),
        ("touch x && echo y", [("unknown", None)]),
    ],
)
def test_actions_tell_reads_listings_and_searches(
    line: str, kinds: list[tuple[str, str | None]]
) -> None:
    """One part that is not understood makes the whole line one unknown command."""
    found = actions(line, "/w")
    assert [(one["type"], one.get("path")) for one in found] == kinds
    if kinds[0][0] == "unknown":
        assert found == [{"type": "unknown", "command": line}]
