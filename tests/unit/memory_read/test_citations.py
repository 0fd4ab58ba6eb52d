"""Citation markup: never seen, read by its grammar, each source named once."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_read.citations import (
    CLOSE,
    OPEN,
    Citation,
    CitationEntry,
    CitationStripper,
    strip_citations,
)
from memory_read.framed import (
    BEGINS,
    CORRECTIONS_BEGIN,
    CORRECTIONS_END,
    ENDS,
    NOTES_BEGIN,
    NOTES_END,
)

UUID_1 = "0194f5a6-89ab-7cde-8123-000000000001"
UUID_2 = "0194f5a6-89ab-7cde-8123-000000000002"
BLOCK = (
    f"{OPEN}\n<citation_entries>\nMEMORY.md:12-15|note=[how tests run]\n</citation_entries>\n"
    f"<rollout_ids>\n{UUID_1}\n</rollout_ids>\n{CLOSE}"
)
CITATION = Citation(
    entries=(CitationEntry(path="MEMORY.md", line_start=12, line_end=15, note="how tests run"),),
    rollout_ids=(UUID_1,),
)


def fed(pieces: list[str]) -> tuple[list[str], Citation | None]:
    """The visible pieces of a stream, the last one at its end."""
    stripper = CitationStripper()
    visible = [stripper.feed(piece) for piece in pieces]
    tail, citation = stripper.finish()
    return [*visible, tail], citation


def entries(lines: str) -> list[tuple[str, int, int, str]]:
    """The entries that these lines make."""
    text = f"{OPEN}<citation_entries>{lines}</citation_entries>{CLOSE}"
    _, citation = strip_citations(text)
    if citation is None:
        return []
    return [(one.path, one.line_start, one.line_end, one.note) for one in citation.entries]


def ids(body: str) -> list[str] | None:
    """The ids that this body gives."""
    _, citation = strip_citations(f"{OPEN}{body}{CLOSE}")
    return None if citation is None else list(citation.rollout_ids)


MESSAGES = [
    f"Hello {BLOCK}",
    BLOCK,
    f"{BLOCK} and after",
    f"One {BLOCK} two {BLOCK}",
    f"```\n{BLOCK}\n```\n",
    f"- a list\n  ```\n  {BLOCK}",
    f"a ` back-tick {BLOCK}",
    f"> quoted {BLOCK}",
    "no markup < at <oai all",
    "ends with <oai-mem-",
    f"open at the end {OPEN}<citation_entries>a:1-2|note=[x]",
    f"closing only {CLOSE} is text",
    f"nested {OPEN} {OPEN} {CLOSE} stray {CLOSE} end",
    f"almost {OPEN[:-1]}x{OPEN[:-1]}{BLOCK}<",
    "<oai-mem-citation >not the tag",
    "<<oai-mem-citation>hidden</oai-mem-citation>>",
    f"ünïcode ✓ {BLOCK} ✓",
    "",
]


@pytest.mark.requirement("FR-R10", "MR-9-11")
@pytest.mark.parametrize("message", MESSAGES)
def test_every_split_of_a_stream_shows_the_same(message: str) -> None:
    """Cut in two at each position, and character by character."""
    whole, citation = strip_citations(message)
    splits = [[message[:at], message[at:]] for at in range(len(message) + 1)]
    for pieces in [*splits, list(message)]:
        visible, found = fed(pieces)
        assert ("".join(visible), found) == (whole, citation), pieces
        shown = "".join(visible[:-1])
        assert "citation_entries" not in shown or "citation_entries" in whole


@given(
    st.lists(
        st.sampled_from(
            [
                OPEN,
                CLOSE,
                "<oai-mem",
                "-citation>",
                "<",
                "/",
                "a",
                " ",
                BLOCK,
                BEGINS,
                ENDS,
                "=========",
                NOTES_BEGIN,
                NOTES_END,
                "========= MEMORY",
                "`",
                "> ",
                "- ",
            ]
        )
    ),
    st.lists(st.integers(1, 30), min_size=1),
)
@settings(max_examples=150, deadline=None)
def test_any_mixture_cut_anywhere_shows_the_same(parts: list[str], lengths: list[int]) -> None:
    """What is visible does not depend on where the model's words were cut."""
    message = "".join(parts)
    whole, citation = strip_citations(message)
    assert OPEN not in whole or CLOSE in message
    pieces, rest = [], message
    for length in itertools.cycle(lengths):
        if not rest:
            break
        pieces.append(rest[:length])
        rest = rest[length:]
    visible, found = fed(pieces)
    assert ("".join(visible), found) == (whole, citation)


