"""Which remembered statements the offline answer cites for a question."""

import pytest

from server.agent.models.offline_recall import Recalled, best, queries

REMEMBERED = (
    ("From now on call me Ana.", "/home/ana/infra"),
    ("Always cite with BibTeX keys like smith2020, never with numbers.", "/home/ana/thesis"),
    ("Ich schreibe immer in der Du-Form, nie Sie.", "/home/ana/blog"),
    ("Ich bevorzuge Schweizer Rechtschreibung, also kein ß.", "/home/ana/blog"),
    ("Der Blog läuft mit Hugo und wird mit `hugo --minify` gebaut.", "/home/ana/blog"),
    ("Use spaces in YAML.", "/home/ana/infra"),
)


def cited(question: str) -> list[str]:
    """The statements cited, the best first."""
    known = [
        Recalled(text=text, path="MEMORY.md", line=line, cwd=cwd)
        for line, (text, cwd) in enumerate(REMEMBERED, 1)
    ]
    return [one.text for one in best(question, known, cwd="")]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what is my name?", 0),
        ("What's my name again?", 0),
        ("Wie heiße ich?", 0),
        ("how do I cite?", 1),
        ("Which BibTeX keys do I use?", 1),
        ("wie soll ich den Blogbeitrag schreiben?", 2),
        ("Wie schreibst du mir einen Blogartikel?", 2),
        ("Wie wird der Blog gebaut?", 4),
    ],
)
def test_a_question_finds_what_answers_it_in_other_forms(question: str, found: int) -> None:
    """By another word for it, another form, or a part of a compound."""
    assert REMEMBERED[found][0] in cited(question)


@pytest.mark.parametrize(
    "question", ["what is the API key?", "What's the SSH key?", "Which license key do we use?"]
)
def test_a_head_word_alone_is_no_answer(question: str) -> None:
    """An API key is not a BibTeX key."""
    assert cited(question) == []


def test_a_german_question_searches_for_the_parts_of_its_compounds() -> None:
    """What is searched for literally must be able to hit `Blog`."""
    assert "blog" in queries("wie soll ich den Blogbeitrag schreiben?")
