"""The manifest of requirements and the tests agree, both ways."""

from tests.support.manifest import named_in_tests, requirements


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
