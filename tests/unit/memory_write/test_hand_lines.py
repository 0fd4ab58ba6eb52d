"""Where a line of an artefact holds, and what keeps a person's lines there."""

from memory_write.hand_lines import HandLine, in_place, places_of, with_hand_lines

SHOP = "# Task Group: shop\n\nscope: x\napplies_to: cwd=/w/shop; reuse_rule=here\n"


def held(text: str) -> dict[str, str]:
    """By line of a text where it holds."""
    return dict(zip(text.split("\n"), places_of(text), strict=True))


def test_a_line_holds_where_its_group_says_also_above_that_line() -> None:
    text = f"before\n{SHOP.replace('scope: x', 'above')}\n## Notes\n\nbelow\n\n# Other\n\nafter"
    places = held(text)
    assert (places["before"], places["after"]) == ("", "")
    assert places["above"] == places["below"] == "/w/shop"


def test_a_comment_in_a_fence_ends_no_group() -> None:
    assert (
        held(f"{SHOP}\n```sh\n# a comment\napplies_to: cwd=any;\n```\nbelow")["below"] == "/w/shop"
    )


def test_what_a_group_says_of_anywhere_and_of_an_unknown_folder_differs() -> None:
    for cwd, place in (("any", ""), ("none", ""), ("unknown", "unknown")):
        assert held(SHOP.replace("/w/shop", cwd) + "\nbelow")["below"] == place


def test_the_topics_of_a_summary_and_restored_statements_name_their_folder() -> None:
    summary = (
        "v1\n\n## What's in Memory\n\n### /w/shop\n\n#### 2026-11-29\n\nnew\n\n"
        "### Older Memory Topics\n\n#### /w/blog\n\nold\n\n## Last\n\nlast"
    )
    places = held(summary)
    assert [places[one] for one in ("new", "old", "last")] == ["/w/shop", "/w/blog", ""]
    restored = (
        "# Task Group: restored\n\napplies_to: cwd=any; x\n\n### Restored statements for ~/a b"
    )
    assert held(f"{restored}\n\nline")["line"] == "~/a b"


def test_lines_are_put_into_the_block_that_holds_where_they_were_written() -> None:
    """A block for each place, and what comes later joins it."""
    shop, anywhere = HandLine("- Ask Kim.", "/w/shop"), HandLine("Be kind.")
    text = with_hand_lines(SHOP, [shop, anywhere, HandLine("- Ask Lee.", "unknown")])
    text = with_hand_lines(text, [HandLine("- Ask Max.", "/w/shop")])
    places = held(text)
    assert [places[f"- Ask {one}."] for one in ("Kim", "Max", "Lee")] == ["/w/shop"] * 2 + [
        "unknown"
    ]
    assert places["- Be kind."] == ""
    assert text.count("# Task Group: edits by hand") == 3
    assert with_hand_lines(text, []) == text


def test_a_summary_tells_the_project_behind_the_line_once() -> None:
    assert in_place(HandLine("- Ask Kim.", "/w/shop")) == "- Ask Kim. (in shop)"
    assert in_place(HandLine("- Ask Kim. (in shop)", "/w/shop")) == "- Ask Kim. (in shop)"
    assert in_place(HandLine("- Ask Kim.", "unknown")) == "- Ask Kim. (in an unknown folder)"
    assert in_place(HandLine("- Ask Kim.")) == "- Ask Kim."