@pytest.mark.requirement("FR-R10")
def test_nothing_but_the_block_is_taken_away() -> None:
    """No space is trimmed, and a fence around it stays."""
    assert strip_citations(f"Hello {BLOCK}") == ("Hello ", CITATION)
    assert strip_citations(f"```\n{BLOCK}\n```") == ("```\n\n```", CITATION)
    assert strip_citations(BLOCK) == ("", CITATION)


def test_text_is_held_back_no_longer_than_needed() -> None:
    """Only what may still become the tag waits."""
    stripper = CitationStripper()
    assert stripper.feed("Hello <oai") == "Hello "
    assert stripper.feed("-mem") == ""
    assert stripper.feed("ory> yes") == "<oai-memory> yes"
    assert stripper.feed(" <") == " "
    assert stripper.finish() == ("<", None)


def test_several_blocks_are_read_in_order_and_ids_once() -> None:
    """Ids repeated in a later block keep their first place."""
    second = BLOCK.replace("12-15", "1-2").replace(UUID_1, f"{UUID_2}\n{UUID_1}")
    visible, citation = strip_citations(f"a{BLOCK}b{second}c")
    assert visible == "abc"
    assert citation is not None
    assert [one.line_start for one in citation.entries] == [12, 1]
    assert citation.rollout_ids == (UUID_1, UUID_2)


def test_a_block_without_an_end_is_hidden_and_read() -> None:
    """The message ended too early; what was said counts."""
    visible, citation = strip_citations(f"Hi{BLOCK.removesuffix(CLOSE)}")
    assert (visible, citation) == ("Hi", CITATION)


@pytest.mark.requirement("MR-9-11")
def test_an_inner_opening_tag_is_body_and_its_closing_tag_becomes_text() -> None:
    """There is no nesting."""
    assert strip_citations(f"a{OPEN}b{OPEN}c{CLOSE}d{CLOSE}e") == (f"ad{CLOSE}e", None)


@pytest.mark.requirement("FR-R10", "MR-9-10")
@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("a.md:1-2|note=[x]", ("a.md", 1, 2, "x")),
        ("  a.md : 1 - 2 |note=[ x ]  ", ("a.md", 1, 2, "x")),
        ("a.md:1-2|note=[]", ("a.md", 1, 2, "")),
        ("a.md:1-2|note=[a]]", ("a.md", 1, 2, "a]")),
        ("a.md:9-2|note=[backwards]", ("a.md", 9, 2, "backwards")),
        ("C:\\x y:1-2|note=[x]", ("C:\\x y", 1, 2, "x")),
        ("dir/a:12:1-3|note=[colon and digits]", ("dir/a:12", 1, 3, "colon and digits")),
        ("- /abs/a.md:1-2|note=[x]", ("- /abs/a.md", 1, 2, "x")),
        (":1-2|note=[no path]", ("", 1, 2, "no path")),
        ("a:0-4294967295|note=[x]", ("a", 0, 4_294_967_295, "x")),
        ("a:+1-2|note=[x]", ("a", 1, 2, "x")),
        ("a:1|note=[x]", None),
        ("a|note=[x]", None),
        ("a:-1-2|note=[x]", None),
        ("a:L1-L2|note=[x]", None),
        ("a:1-4294967296|note=[x]", None),
        ("a:1-2|note=[x]|note=[y]", None),
        ("a:1-2|note=[x", None),
        ("a:1-2", None),
        ("a:1-2-3|note=[x]", None),
        ("a:1_0-20|note=[x]", None),
        ("a:²-3|note=[x]", None),
        ("", None),
    ],
)
def test_a_line_is_an_entry_or_nothing(line: str, entry: tuple[str, int, int, str] | None) -> None:
    """The grammar of `FILE:START-END|note=[NOTE]`, and each way to miss it."""
    assert entries(f"\n{line}\n") == ([entry] if entry else [])
    # A line that misses takes no other with it.
    assert entries(f"z:1-1|note=[z]\n{line}\r\n")[0] == ("z", 1, 1, "z")


