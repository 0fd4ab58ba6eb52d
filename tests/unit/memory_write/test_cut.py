"""What is cut from memory when inputs went: never too little, and not all that is beside it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_write.hand_lines import places_of
from memory_write.phase2.cut import NO_HANDBOOK, Grounds, cut_file
from memory_write.phase2.evidence import Evidence, trace_of
from memory_write.phase2.sources import Sources, Withdrawn
from state.ids import ThreadId

GONE = ThreadId("01a22885-8dbe-7421-9db2-2b79cd77fa67")
KEPT = ThreadId("01a22885-8fee-7c31-85b4-3360a829bf3c")
GONE_NAME = "2026-11-29T18-16-10-i49F-one.md"
KEPT_NAME = "2026-11-29T18-16-11-VV9i-two.md"
GONE_TEXT = """# The staging host

- The user said the staging host is zanzibar-7731.
- Deployments go through the blue gate after lunch.
- Der Schlüssel liegt im Büro.
- 用户喜欢喝绿茶。
"""
KEPT_TEXT = """# Commits

- The user wants small commits with short titles.
- Run make check before pushing to the main branch.
"""


def grounds(**more: object) -> Grounds:
    """One thread went and one remains."""
    return Grounds(
        gone=Withdrawn(frozenset({GONE}), {GONE_NAME: GONE}),
        kept=Sources(by_name={KEPT_NAME: KEPT}, texts={KEPT: KEPT_TEXT.encode()}),
        evidence=Evidence(trace_of((GONE_TEXT,)), (KEPT_TEXT,)),
        **more,  # type: ignore[arg-type]
    )


def block(name: str, thread: str, *bullets: str, group: str = "work", number: int = 1) -> str:
    """A task group of the handbook."""
    lines = "".join(f"- {bullet}\n" for bullet in bullets)
    return (
        f"# Task Group: {group}\n\nscope: work\napplies_to: cwd=/x; reuse_rule=here\n\n"
        f"## Task {number}: work, success\n\n### rollout_summary_files\n\n"
        f"- rollout_summaries/{name} (cwd=/x, thread_id={thread})\n\n"
        f"## Reusable knowledge\n\n{lines}\n"
    )


def test_a_block_that_rests_on_what_went_goes_whole_and_the_other_stays_byte_for_byte() -> None:
    kept = block(KEPT_NAME, KEPT, "small commits [Task 1]")
    gone = block(GONE_NAME, GONE, "worded quite otherwise [Task 1]")
    for text in (kept + gone, gone + kept):
        cut = cut_file("MEMORY.md", text, grounds())
        assert cut.text == kept or cut.text == kept.rstrip("\n") + "\n"
        assert cut.lines > 0
    assert cut_file("MEMORY.md", kept, grounds()).text == kept
    assert cut_file("MEMORY.md", kept, grounds()).lines == 0
    assert cut_file("MEMORY.md", gone, grounds()).text == NO_HANDBOOK


MIXED = f"""# Task Group: shop

scope: work in the shop
applies_to: cwd=/x; reuse_rule=here

## Task 1: reach zanzibar-7731, success

### rollout_summary_files

- rollout_summaries/{GONE_NAME} (thread_id={GONE})

### keywords

- zanzibar-7731, staging

## Task 2: commits, success

### rollout_summary_files

- rollout_summaries/{KEPT_NAME} (thread_id={KEPT})
- rollout_summaries/{GONE_NAME} (thread_id={GONE})

### keywords

- commits, titles, zanzibar

## User preferences

