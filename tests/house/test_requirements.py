"""The manifest of requirements and the tests agree, both ways."""

from tests.support.manifest import named_in_tests, requirements

LINES_OF_SECTION_9 = 34
"""Of the page on the read path: what the tests of the original assert."""


def test_no_test_names_an_unknown_requirement() -> None:
    """A typing mistake in an id would hide a gap."""
    known = requirements()
    assert {i: where for i, where in named_in_tests().items() if i not in known} == {}


def test_each_requirement_has_a_test_or_a_reason() -> None:
    """What is deferred says so, and what has a test is not called deferred."""
    named = named_in_tests()
    known = requirements().items()
    assert [i for i, r in known if r.deferred is None and i not in named] == []
    assert [i for i, r in known if r.deferred is not None and i in named] == []


def test_each_line_of_what_the_original_asserts_has_a_test() -> None:
    """Where we do otherwise, the line says what and why; none is put off."""
    named, known = named_in_tests(), requirements()
    lines = [f"MR-9-{number}" for number in range(1, LINES_OF_SECTION_9 + 1)]
    assert [one for one in lines if one not in known or one not in named] == []
    assert [one for one in known if one.startswith("MR-9-") and one not in lines] == []
    assert [one for one in lines if known[one].deferred is not None] == []