@pytest.mark.requirement("MR-9-10")
def test_ids_come_from_the_first_list_and_the_older_name_only_without_it() -> None:
    """`thread_ids` counts only where there is no `rollout_ids`, in either order."""
    new, old = f"<rollout_ids>\n {UUID_1} \n\n</rollout_ids>", "<thread_ids>t</thread_ids>"
    assert ids(new) == [UUID_1]
    assert ids(old) == ["t"]
    assert ids(old + new) == ids(new + old) == [UUID_1]
    assert ids("<rollout_ids>a\nb\na</rollout_ids><rollout_ids>c</rollout_ids>") == ["a", "b"]
    assert ids("<rollout_ids></rollout_ids><thread_ids>t</thread_ids>") is None
    assert ids("<rollout_ids>a") is None
    assert ids("") is None


def test_only_uuids_become_threads_each_once_whatever_the_spelling() -> None:
    """Anything else stays in the citation and names no thread."""
    bare = UUID_1.replace("-", "")
    citation = Citation(
        rollout_ids=(UUID_1, UUID_1.upper(), bare, f"urn:uuid:{UUID_1}", f"{{{UUID_1}}}", "x", "1")
    )
    assert citation.thread_ids() == (UUID_1,)


def test_wire_and_rollout_name_the_ids_differently() -> None:
    """The same entries under both."""
    entry = {"path": "MEMORY.md", "lineStart": 12, "lineEnd": 15, "note": "how tests run"}
    assert CITATION.wire() == {"entries": [entry], "threadIds": [UUID_1]}
    assert CITATION.recorded() == {"entries": [entry], "rolloutIds": [UUID_1]}


def test_a_block_that_never_ends_fills_no_memory() -> None:
    """Megabytes inside a block are dropped beyond the bound, and still not seen."""
    stripper = CitationStripper()
    assert stripper.feed(OPEN) == ""
    for _ in range(200):
        assert stripper.feed("x" * 10_000) == ""
    assert stripper.feed(f"{CLOSE}end") == "end"
    assert stripper.finish() == ("", None)


FRAMES = [
    (BEGINS, ENDS),
    (NOTES_BEGIN, NOTES_END),
    (CORRECTIONS_BEGIN, CORRECTIONS_END),
]


@pytest.mark.requirement("FR-F16")
@pytest.mark.parametrize(("begins", "ends"), FRAMES)
def test_an_echoed_memory_section_is_hidden_however_it_is_cut(begins: str, ends: str) -> None:
    """From its beginning to its end, or to the end of the message; ordinary rules stay."""
    for message, shown in (
        (f"a\n{begins}\nCANARY\n{ends}\nb", "a\n\nb"),
        (f"```\n{begins}\nCANARY {OPEN} x {CLOSE}\n{ends}\n```{BLOCK}", "```\n\n```"),
        (f"- item {begins} CANARY", "- item "),
        ("Title\n=========\ntext", "Title\n=========\ntext"),
    ):
        for size in (1, 2, 7, len(message)):
            pieces = [message[at : at + size] for at in range(0, len(message), size)]
            visible, _ = fed(pieces)
            assert "".join(visible) == shown
            assert not any("CANARY" in piece for piece in visible)
