"""What notes do to older lines: a corrected line gives way, a forgotten one goes, both by code."""

import pytest

from memory_read.standing import CORRECTED, FORGOTTEN, Standing
from state.policy.corrections import correction_text, read_correction

NOTE = "extensions/ad_hoc/notes/2026-11-29T10-00-00-x.md"
LATER = "extensions/ad_hoc/notes/2026-11-30T10-00-00-y.md"


def after(line: str, *notes: str, path: str = "MEMORY.md") -> str:
    """What stands in place of a line when these notes stand."""
    paths = (NOTE, LATER)
    return Standing(zip(paths, notes, strict=False)).cleaned(line, path=path)


def correction(old: str, new: str) -> str:
    """A note that corrects."""
    return correction_text("MEMORY.md:3", [old], new)


def test_a_correction_is_read_back_as_it_was_written() -> None:
    """What was corrected, every old statement, and the new words as they were given."""
    text = correction_text("MEMORY.md:3", ["port  is\n8080", "second"], "It is 9090.\n\nReally. \n")
    found = read_correction(text)
    assert found is not None
    assert (found.target, found.old) == ("MEMORY.md:3", ("port is 8080", "second"))
    assert found.new == "It is 9090.\n\nReally. "
    assert text.endswith("It is 9090.\n\nReally. \n")
    for other in ("# Correction of\n", "# Correction of a\nnew", "use tabs", ""):
        assert read_correction(other) is None, other


@pytest.mark.requirement("FR-F2")
@pytest.mark.parametrize(
    "line",
    [
        "- The API listens on port 8080.",
        "* the api listens on  port 8080 (in shop)",
        "- The API listens on port 8080. [Task 1, Task 2]",
        '- the user said: "The API listens on port 8080." -> The API listens on port 8080. '
        "(procedure; project)",
    ],
)
def test_a_corrected_line_gives_way_wherever_it_stands(line: str) -> None:
    """In the summary, the handbook and a recap, with whatever stands around it."""
    note = correction("The API listens on port 8080.", "The API listens on port 9090.")
    assert after(line, note) == CORRECTED
    assert after(line) == line


def test_other_lines_and_those_put_right_stand() -> None:
    """A line that says the new words may hold the old ones as a part."""
    note = correction("tests run with make", "tests run with make check")
    for line in ("- tests run with make check", "- builds run with make", "", "# make"):
        assert after(line, note) == line
    assert after("- tests run with make", note) == CORRECTED
    short = correction("tabs", "spaces")
    assert after("- no tabs in makefiles", short) == "- no tabs in makefiles"
    assert after("- Tabs.", short) == CORRECTED


def test_a_correction_that_was_taken_back_corrects_no_more() -> None:
    """The last word counts."""
    first = correction("port is 8080 here", "port is 9090 here")
    back = correction("port is 9090 here", "port is 8080 here")
    assert after("- port is 8080 here", first, back) == "- port is 8080 here"
    assert after("- port is 9090 here", first, back) == CORRECTED
    assert after("- port is 8080 here", first, "port is 8080 here") == "- port is 8080 here"


@pytest.mark.parametrize(
    ("note", "line"),
    [
        ("Forget that I live in Lisbon.", "- The user lives in Lisbon and uses celsius."),
        ("please forget about the staging database", "- Staging databases are read only."),
        ("- forget: Postgres order queue", "We chose Postgres for the order queue"),
        ("Vergiss Lisbon celsius", "celsius in Lisbon"),
    ],
)
def test_a_forgotten_line_is_withheld(note: str, line: str) -> None:
    """By all the words that carry meaning, in any order and number."""
    assert after(line, note) == FORGOTTEN
    assert after(note, note, path=NOTE) == FORGOTTEN  # the request says it as well


@pytest.mark.parametrize(
    ("note", "line"),
    [
        ("Forget that I live in Lisbon.", "- The user lives in Porto."),
        ("Forget Lisbon.", "- The user lives in Lisbon."),  # one word is no clear request
        ("Forget everything about it", "- The user lives in Lisbon."),
        ("Do not forget that I live in Lisbon", "- The user lives in Lisbon."),
        ("Never forget: tests run in Lisbon", "- tests run in Lisbon"),
    ],
)
def test_what_is_not_clearly_meant_stands(note: str, line: str) -> None:
    """Words that are missing, a single word, and the opposite of a request."""
    assert after(line, note) == line


def test_saying_it_again_lifts_a_request_to_forget() -> None:
    """A later note, or a correction to it, says the words."""
    line = "- The user lives in Lisbon."
    ask = "Forget that I live in Lisbon."
    assert after(line, ask, "I live in Lisbon after all.") == line
    assert after(line, ask, correction("I live in Porto", "I live in Lisbon")) == line
    assert after(line, "I live in Lisbon.", ask) == FORGOTTEN


def test_line_numbers_stay() -> None:
    """One line is replaced by one."""
    note = "Forget that I live in Lisbon."
    text = "a\nThe user lives in Lisbon.\r\nb\n"
    assert after(text, note) == f"a\n{FORGOTTEN}\nb\n"


def test_a_piece_is_found_only_where_something_of_it_stands() -> None:
    """What is left of it, or nothing; neither does a file whose name says it."""
    standing = Standing([(NOTE, "Forget that I live in Lisbon.")])
    assert standing.shown("a\n- lives in Lisbon", path="MEMORY.md") == f"a\n{FORGOTTEN}"
    assert standing.shown("- lives in Lisbon\n", path="MEMORY.md") is None
    assert standing.shown("a", path="rollout_summaries/2026-live-in-lisbon.md") is None
    assert Standing(()).shown("\n", path="MEMORY.md") == "\n"


@pytest.mark.requirement("FR-F1", "FR-F2")
def test_the_newest_of_two_corrections_of_one_statement_alone_stands() -> None:
    """Of the older one nothing is left, though its words are none of the corrected ones."""
    first, second = (
        correction("the port is 8080", "it is 8081"),
        correction("the port is 8080", "x"),
    )
    standing = Standing([(NOTE, first), (LATER, second)])
    assert standing.shown(first, path=NOTE) is None
    assert (standing.shown(second, path=LATER) or "").endswith("\nx")
    other = correction("the host is a", "b")
    assert Standing([(NOTE, first), (LATER, other)]).shown(first, path=NOTE) is not None
