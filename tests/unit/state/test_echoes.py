"""What of a text repeats words that memory said."""

import json

import pytest

from state.rollouts.echoes import MARKS_MAX, PENDING_CHARS_MAX, Said

SECTION = """## Memory
Our rule stands outside of the frames and is no memory.
========= MEMORY_SUMMARY BEGINS =========
# Summary
- The user lives in Lisbon since 2024 and works from home. [2026-01-02: verify]
- Use pnpm, never npm.
- 用户更喜欢简体中文的回答。
- Lisbon
========= MEMORY_SUMMARY ENDS =========
Our other rule stands behind them.
"""


def said(*texts: str) -> Said:
    """Memory said these."""
    found = Said()
    for text in texts:
        found.add(text)
    return found


@pytest.mark.parametrize(
    "echo",
    [
        "- The user lives in Lisbon since 2024 and works from home.",
        "As told: THE USER LIVES IN LISBON, since 2024 and works from home!",
        "the user lives in\nLisbon since 2024 and\nworks from home",
        "(use pnpm, never npm)",
        "Memory says: use pnpm, never npm.",
        "* **Lisbon**",
        "1. 用户更喜欢简体中文的回答。",
    ],
)
def test_a_sentence_that_repeats_memory_is_cut_and_the_rest_stays(echo: str) -> None:
    """With another bullet, case or line break, inside a sentence of the model's own."""
    marks = said(SECTION).marks(())
    cut = marks.cut(f"The build is green.\n{echo}\nNext: write the test.")
    assert cut.text == "The build is green.\nNext: write the test."
    assert cut.sentences > 0


@pytest.mark.parametrize(
    "text",
    [
        "The build is green. The user wants the port of the parser finished.",
        "Our rule stands outside of the frames and is no memory.",
        "The user lives somewhere else and works at night.",
        "pnpm is installed",
        "",
    ],
)
def test_what_memory_did_not_say_stays_byte_for_byte(text: str) -> None:
    """Words in common are no echo, and our own rules are no memory."""
    cut = said(SECTION).marks(()).cut(text)
    assert (cut.text, cut.sentences) == (text, 0)


def test_what_somebody_else_in_the_thread_said_too_stays() -> None:
    """The user's own words, or a file that was looked at, are not memory's alone."""
    own = ["Please: use pnpm, never npm.", '{"note": "the user lives in Lisbon"}']
    marks = said(SECTION).marks(own)
    text = "- Use pnpm, never npm.\n- The user lives in Lisbon since 2024 and works from home."
    assert marks.cut(text).text == "- Use pnpm, never npm."


def test_the_answer_of_a_look_up_is_read_line_by_line_and_its_question_is_none() -> None:
    """Also one that was cut so that it is no JSON any more, and a file printed with numbers."""
    content = 'x\n- deploys go out on Tuesdays only\n- "quoted words of the rule"\n'
    look_up = json.dumps({"queries": ["when do deploys happen here"], "content": content})
    printed = "MEMORY.md:12:- the staging host is called kestrel"
    for answer in (look_up, look_up[:-4]):
        marks = said(answer, printed).marks(())
        for echo in ("Deploys go out on Tuesdays only.", "The staging host is called kestrel"):
            assert marks.cut(echo).text == ""
    assert said(look_up).marks(()).cut("when do deploys happen here").sentences == 0


def test_marks_are_bounded_and_outlive_their_text() -> None:
    """The newest stay; text that was let go of is still known."""
    found = Said()
    for number in range(3 * MARKS_MAX // 100):
        found.add(" ".join(f"w{number}x{word}" for word in range(107)))
    found.add("the newest words of all were these ones here")
    found.fold()
    marks = found.marks(())
    assert len(marks.runs) <= MARKS_MAX and PENDING_CHARS_MAX > 0
    assert marks.cut("so: the newest words of all were these ones here").text == ""
