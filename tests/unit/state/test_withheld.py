"""Who was withdrawn while the files may still tell of it."""

from state.ids import ThreadId
from state.stores.withheld import Withheld

ONE, TWO = ThreadId("one"), ThreadId("two")


def test_what_is_proved_ends_and_what_was_withdrawn_since_stays() -> None:
    """A look that began before a second withdrawal proves nothing of it."""
    withheld = Withheld()
    withheld.add(ONE, ("v1", "v2"))
    looked_at = withheld.of("v1")
    withheld.give_back(ONE)
    assert (dict(withheld.of("v1")), dict(withheld.of("v2"))) == ({}, {})
    withheld.add(ONE, ("v1",))
    withheld.proved("v1", looked_at)
    assert set(withheld.of("v1")) == {ONE}
    withheld.add(TWO, ("v1",))
    withheld.proved("v1", withheld.of("v1"))
    assert dict(withheld.of("v1")) == {}


def test_whoever_watches_hears_of_changes_alone() -> None:
    """Not of a thread of which there is nothing, nor of a proof."""
    withheld = Withheld()
    heard: list[None] = []
    withheld.watch(lambda: heard.append(None))
    withheld.add(ONE, ())
    withheld.give_back(ONE)
    assert heard == []
    withheld.add(ONE, ("v1",))
    marks = withheld.of("v1")
    assert withheld.of("v1") is marks, "the same as long as nothing changed"
    withheld.proved("v1", marks)
    assert len(heard) == 1
