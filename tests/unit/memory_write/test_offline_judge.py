"""What the offline rules keep of typed text, and what they leave alone."""

import pytest

from memory_write.offline.judge import Judged, judge
from memory_write.offline.sentences import statements
from tests.support.offline_statements import KEPT, KEPT_ASIDE, KEPT_IN_OTHER_LANGUAGES, NOT_KEPT

KEPT_CASES = [(fact, text) for fact, texts in KEPT.items() for text in texts]
NOT_KEPT_CASES = [(why, text) for why, texts in NOT_KEPT.items() for text in texts]


def kept(text: str) -> list[Judged]:
    """What a typed message leaves."""
    found = [judge(statement) for statement in statements(text)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize(("fact", "text"), KEPT_CASES, ids=[text for _, text in KEPT_CASES])
def test_a_standing_statement_is_kept_however_it_is_worded(fact: str, text: str) -> None:
    """The words that carry it stay as they were typed."""
    assert any(fact in one.text.lower() for one in kept(text)), kept(text)


@pytest.mark.parametrize("text", KEPT_ASIDE)
def test_everyday_rules_habits_and_facts_are_kept(text: str) -> None:
    """Of many kinds."""
    assert kept(text)


@pytest.mark.parametrize("text", KEPT_IN_OTHER_LANGUAGES)
def test_the_common_forms_of_four_more_languages_are_kept(text: str) -> None:
    """German, Spanish, French and Chinese."""
    assert kept(text)


@pytest.mark.requirement("FR-E4", "FR-F20")
@pytest.mark.parametrize(("why", "text"), NOT_KEPT_CASES, ids=[text for _, text in NOT_KEPT_CASES])
def test_a_look_alike_leaves_nothing(why: str, text: str) -> None:
    """A wrong memory costs more than a missing one."""
    assert kept(text) == [], why


@pytest.mark.parametrize(
    ("text", "kept_text"),
    [
        ("Note [3]: I prefer small commits.", "I prefer small commits."),
        ("Rule: functions stay under thirty lines.", "functions stay under thirty lines."),
        ("I prefer small commits. [[an aside; of any kind]]", "I prefer small commits."),
        ("I prefer small commits. {{template}}", "I prefer small commits."),
        ("They fail. By the way, I prefer small commits.", "I prefer small commits."),
    ],
)
def test_labels_asides_and_openers_are_taken_off(text: str, kept_text: str) -> None:
    """Whatever stands in front of a statement or in brackets behind it."""
    assert [one.text for one in kept(text)] == [kept_text]


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("In this repo every function must have type hints.", "project"),
        ("In proj_b the user writes British English.", "project"),
        ("We decided to use Postgres.", "project"),
        ("I live in Paris.", "everywhere"),
        ("In all my projects I want small commits.", "everywhere"),
        ("Keep functions under thirty lines.", "as stated"),
    ],
)
def test_scope_words_are_understood(text: str, scope: str) -> None:
    """A statement without a scope keeps none."""
    assert [one.scope for one in kept(text)] == [scope]


def test_a_secret_is_dropped_and_the_statement_beside_it_stays() -> None:
    """The clause with the credential goes, nothing else."""
    text = 'I write British English. My key is sk-proj-FAKE and password = "hunter2hunter2"'
    assert [one.text for one in kept(text)] == ["I write British English."]
    joined = "I live in Paris and my password is hunter2hunter2."
    assert [one.text for one in kept(joined)] == ["I live in Paris"]


def test_hostile_text_is_judged_in_bounded_time() -> None:
    """No pattern runs away on long or nested input; the work is bounded by count, not by luck."""
    for text in (
        "a" * 100_000,
        "<a>" * 30_000,
        "[" * 30_000 + "]" * 30_000,
        '"' * 30_001,
        "always " * 20_000,
        "I want " + "very-" * 5_000 + "small commits",
        "no, " * 20_000,
        ("the user " * 60 + ". ") * 100,
        "`" * 9_999 + "always use tabs.",
    ):
        assert len(kept(text)) <= 200