- Small commits with short titles [Task 2]
- Something that was only heard in the other one [Task 1]
- Small commits and short titles, make check [Task 1, Task 2]
- The blue gate opens after lunch [Task 1, Task 2]
- Run make check before pushing
- Quite unlike anything that anybody ever mentioned
"""


def test_a_mixed_block_keeps_what_the_other_thread_supports() -> None:
    cut = cut_file("MEMORY.md", MIXED, grounds()).text
    assert cut is not None
    for gone in ("zanzibar", GONE, GONE_NAME, "Task 1", "other one", "blue gate", "unlike"):
        assert gone not in cut, gone
    for kept in (
        "- Small commits with short titles [Task 2]",
        "- Small commits and short titles, make check [Task 2]",
        "- Run make check before pushing",
        "- commits, titles",
        f"- rollout_summaries/{KEPT_NAME} (thread_id={KEPT})",
        "## Task 2: commits, success",
        "applies_to: cwd=/x; reuse_rule=here",
    ):
        assert kept in cut, kept


def test_what_stands_in_a_block_of_another_thread_goes_by_its_words() -> None:
    text = block(
        KEPT_NAME,
        KEPT,
        "Small commits with short titles [Task 1]",
        "The host is zanzibar-7731 [Task 1]",
        "Deployments go through the blue gate after lunch [Task 1]",
        "Der Schlüssel liegt im Büro [Task 1]",
        "用户喜欢喝绿茶 [Task 1]",
    )
    cut = cut_file("MEMORY.md", text, grounds()).text
    assert cut is not None
    assert "Small commits" in cut
    for gone in ("zanzibar", "gate", "Schlüssel", "绿茶"):
        assert gone not in cut


SUMMARY = f"""v1

## User Profile

Knows the way to zanzibar.

## User preferences

- Small commits with short titles.
- Staging is at ZANZIBAR 7731.
- Wants the blue gate.
- Resides in the French capital.

## General Tips

- Run make check before pushing.

## What's in Memory

### /srv/zanzibar

#### 2026-11-29

- commits: small

### /x

#### 2026-11-29

- rollout_summaries/{GONE_NAME} \u2014 something; thread_id={GONE}
  - more of it
