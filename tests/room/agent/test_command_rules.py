"""The user's rules on commands: read without running, saved privately, never lost by one slip."""

import stat
from pathlib import Path

import pytest

from server.agent.command_rules import CommandRules, RuleLimits, judged, parsed

LIMITS = RuleLimits()


def test_rules_are_read_as_they_are_written_for_the_original() -> None:
    """Lists of choices, all decisions, comments; the stricter of two stands."""
    text = """# mine
prefix_rule(pattern=["git", ["pull", "fetch"]], decision="allow")
prefix_rule(
    pattern=["rm", "-rf"],
    decision="forbidden",
    justification="no",
)
prefix_rule(pattern=["ls"])
prefix_rule(pattern=["ls"], decision="prompt")
"""
    rules, bad = parsed(text, file="f", limits=LIMITS)
    assert bad == ()
    assert rules == {
        ("git", "pull"): "allow",
        ("git", "fetch"): "allow",
        ("rm", "-rf"): "forbidden",
        ("ls",): "prompt",
    }
    assert judged(rules, [("git", "fetch", "x")]) == "allow"
    assert judged(rules, [("git", "push")]) is None
    assert judged(rules, None) is None and judged(rules, []) is None


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "prefix_rule(pattern=open('/etc/passwd').read())",
        "prefix_rule(pattern=['a'], decision='maybe')",
        "prefix_rule(pattern=[])",
        "prefix_rule(pattern=[5])",
        "prefix_rule('a')",
        "other(pattern=['a'])",
        "x = 5",
        "this is no rule (",
        "prefix_rule(pattern=['" + "(" * 5_000,
    ],
)
def test_what_is_no_rule_is_told_and_the_others_stand(line: str) -> None:
    """Nothing is run, and what forbids something is not lost by a slip beside it."""
    text = f'prefix_rule(pattern=["rm"], decision="forbidden")\n{line}\n'
    rules, bad = parsed(text, file="f", limits=LIMITS)
    assert rules == {("rm",): "forbidden"}
    assert [one.line for one in bad] == [2]


async def test_a_saved_rule_is_private_kept_once_and_read_back(tmp_path: Path) -> None:
    """Odd words too; what a person wrote stays."""
    rules = CommandRules(tmp_path / "rules")
    assert await rules.current() == {}
    words = ["say", 'a "quoted" \\ wörd', "two\nlines"]
    for _ in range(2):
        await rules.save(words)
    await rules.save(["ls"])
    file = tmp_path / "rules" / "default.rules"
    assert file.read_text().count("prefix_rule") == 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert await rules.current() == {tuple(words): "allow", ("ls",): "allow"}
    (tmp_path / "rules" / "mine.rules").write_text('prefix_rule(["x"])\nprefix_rule(pattern=["y"])')
    assert ("y",) in await rules.current()


@pytest.mark.parametrize("words", [[], [""], ["x" * 1_001], ["x"] * 65])
async def test_a_rule_out_of_bounds_is_not_saved(words: list[str], tmp_path: Path) -> None:
    """Nor one beyond what the file may hold."""
    rules = CommandRules(tmp_path / "rules", RuleLimits(rules_max=1))
    with pytest.raises(ValueError):
        await rules.save(words)
    await rules.save(["one"])
    with pytest.raises(ValueError, match="as many rules"):
        await rules.save(["two"])
