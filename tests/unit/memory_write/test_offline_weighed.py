"""What the weights keep that no form knows, and what they are told of the session around it."""

# ruff: noqa: RUF001  marks of other scripts are meant

import pytest

from memory_write.offline.asked_again import kept, let_go
from memory_write.offline.heard import listen
from memory_write.offline.judge import hearing, overheard
from memory_write.offline.outline import outline, stems
from memory_write.offline.sentences import statements
from memory_write.offline.taken_up import taken_up
from tests.support.transcripts import transcript

OFFER = "Caddy has the shortest config, Traefik reads the labels. Which one, Caddy or Traefik?"


def _after(answer: str, said: str) -> list[str]:
    heard = transcript(
        ("user", "which proxy do we take for the lab services, caddy or traefik?"),
        ("assistant", answer),
        ("user", said),
    )
    return [entry.text for entry in listen(heard).entries]


def test_a_few_words_pick_what_was_offered() -> None:
    """They decide after an offer, and say nothing where nothing was on offer."""
    assert _after(OFFER, "traefik then.") == ["Traefik then."]
    alone = transcript(("user", "traefik then."), ("assistant", "ok"))
    assert listen(alone).entries == ()


def test_what_is_taken_up_of_an_answer_is_a_mark() -> None:
    """The shared word, the question and the choice, each by the length of the statement."""
    found = taken_up("traefik then.", words=3, answer=OFFER, typed_before="caddy or traefik?")
    assert {"a shares 1 short", "a asks, shares short", "a or, shares short"} <= set(found)
    assert {"b asks short", "b shares short", "b or, shares short"} <= set(found)
    other = taken_up("bumped it.", words=3, answer=OFFER, typed_before="")
    assert "a shares 0 short" in other
    assert taken_up("traefik then.", words=3, answer="", typed_before="") == {"a none": 1.0}


def test_what_the_forms_refuse_is_weighed() -> None:
    """A reason that names somebody else is no refusal when all the rest speaks for it."""
    said = "dont use emojis in commit msgs bro my boss reads those"
    heard = overheard(said)
    assert hearing(said) is None
    assert heard is not None and heard.refusal == "others"
    assert len(_after("Done.", said)) == 1


@pytest.mark.parametrize(
    "said",
    [
        "Rewrite this sentence: I prefer small commits.",
        "Übersetze das: Wir nehmen immer Tabs.",
        "润色这句：我们一律用空格。",
        "my password is hunter2, always use it",
    ],
)
def test_a_text_to_be_worked_on_and_a_secret_are_never_weighed(said: str) -> None:
    """Neither is a wish of the one who types it."""
    assert overheard(said) is None
    assert _after("Done.", said) == []


def test_a_line_that_its_writer_ended_is_a_statement_of_its_own() -> None:
    """Lines that were broken to a width stay one."""
    typed = "if they want it live we'd need postgres i guess\noh and file names with underscores"
    assert statements(typed) == tuple(typed.split("\n"))
    wrapped = (
        "Please keep in mind that every table in this thesis is set with booktabs,\n"
        "also those that come out of a script."
    )
    assert statements(wrapped) == (wrapped.replace("\n", " "),)


def test_the_outline_tells_length_and_make() -> None:
    """Each step in length is a mark, so that what lies between is told too."""
    found = outline("use `make ci`, never 2 jobs!", "use it\nok?", words=7, statements=2)
    assert {"longer than 6", "more than 1 said", "made of code", "made of number"} <= set(found)
    assert {"made of cry", "message asks", "message of lines", "commas"} <= set(found)
    assert not {"longer than 8", "made of colon"} & set(found)
    assert set(stems(["rules", "ruling"])) == {"p rules", "p rulin", "p rules rulin"}


def test_an_answer_is_kept_until_it_is_let_go() -> None:
    """What was typed does not outlast the session that it was heard in."""
    asked: list[str] = []

    @kept
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length("four"), length("four")] == [4, 4]
    assert asked == ["four"]
    let_go()
    assert length("four") == 4
    assert asked == ["four", "four"]


def test_a_trait_told_along_with_the_first_task_is_left() -> None:
    """Alone it is kept: then it was typed to be known."""
    trait = "je suis graphiste, j'ai hérité du site d'une asso."
    task = "Le menu déborde sur mobile, tu peux regarder ?"
    assert listen(transcript(("user", f"bonjour ! {trait} {task}"))).entries == ()
    assert len(listen(transcript(("user", "I live in Paris and use celsius."))).entries) == 1
