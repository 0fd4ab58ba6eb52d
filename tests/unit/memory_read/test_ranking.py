"""The order of units: what a word counts in them."""

from memory_read.ranking import Statistics, word_scores
from state.stores.search import UnitRow, pressed


def _unit(unit_id: int, said: list[str]) -> UnitRow:
    return UnitRow(
        begin_byte=0,
        end_byte=1,
        first_line=unit_id,
        last_line=unit_id,
        mark=b"",
        headings="",
        at_ms=None,
        threads="",
        cwd="",
        heading_stems=b"",
        stems=pressed(said),
        length=len(said),
        path=f"{unit_id}.md",
        unit_id=unit_id,
        file_id=unit_id,
    )


def test_a_word_counts_less_in_a_text_that_holds_many_by_chance() -> None:
    """Also where long texts are the rule, so that they are not long beside the others."""
    short = _unit(1, ["walrus", *(f"s{n}" for n in range(80))])
    long = _unit(10, [*["walrus"] * 3, *(f"l{n}" for n in range(600))])
    known = Statistics(units=100, words=50_000, frequencies={"walrus": 9})
    scores = word_scores(["walrus"], {1: short, 10: long}, known)
    assert scores[1] > scores[10]
