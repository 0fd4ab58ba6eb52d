"""Shell commands that read memory are told by kind and version, others not at all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_read.shell_reads import ShellRead, shell_reads


def kinds(command: str) -> list[tuple[str, str]]:
    """Kind and version of each read."""
    return [(read.kind, read.version) for read in shell_reads(command)]


@pytest.mark.requirement("MR-9-13")
@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat /h/memories/MEMORY.md", [("memory_md", "v1")]),
        ("bat /h/memories/memory_summary.md", [("memory_summary", "v1")]),
        ("sed -n '1,20p' /h/memories_v2/MEMORY.md", [("memory_md", "v2")]),
        ("Get-Content 'C:\\u\\memories\\raw_memories.md'", [("raw_memories", "v1")]),
        ("Get-Content -Path C:/u/memories_v2/skills/x/SKILL.md", [("skills", "v2")]),
        (
            "cat /h/memories/MEMORY.md && sed -n 5p /h/memories_v2/rollout_summaries/a.md; "
            "tail -n 3 /h/memories/memory_summary.md",
            [("memory_md", "v1"), ("rollout_summaries", "v2"), ("memory_summary", "v1")],
        ),
        ("cd /h/memories && head -20 MEMORY.md | nl", [("memory_md", "v1")]),
        ("cd /h && cd memories_v2 && nl MEMORY.md", [("memory_md", "v2")]),
        ("rg -n 'a|b$' /h/memories/MEMORY.md", [("memory_md", "v1")]),
        ("grep -rn make /h/memories/rollout_summaries", [("rollout_summaries", "v1")]),
        ("git grep make /h/memories/skills/x", [("skills", "v1")]),
        ("fd recap /h/memories/rollout_summaries", [("rollout_summaries", "v1")]),
        ("find /h/memories/skills -name SKILL.md", [("skills", "v1")]),
        ("awk '{print}' /h/memories/MEMORY.md", [("memory_md", "v1")]),
        ("cat /h/other.md", []),
        ("ls /h/memories/skills", []),
        ("rg --files /h/memories/skills", []),
        ("find /h/memories/skills", []),
        ("cat /h/memories/MEMORY.md; rm x", []),
        ("cat /h/memories/MEMORY.md > copy", []),
        ("cat $HOME/memories/MEMORY.md", []),
        ('cat "$HOME/memories/MEMORY.md"', []),
        ("cat `which x` /h/memories/MEMORY.md", []),
        ("cat a & cat /h/memories/MEMORY.md", []),
        ("sed -i s/a/b/ /h/memories/MEMORY.md", []),
        ("cat 'no end /h/memories/MEMORY.md", []),
        ("find /h/memories/skills -name x -delete", []),
        ("", []),
    ],
)
def test_a_read_is_told_only_where_the_whole_line_is_understood(
    command: str, found: list[tuple[str, str]]
) -> None:
    """The commands of the original's table, and each way not to be one."""
    assert kinds(command) == found


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_line_gives_words_of_the_table_only(command: str) -> None:
    """Whatever a model writes."""
    for read in shell_reads(command):
        assert isinstance(read, ShellRead)


def test_an_endless_line_is_not_looked_at() -> None:
    """Nor are more than a few reads told."""
    assert shell_reads("cat /h/memories/MEMORY.md;" * 5_000) == ()
    assert len(shell_reads("cat /h/memories/MEMORY.md;" * 100)) == 16
