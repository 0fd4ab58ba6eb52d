"""The memory tools fact by fact: parameters, limits, cursors, and the sentences of mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory_read.tools import MemoryTool, memory_tools
from state.home import Home
from tests.support.clock import ManualClock

GOOD = "2026-11-29T10-00-00-use-tabs.md"


@pytest.fixture
def tools(home: Home, clock: ManualClock) -> dict[str, MemoryTool]:
    """The tools over a small folder with everything that can stand in one."""
    folder = home.memories("v1")
    (folder / "skills" / "b").mkdir(parents=True)
    (folder / "Zed.md").write_text("zed\n")
    (folder / "a.md").write_text("one\ntwo\nthree\n")
    (folder / "empty.md").write_text("")
    (folder / "crlf.md").write_bytes(b"first\r\nsecond\r\nlast")
    (folder / "skills" / "b" / "SKILL.md").write_text(
        "Alpha here\nbeta\ngamma alpha\n\nalpha beta\n"
    )
    (folder / "bad.md").write_bytes(b"\xff\xfe alpha")
    (folder / ".hidden.md").write_text("alpha\n")
    (folder / ".hidden").mkdir()
    outside = home.root / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("alpha\n")
    (folder / "linked").symlink_to(outside)
    (folder / "linked.md").symlink_to(outside / "x.md")
    return {tool.name: tool for tool in memory_tools(home, "v1", clock)}


async def text(tool: MemoryTool, arguments: Any) -> str:
    """What a call gives back."""
    return await tool.call(arguments if isinstance(arguments, str) else json.dumps(arguments))


async def value(tool: MemoryTool, **arguments: Any) -> dict[str, Any]:
    """What a call gives back, as an object."""
    answer: dict[str, Any] = json.loads(await text(tool, arguments))
    return answer


@pytest.mark.requirement("MR-9-8")
@pytest.mark.parametrize("given", [{}, {"path": ""}, {"path": "."}, {"path": "./"}, {"path": None}])
async def test_a_listing_has_files_and_folders_by_name(
    tools: dict[str, MemoryTool], given: dict[str, Any]
) -> None:
    """Upper case first; hidden names and links are not there."""
    found = await value(tools["list"], **given)
    assert [(one["path"], one["entry_type"]) for one in found["entries"]] == [
        ("Zed.md", "file"),
        ("a.md", "file"),
        ("bad.md", "file"),
        ("crlf.md", "file"),
        ("empty.md", "file"),
        ("skills", "directory"),
    ]
    assert found["path"] == (given.get("path") or "")
    assert (found["next_cursor"], found["truncated"]) == (None, False)


async def test_a_listing_pages_by_index(tools: dict[str, MemoryTool]) -> None:
    """0 counts as 1; the number of all is allowed and empty; a path of a file lists it."""
    listed = tools["list"]
    first = await value(listed, max_results=0)
    assert (len(first["entries"]), first["next_cursor"], first["truncated"]) == (1, "1", True)
    rest = await value(listed, cursor="1", max_results=9_999)
    assert (len(rest["entries"]), rest["next_cursor"]) == (5, None)
    assert (await value(listed, cursor="6"))["entries"] == []
    one = await value(listed, path="skills/b/SKILL.md")
    assert one["entries"] == [{"path": "skills/b/SKILL.md", "entry_type": "file"}]
    assert (await value(listed, path="./skills/"))["path"] == "./skills/"


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("list", {"cursor": "7"}, "cursor '7' exceeds result count"),
        ("list", {"cursor": "-1"}, "cursor '-1' must be a non-negative integer"),
        ("list", {"cursor": "one"}, "cursor 'one' must be a non-negative integer"),
        ("list", {"path": "nope"}, "path 'nope' was not found"),
        ("list", {"path": "nope/.."}, "path 'nope/..' must stay within the memories root"),
        ("list", {"path": "/etc"}, "path '/etc' must stay within the memories root"),
        ("list", {"path": ".hidden"}, "path '.hidden' was not found"),
        ("list", {"path": "linked"}, "path 'linked' must not be a symlink"),
        ("list", {"path": "linked/x.md"}, "path 'linked' must not be a symlink"),
        ("list", {"path": "a.md/b"}, "path 'a.md/b' traverses through a non-directory path"),
        ("read", {}, "missing field `path`"),
        ("read", "", "missing field `path`"),
        ("read", {"path": ""}, "path '' is not a file"),
        ("read", {"path": "skills"}, "path 'skills' is not a file"),
        ("read", {"path": "linked.md"}, "path 'linked.md' must not be a symlink"),
        ("read", {"path": "nope", "line_offset": 0}, "line_offset must be a 1-indexed line number"),
        ("read", {"path": "nope", "max_lines": 0}, "max_lines must be a positive integer"),
        ("read", {"path": "a.md", "line_offset": 5}, "line_offset exceeds file length"),
        ("read", {"path": "a.md", "line": 1}, "unknown field `line`, expected one of `path`"),
        ("search", {}, "missing field `queries`"),
        ("search", {"query": "a"}, "unknown field `query`, expected one of `queries`"),
        ("search", {"queries": []}, "queries must not be empty or contain empty strings"),
        ("search", {"queries": ["a", " "]}, "queries must not be empty or contain empty strings"),
        (
            "search",
            {"queries": ["..."], "normalized": True},
            "queries must not be empty or contain empty strings",
        ),
        (
            "search",
            {"queries": ["a"], "match_mode": {"type": "all_within_lines", "line_count": 0}},
            "all_within_lines.line_count must be a positive integer",
        ),
        ("search", {"queries": ["a"], "path": "../x"}, "path '../x' must stay within the memories"),
        ("search", {"queries": ["a"], "context_lines": -1}, "invalid value for `context_lines`"),
        ("add_ad_hoc_note", {}, "missing field `filename`"),
        ("add_ad_hoc_note", {"filename": GOOD}, "missing field `note`"),
        ("add_ad_hoc_note", {"filename": GOOD, "note": "\t"}, "ad-hoc note must not be empty"),
        ("add_ad_hoc_note", {"filename": "x", "note": "a"}, "filename 'x' must end with .md"),
        (
            "add_ad_hoc_note",
            {"filename": "a" * 126 + ".md", "note": "a"},
            f"filename '{'a' * 126}.md' must be at most 128 bytes",
        ),
    ],
)
async def test_each_mistake_has_its_sentence(
    tools: dict[str, MemoryTool], name: str, arguments: Any, sentence: str
) -> None:
    """As the original words it; the turn goes on."""
    assert (await text(tools[name], arguments)).startswith(sentence)


@pytest.mark.requirement("MR-9-7")
async def test_a_read_gives_lines_with_their_ends(tools: dict[str, MemoryTool]) -> None:
    """From a line on, so many; behind the last line there is nothing; line ends stay."""
    read = tools["read"]
    assert await value(read, path="a.md", line_offset=2, max_lines=1) == {
        "path": "a.md",
        "start_line_number": 2,
        "content": "two\n",
        "truncated": True,
    }
    whole = await value(read, path="./a.md", line_offset=None, max_lines=99)
    assert (whole["path"], whole["content"], whole["truncated"]) == (
        "./a.md",
        "one\ntwo\nthree\n",
        False,
    )
    assert (await value(read, path="a.md", line_offset=4))["content"] == ""
    assert (await value(read, path="empty.md", line_offset=1))["content"] == ""
    assert (await value(read, path="crlf.md", line_offset=2))["content"] == "second\r\nlast"


async def test_a_long_read_is_cut_in_the_middle(home: Home, tools: dict[str, MemoryTool]) -> None:
    """At 20,000 model tokens, with the mark of the original, and says so."""
    (home.memories("v1") / "long.md").write_text("x" * 100_000)
    found = await value(tools["read"], path="long.md")
    assert found["truncated"] is True
    assert "…5000 tokens truncated…" in found["content"]
    assert len(found["content"]) == 80_000 + len("…5000 tokens truncated…")


async def matches(tools: dict[str, MemoryTool], **arguments: Any) -> list[tuple[str, int, str]]:
    """The matches of a search: file, line, content."""
    found = await value(tools["search"], **arguments)
    return [(one["path"], one["match_line_number"], one["content"]) for one in found["matches"]]


@pytest.mark.requirement("MR-9-8", "MR-9-9")
async def test_a_search_goes_down_and_tells_what_it_found(tools: dict[str, MemoryTool]) -> None:
    """Every line with any of the queries; links, hidden files and what is no text are passed by."""
    found = await value(tools["search"], queries=[" alpha ", "beta"])
    assert (found["queries"], found["match_mode"]) == (["alpha", "beta"], {"type": "any"})
    assert [
        (one["path"], one["match_line_number"], one["matched_queries"]) for one in found["matches"]
    ] == [
        ("skills/b/SKILL.md", 2, ["beta"]),
        ("skills/b/SKILL.md", 3, ["alpha"]),
        ("skills/b/SKILL.md", 5, ["alpha", "beta"]),
    ]
    one = await value(tools["search"], queries=["beta"], max_results=1)
    assert (len(one["matches"]), one["next_cursor"], one["truncated"]) == (1, "1", True)
    rest = await value(tools["search"], queries=["beta"], cursor="1", max_results=0)
    assert ([m["match_line_number"] for m in rest["matches"]], rest["next_cursor"]) == ([5], None)


@pytest.mark.requirement("MR-9-9")
async def test_the_modes_of_a_search(tools: dict[str, MemoryTool]) -> None:
    """On one line, within some, letter case and punctuation aside; with lines around."""
    path = "skills/b/SKILL.md"
    both = {"queries": ["alpha", "beta"], "path": path}
    same = {"type": "all_on_same_line", "extra": 1}
    assert await matches(tools, **both, match_mode=same) == [(path, 5, "alpha beta")]
    near = {"type": "all_within_lines", "line_count": 3}
    assert await matches(tools, **both, match_mode=near) == [
        (path, 2, "beta\ngamma alpha"),
        (path, 5, "alpha beta"),
    ]
    assert await matches(tools, queries=["ALPHA"], path=path) == []
    folded = await matches(tools, queries=["ALPHA"], path=path, case_sensitive=False)
    assert [line for _, line, _ in folded] == [1, 3, 5]
    joined = await matches(tools, queries=["gamma-alpha"], path=path, normalized=True)
    assert joined == [(path, 3, "gamma alpha")]
    around = await value(tools["search"], queries=["beta"], path=path, context_lines=1)
    first = around["matches"][0]
    assert (first["content_start_line_number"], first["content"]) == (
        1,
        "Alpha here\nbeta\ngamma alpha",
    )
    ends = await matches(tools, queries=["second"], path="crlf.md")
    assert ends == [("crlf.md", 2, "second")]


async def test_without_a_folder_and_through_a_linked_one(
    home: Home, clock: ManualClock, tmp_path: Path
) -> None:
    """Nothing is found in the one; nothing is read or written through the other."""
    tools = {tool.name: tool for tool in memory_tools(home, "v2", clock)}
    assert await text(tools["list"], {}) == "path '' was not found"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("alpha\n")
    home.memories("v2").symlink_to(elsewhere)
    note = {"filename": GOOD, "note": "x"}
    for name, arguments in (
        ("list", {}),
        ("search", {"queries": ["alpha"]}),
        ("read", {"path": "a.md"}),
        ("add_ad_hoc_note", note),
    ):
        assert "must not be a symlink" in await text(tools[name], arguments), name
    assert [path.name for path in elsewhere.iterdir()] == ["a.md"]


async def test_what_the_user_asked_to_forget_is_found_by_no_tool(
    home: Home, tools: dict[str, MemoryTool]
) -> None:
    """Neither the lines, nor the request, nor a file whose name says it."""
    folder = home.memories("v1")
    (folder / "a.md").write_text("one\n- The user lives in Lisbon.\nthree\n")
    notes = folder / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "2026-11-29T10-00-00-forget-live-lisbon.md").write_text(
        "Forget that I live in Lisbon."
    )
    read = await value(tools["read"], path="a.md")
    assert read["content"].split("\n")[0::2] == ["one", "three"]
    assert "Lisbon" not in read["content"]
    assert await matches(tools, queries=["Lisbon"]) == []
    assert await matches(tools, queries=["lisbon"], case_sensitive=False) == []
    listed = await value(tools["list"], path="extensions/ad_hoc/notes")
    assert listed["entries"] == []
    around = await matches(tools, queries=["one"], path="a.md", context_lines=2)
    assert "Lisbon" not in around[0][2]
