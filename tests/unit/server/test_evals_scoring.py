"""How a corpus is read, and what counts as recalled, right and wrong."""

from pathlib import Path

import pytest

from memory_write.offline.judge import Kind, Scope
from memory_write.offline.merging import Entry
from memory_write.offline.moments import moments
from server.errors import CommandFailed
from server.evals import extraction
from server.evals.corpus import Part, Session, read
from server.evals.scoring import figures, score
from server.evals.transcripts import heard

CORPUS = """\
=== shop | /home/sam/shop
@file
# AGENTS.md instructions
Always sing.
@u
Use yarn here.
And keep it.
@a
Done.
@run yarn test
@exit 1
boom
@labels
+ preference project: yarn|pnpm ; here ; !npm
+ pitfall any: boom
- quoted: sing
~ keep it
=== other | /p
@u
Hello
@labels
- question: hello
"""


def session() -> Session:
    """The first session of the corpus above."""
    return read(CORPUS, language="en")[0]


def entry(text: str, scope: Scope = "project", kind: Kind = "rule") -> Entry:
    """A kept line."""
    return Entry(text=text, quote=text, kind=kind, scope=scope, cwd="/p", said_at="", place=0)


def test_a_session_is_read_as_it_happened() -> None:
    """Items in order, a command with its end, labels apart."""
    first, second = read(CORPUS, language="en")
    assert [item.kind for item in first.items] == ["file", "user", "assistant", "run"]
    assert first.items[1].text == "Use yarn here.\nAnd keep it."
    assert (first.items[3].text, first.items[3].status, first.items[3].output) == (
        "yarn test",
        1,
        "boom",
    )
    assert [len(first.right), len(first.look_alikes), len(first.either)] == [2, 1, 1]
    assert second.cwd == "/p" and len(second.items) == 1


@pytest.mark.parametrize("text", ["@u\nhi\n", "=== a | /p\n@labels\n+ hope user: x\n"])
def test_a_corpus_that_is_none_is_refused(text: str) -> None:
    """Never read in part."""
    with pytest.raises(CommandFailed):
        read(text, language="en")


def test_a_line_that_holds_all_terms_with_the_right_scope_recalls() -> None:
    """One word of each group is enough."""
    scored = score(session(), [entry("Use yarn here.")])
    assert [len(scored.recalled), len(scored.right), len(scored.wrong)] == [1, 1, 0]


@pytest.mark.parametrize(
    "kept",
    [
        entry("Use yarn here.", scope="as stated"),
        entry("Use yarn here, not npm."),
        entry("Use yarn."),
        entry("Use yarn here and sing."),
        entry("Use yarn here. " + "x" * 400),
        entry("Something else."),
    ],
)
def test_another_scope_a_missing_word_a_look_alike_or_a_paragraph_is_wrong(kept: Entry) -> None:
    """Each way of not being the statement."""
    scored = score(session(), [kept])
    assert [len(scored.recalled), len(scored.wrong)] == [0, 1]


def test_what_may_be_kept_or_left_counts_neither_way() -> None:
    """Half of a statement is no fault and no merit."""
    counted = figures("all", [score(session(), [entry("And keep it."), entry("boom")])])
    assert (counted.kept, counted.right, counted.recalled, counted.statements) == (1, 1, 1, 2)


def test_a_word_begins_where_the_term_does() -> None:
    """`yarn` is not in `unyarned`; signs of other scripts have no such place."""
    terms = session().right[0].terms
    assert not terms.covered_by("unyarned here")
    chinese = read("=== a | /p\n@labels\n+ decision any: 中文\n", language="zh")[0].right[0].terms
    assert chinese.covered_by("一律用中文")


async def test_an_eval_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for so many sessions, and a score for each."""
    chosen = read(CORPUS, language="en")

    async def corpus(part: Part) -> tuple[Session, ...]:
        return chosen

    monkeypatch.setattr(extraction, "_corpus", corpus)
    monkeypatch.setattr(extraction, "SESSIONS_A_LINE", 1)
    told: list[str] = []
    scores = await extraction.measured("dev", told.append)
    assert len(scores) == len(chosen)
    assert told == [f"{number} of {len(chosen)} sessions" for number in range(len(chosen))]


@pytest.mark.parametrize("opened", ["@file docs/notes.md\n", "@file\n", "@file\ndocs/notes.md\n"])
def test_what_a_file_holds_was_not_typed(opened: str, tmp_path: Path) -> None:
    """Wherever its path stands, or when none does."""
    text = f"=== shop | /p\n{opened}Always sing in the shower.\n@u\nUse yarn here.\n"
    [shop] = read(text, language="en")
    said = [one for moment in moments(heard(shop, tmp_path)) for one in moment.said]
    assert "Use yarn here." in said
    assert not any("sing" in one for one in said)