- rollout_summaries/{KEPT_NAME} \u2014 small commits; thread_id={KEPT}
"""


def test_the_summary_keeps_its_form_and_what_remains_supports() -> None:
    cut = cut_file("memory_summary.md", SUMMARY, grounds()).text
    assert cut is not None
    assert cut.startswith("v1\n\n## User Profile\n")
    for heading in ("## User preferences", "## General Tips", "## What's in Memory", "### /x"):
        assert heading in cut
    for gone in ("anzibar", "ZANZIBAR", "gate", "capital", GONE, "more of it"):
        assert gone not in cut, gone
    for kept in ("- Small commits with short titles.", "- Run make check", KEPT_NAME):
        assert kept in cut, kept


def test_a_person_s_lines_survive_the_block_they_stand_in_unless_they_say_the_same() -> None:
    mine, same = "- Ask Ada on Fridays.", "- The host zanzibar-7731 is mine."
    text = block(GONE_NAME, GONE, "worded otherwise") + f"{mine}\n{same}\n"
    by_hand = {"MEMORY.md": frozenset({mine, same})}
    cut = cut_file("MEMORY.md", text, grounds(by_hand=by_hand)).text
    assert cut is not None
    assert mine in cut
    assert "zanzibar" not in cut
    assert "worded otherwise" not in cut


def test_a_person_s_line_holds_where_it_held_when_its_block_goes() -> None:
    """A folder that the rest knows is still named; one that only went is not."""
    mine = "- Ask Ada on Fridays."
    by_hand = {"MEMORY.md": frozenset({mine})}
    text = block(GONE_NAME, GONE, "worded otherwise") + f"{mine}\n"
    for folder, left in (("/home/ada/shop", "/home/ada/shop"), ("/srv/zanzibar-7731", "unknown")):
        placed = re.sub(r"applies_to: cwd=[^;]+;", f"applies_to: cwd={folder};", text)
        cut = cut_file("MEMORY.md", placed, grounds(by_hand=by_hand)).text
        assert cut is not None
        assert dict(zip(cut.split("\n"), places_of(cut), strict=True))[mine] == left
        assert "cwd=any" not in cut and "zanzibar" not in cut


def test_a_person_s_line_of_a_summary_keeps_its_project_when_the_topic_goes() -> None:
    mine = "- Ask Ada on Fridays."
    text = SUMMARY.replace("#### 2026-11-29", f"#### zanzibar-7731\n\n{mine}\n\n#### 2026-11-29")
    by_hand = {"memory_summary.md": frozenset({mine})}
    cut = cut_file("memory_summary.md", text, grounds(by_hand=by_hand)).text
    assert cut is not None and "zanzibar" not in cut
    assert f"{mine} (in x)" in cut


@pytest.mark.parametrize(
    ("path", "text", "left"),
    [
        ("skills/a/SKILL.md", f"see thread_id={GONE}\n", None),
        ("skills/a/run.sh", "#!/bin/sh\nssh zanzibar-7731\n", None),
        ("skills/a/run.sh", "#!/bin/sh\nmake check\n", "#!/bin/sh\nmake check\n"),
        ("skills/zanzibar/SKILL.md", "# Steps\n\n- make check\n", None),
        ("skills/a/SKILL.md", "---\nname: a\ndescription: zanzibar-7731\n---\n\ntext\n", None),
        (
            "skills/a/SKILL.md",
            "# Steps\n\n- make check\n- run make check before\n- ssh zanzibar-7731\n",
            "# Steps\n\n- make check\n- run make check before\n",
        ),
        ("README.md", "zanzibar-7731\n", "zanzibar-7731\n"),
    ],
)
def test_a_skill_loses_lines_or_goes_whole(path: str, text: str, left: str | None) -> None:
    assert cut_file(path, text, grounds()).text == left


_WORDS = st.sampled_from(["amber", "birch", "cobalt", "dune", "ember", "fjord"])
_SECRETS = [f"secret{number}word" for number in range(10, 40)]


@given(st.data())
def test_no_word_of_what_went_is_left_wherever_it_was_put(data: st.DataObject) -> None:
    """Lines that carry a word known only from what went, in any place of any block or section."""
    secrets = data.draw(st.lists(st.sampled_from(_SECRETS), min_size=1, max_size=5, unique=True))
    plain = data.draw(st.lists(_WORDS, min_size=1, max_size=6))
    bullets = [f"{word} {word} [Task 1]" for word in plain]
    for secret in secrets:
        place = data.draw(st.integers(0, len(bullets)))
        tail = data.draw(st.sampled_from(["", " [Task 1]", " [Task 2]", f" thread_id={KEPT}"]))
        bullets.insert(place, f"{data.draw(_WORDS)} {secret}{tail}")
    thread, name = data.draw(st.sampled_from([(KEPT, KEPT_NAME), (GONE, GONE_NAME), ("", "x")]))
    group = data.draw(st.sampled_from(["work", secrets[0]]))
    handbook = block(name, thread, *bullets, group=group) + block(KEPT_NAME, KEPT, "amber [Task 1]")
    summary = SUMMARY.replace("- Wants the blue gate.", "\n".join(f"- {one}" for one in bullets))
    ground = Grounds(
        gone=Withdrawn(frozenset({GONE}), {GONE_NAME: GONE}),
        kept=Sources(by_name={KEPT_NAME: KEPT}, texts={KEPT: b""}),
        evidence=Evidence(
            trace_of((" ".join(secrets), GONE_TEXT)), (" ".join(plain) + " amber", KEPT_TEXT)
        ),
        rebuild_follows=data.draw(st.booleans()),
    )
    for path, text in (("MEMORY.md", handbook), ("memory_summary.md", summary)):
        cut = cut_file(path, text, ground).text
        assert cut is not None
        assert not any(secret in cut for secret in secrets)
        assert GONE not in cut
        again = cut_file(path, cut, ground)
        assert again.text == cut, "what was cut has nothing more to lose"
        assert "amber" in cut or path != "MEMORY.md"


def test_a_line_of_a_note_outlives_the_heading_and_the_task_that_go() -> None:
    note = "- the harbour lamp stays green [ad-hoc note]"
    noted = Grounds(
        gone=Withdrawn(frozenset({GONE}), {GONE_NAME: GONE}),
        kept=Sources(by_name={}, texts={}),
        evidence=Evidence(trace_of((GONE_TEXT,)), ("the harbour lamp stays green",)),
    )
    summary = f"v1\n\n## What's in Memory\n\n### zanzibar-7731\n\n- blue gate\n{note}\n"
    cut = cut_file("memory_summary.md", summary, noted).text or ""
    assert note in cut and "zanzibar" not in cut and "blue gate" not in cut
    handbook = block(GONE_NAME, GONE, "the blue gate").replace(
        "### rollout_summary_files", f"{note}\n\n### rollout_summary_files"
    )
    cut = cut_file("MEMORY.md", handbook, noted).text or ""
    assert note in cut and GONE not in cut
