"""Markdown as units: nothing is lost, and what belongs together stays together."""

from hypothesis import given
from hypothesis import strategies as st

from memory_write.phase2.outline import joined, parts_of, units_of, without_empty

_LINES = st.sampled_from(
    [
        "",
        "# A",
        "## B",
        "### C",
        "- one",
        "  - deeper",
        "  goes on",
        "text",
        "```",
        "1. first",
        " x",
    ]
)


@given(st.lists(_LINES, max_size=40))
def test_units_and_parts_give_the_text_back(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert joined(units_of(text)) == text
    for level in (1, 2, 3):
        assert "\n".join(part.text for part in parts_of(units_of(text), level)) == text


def test_a_bullet_takes_along_what_is_below_it() -> None:
    text = "- one\n  - deeper\n  goes on\nlazy\n- two\n\ntext\ngoes on\n"
    found = [(unit.kind, unit.text) for unit in units_of(text)]
    assert found == [
        ("item", "- one\n  - deeper\n  goes on\nlazy"),
        ("item", "- two"),
        ("blank", ""),
        ("paragraph", "text\ngoes on"),
        ("blank", ""),
    ]


def test_headings_with_nothing_below_them_go_from_a_level_on() -> None:
    text = "# A\n\n## B\n\n### C\n\n## D\n\ntext\n\n### E\n"
    assert joined(without_empty(units_of(text), level_min=2)) == "# A\n\n\n\n## D\n\ntext\n\n"
    assert "### E" not in joined(without_empty(units_of(text), level_min=3))
    assert "## B" in joined(without_empty(units_of(text), level_min=3))
