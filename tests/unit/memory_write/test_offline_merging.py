"""Which statements are the same, and which a later one replaces."""

from dataclasses import replace

import pytest

from memory_write.offline.judge import Scope
from memory_write.offline.merging import Entry, merged
from memory_write.offline.wording import worded


def entry(
    text: str, day: int = 1, *, thread: str = "t1", cwd: str = "/p", scope: Scope = "as stated"
) -> Entry:
    """A statement of that day."""
    return Entry(
        text=text,
        quote=text,
        kind="preference",
        scope=scope,
        cwd=cwd,
        said_at=f"2026-11-{day:02}T10:00:00+00:00",
        place=0,
        sources=(thread,),
    )


def standing(*texts: str) -> list[str]:
    """What stands after these were said, a day apart."""
    found = merged(entry(text, day, thread=f"t{day}") for day, text in enumerate(texts, 1))
    return [one.text for one in found]


@pytest.mark.requirement("FR-F1", "FR-F3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I prefer tabs.", "Use spaces from now on."),
        ("The user lives in Paris.", "The user moved to Lyon."),
        ("The user lives in Paris.", "The user is based in Lyon now."),
        ("Keep functions under thirty lines.", "Keep functions under forty lines."),
        ("Introductions are at most one paragraph.", "Introductions are at most two paragraphs."),
        ("The tests run with make test.", "The test runner is make check."),
        ("We use npm.", "Use pnpm instead of npm."),
        ("The user writes American English.", "The user writes British English."),
        ("Always squash commits.", "Never squash commits."),
        ("The default branch is develop.", "The default branch is main."),
        ("The user prefers tabs.", "The user no longer prefers tabs."),
        ("Use celsius.", "Use fahrenheit."),
        ("Don't commit yourself, the user does the commits.", "You can commit yourself now."),
        ("Nicht selbst committen.", "Du darfst jetzt selbst committen, aber klein."),
        ("You may push.", "Never push."),
    ],
)
def test_a_later_statement_replaces_what_it_corrects(old: str, new: str) -> None:
    """Whatever the order in which the sessions are read."""
    assert standing(old, new) == [new]
    late_first = merged([entry(new, 2, thread="t2"), entry(old, 1, thread="t1")])
    assert [one.text for one in late_first] == [new]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I prefer tabs.", "Use two spaces for YAML."),
        ("Never push.", "You can push to staging."),
        ("Never push.", "In an emergency you can push."),
        ("Keep functions under thirty lines.", "Keep lines under 100 characters."),
        ("The user lives in Paris.", "The user works at Acme."),
        ("Commits should be small.", "Commit messages are in English."),
        ("Titles must not contain the word Explore.", "Titles are in sentence case."),
        ("Use Postgres for the queue.", "Use SQLite for the tests."),
        ("The tests run with make check.", "The build runs with make all."),
        ("Keep commits small.", "Use large fonts in slides."),
    ],
)
def test_different_statements_stand_beside_each_other(one: str, other: str) -> None:
    """An exception or a neighbour replaces nothing."""
    assert standing(one, other) == [one, other]


def test_duplicates_become_one_with_all_their_sources() -> None:
    """The wording that says more is kept."""
    found = merged(
        [
            entry("The user prefers small commits.", 1, thread="t1"),
            entry("Commits should be small.", 2, thread="t2", cwd="/q"),
            entry("Keep commits small and focused.", 3, thread="t3"),
        ]
    )
    assert [one.sources for one in found] == [("t1", "t2", "t3")]
    assert found[0].text == "Keep commits small and focused."


@pytest.mark.requirement("MW-9-7")
def test_a_project_s_own_rule_does_not_touch_another_project() -> None:
    """Two repositories may differ."""
    found = merged(
        [
            entry("In this repo use tabs.", 1, cwd="/p", scope="project"),
            entry("In this repo use spaces.", 2, cwd="/q", scope="project"),
        ]
    )
    assert len(found) == 2


def test_merging_what_was_merged_changes_nothing() -> None:
    """A fixed point, in the same order."""
    texts = ("I prefer tabs.", "Small commits, please.", "Use spaces from now on.", "I live here.")
    once = merged(entry(text, day) for day, text in enumerate(texts, 1))
    assert merged(once) == once


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("I prefer small commits", "The user prefers small commits."),
        ("I'm based in Paris.", "The user is based in Paris."),
        ("I live in Paris and use celsius.", "The user lives in Paris and uses celsius."),
        ("I don't use semicolons.", "The user doesn't use semicolons."),
        ("I always write tests first.", "The user always writes tests first."),
        ("In this repo I want hints.", "In this repo I want hints."),
        ("My name is Sam.", "The user's name is Sam."),
        ("I'd rather have tabs", "The user would rather have tabs."),
        ("We decided to use Postgres.", "We decided to use Postgres."),
        ("keep functions short", "Keep functions short."),
        ("I decided on Postgres.", "The user decided on Postgres."),
    ],
)
def test_statements_are_worded_about_the_user(typed: str, shown: str) -> None:
    """Only the front changes."""
    assert worded(typed) in (shown, shown.replace("I want", "the user wants"))


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("one thing: amounts are always Decimal", "Amounts are always Decimal."),
        ("wait, the changelog goes in docs/", "The changelog goes in docs/."),
        ("you write too much btw, two lines do", "You write too much, two lines do."),
        ("I prefer tabs lol", "The user prefers tabs."),
        ("Well, I prefer tabs", "The user prefers tabs."),
        ("Otra cosa: los tests van en tests/", "Los tests van en tests/."),
        ("对\uff0c金额都用分存", "金额都用分存。"),
        ("Well-known ports only", "Well-known ports only."),
        ("ok, yes", "Ok, yes."),
        ("lol", "Lol."),
    ],
)
def test_what_is_said_around_a_statement_is_not_shown(typed: str, shown: str) -> None:
    """Words that only open or soften; the end mark is that of the script."""
    assert worded(typed) == shown


@pytest.mark.requirement("FR-U8")
def test_what_may_be_of_one_project_is_joined_where_it_says_the_same_and_nothing_more() -> None:
    """A restored statement names its folder as it was called elsewhere."""
    restored = entry("Deploys run on port 8080.", 1, cwd="git:git.example.org/acme/shop")
    same = entry("Deploys run on port 8080.", 2, thread="t2", cwd="/w/shop", scope="project")
    [one] = merged([restored, same])
    assert (one.cwd, one.sources) == ("/w/shop", ("t1", "t2"))
    for other in (replace(same, cwd="/w/blog"), replace(same, text="Deploys run on port 9090.")):
        assert len(merged([restored, other])) == 2
