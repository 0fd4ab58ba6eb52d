"""Which units are worth ranking: bounded work, the rarest words first."""

from memory_read.candidates import MEETING_MAX, PLACES_MAX, chosen, looked_for
from memory_read.ranking import Statistics


def _known(frequencies: dict[str, int]) -> Statistics:
    return Statistics(units=100_000, words=10_000_000, frequencies=frequencies)


def test_the_rarest_words_are_looked_for_until_the_bound_is_reached() -> None:
    """What would go beyond it only counts in the order."""
    known = {"common": 60_000, "rare": 3, "usual": PLACES_MAX - 3, "some": 40, "none": 0}
    wanted = looked_for(known, known, _known(known))
    assert [one.stems for one in wanted] == [("rare",), ("some",)]
    assert sum(known[stem] for one in wanted for stem in one.stems) <= PLACES_MAX
    assert wanted[0].weight > wanted[1].weight


def test_frequent_words_must_meet() -> None:
    """The rarest of them is looked for by itself too, so that there is an answer."""
    known = {f"w{n}": PLACES_MAX + n + 1 for n in range(6)}
    wanted = looked_for(known, known, _known(known))
    assert [len(one.stems) for one in wanted] == list(range(1, MEETING_MAX + 1))
    assert wanted[0].stems == ("w0",)


def test_words_that_nobody_said_find_nothing() -> None:
    """And cost nothing."""
    assert looked_for(["x"], {"x": 0}, _known({"x": 0})) == []


def test_the_best_places_hold_what_is_rare_in_few_words() -> None:
    """Two words before one, the shorter of equals, then the newest."""
    known = _known({"a": 3, "b": 3})
    wanted = looked_for(["a", "b"], {"a": 3, "b": 3}, known)
    # Five bits of a place tell the length of its unit; the store gives the newest first.
    long, short = 20, 10
    first = 1 << 5 | long
    places = {"a": [3 << 5 | short, 2 << 5 | short, first], "b": [4 << 5 | long, first]}
    texts = [",".join(map(str, places[one.stems[0]])) for one in wanted]
    pairs = list(zip(wanted, texts, strict=True))
    base = chosen("v1", [(wanted[0], "0")], known, most=1)[0]
    found = [unit - base for unit in chosen("v1", pairs, known, most=10)]
    assert found == [3, 2, 1, 4]
    assert [unit - base for unit in chosen("v1", pairs, known, most=2)] == found[:2]
    assert chosen("v1", [(wanted[0], "")], known, most=5) == []
