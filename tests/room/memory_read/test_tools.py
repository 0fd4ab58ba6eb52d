"""The memory tools: text for every call, nothing outside the folder, no secret kept or shown."""

import json
import os
import re
from pathlib import Path

import pytest

from memory_read.tools import MemoryTool, memory_tools
from state.home import Home
from state.policy.note_form import NAME_FORM
from tests.support.clock import ManualClock

GOOD = "2026-11-29T10-00-00-use-tabs.md"
SECRET = "sk-" + "a1B2" * 8


@pytest.fixture
def tools(home: Home, memory: Path, clock: ManualClock) -> dict[str, MemoryTool]:
    """The tools by their names."""
    return {tool.name: tool for tool in memory_tools(home, "v1", clock)}


async def said(tool: MemoryTool, **arguments: object) -> str:
    """What a call gives back."""
    return await tool.call(json.dumps(arguments))


def notes_of(memory: Path) -> list[str]:
    """The names of the notes."""
    return sorted(path.name for path in (memory / "extensions/ad_hoc/notes").glob("*"))


@pytest.mark.requirement("MR-9-1", "MR-9-2")
def test_there_are_four_in_their_order_with_plain_schemas(home: Home, clock: ManualClock) -> None:
    """Only types, what is required, and the two descriptions of the note."""
    tools = memory_tools(home, "v1", clock)
    assert [tool.name for tool in tools] == ["add_ad_hoc_note", "list", "read", "search"]
    assert {(tool.namespace, tool.strict) for tool in tools} == {("memories", False)}
    schemas = {tool.name: tool.parameters for tool in tools}
    assert all(schema["additionalProperties"] is False for schema in schemas.values())
    assert [schema.get("required") for schema in schemas.values()] == [
        ["filename", "note"],
        None,
        ["path"],
        ["queries"],
    ]
    assert NAME_FORM in schemas["add_ad_hoc_note"]["properties"]["filename"]["description"]
    assert schemas["search"]["properties"]["queries"]["minItems"] == 1
    assert re.fullmatch(r"[A-Za-z0-9_-]+", tools[0].namespace)


async def test_list_read_and_search_answer_with_compact_json(
    tools: dict[str, MemoryTool],
) -> None:
    """The shapes of the original."""
    listed = await tools["list"].call("")
    assert listed == (
        '{"path":"","entries":[{"path":"MEMORY.md","entry_type":"file"},'
        '{"path":"memory_summary.md","entry_type":"file"},'
        '{"path":"rollout_summaries","entry_type":"directory"}],'
        '"next_cursor":null,"truncated":false}'
    )
    read = await said(tools["read"], path="MEMORY.md", line_offset=3, max_lines=1)
    assert json.loads(read) == {
        "path": "MEMORY.md",
        "start_line_number": 3,
        "content": "- tests run with make check\n",
        "truncated": True,
    }
    found = json.loads(await said(tools["search"], queries=["MAKE CHECK"], case_sensitive=False))
    assert [match["path"] for match in found["matches"]] == ["MEMORY.md", "memory_summary.md"]
    assert found["matches"][0]["match_line_number"] == 3
    # Ids that a citation needs come through unharmed.
    assert "0194f5a6-89ab-7cde-8123-000000000001" in await said(tools["read"], path="MEMORY.md")


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("read", "{}", "missing field `path`"),
        ("read", '{"path":"nope.md"}', "path 'nope.md' was not found"),
        ("read", '{"path":""}', "path '' is not a file"),
        ("read", '{"path":"../x"}', "path '../x' must stay within the memories root"),
        ("read", '{"path":".git/HEAD"}', "path '.git/HEAD' was not found"),
        ("read", '{"path":"bad.md"}', "this is not valid UTF-8 text"),
        ("read", '{"path":"MEMORY.md","line_offset":0}', "line_offset must be a 1-indexed line"),
        ("list", '{"cursor":"x"}', "cursor 'x' must be a non-negative integer"),
        ("search", '{"query":"x"}', "unknown field `query`, expected one of `queries`"),
        ("search", '{"queries":[]}', "queries must not be empty"),
        ("search", '{"queries":["x"],"match_mode":"any"}', "invalid type for `match_mode`"),
        ("search", "not json", "invalid arguments: "),
        ("add_ad_hoc_note", '{"filename":"a"}', "missing field `note`"),
        ("add_ad_hoc_note", '{"x":1}', "unknown field `x`, expected `filename` or `note`"),
    ],
)
async def test_mistakes_come_back_as_text(
    tools: dict[str, MemoryTool], memory: Path, name: str, arguments: str, answer: str
) -> None:
    """Never raised; the turn goes on."""
    (memory / "bad.md").write_bytes(b"\xff\xfe")
    assert (await tools[name].call(arguments)).startswith(answer)


async def test_an_overlong_call_is_refused_before_it_is_read(
    tools: dict[str, MemoryTool],
) -> None:
    """A model that never stops writing fills nothing."""
    assert "at most" in await tools["search"].call(" " * 300_000)


async def test_a_home_without_memory_answers_in_words(home: Home, clock: ManualClock) -> None:
    """No folder yet: reading says so, and a note makes the folder, private."""
    tools = {tool.name: tool for tool in memory_tools(home, "v2", clock)}
    assert await tools["list"].call("") == "path '' was not found"
    assert await said(tools["search"], queries=["x"]) == "path '' was not found"
    before = os.umask(0)
    try:
        assert await said(tools["add_ad_hoc_note"], filename=GOOD, note="x") == "{}"
    finally:
        os.umask(before)
    folder = home.memories("v2")
    for path in (folder, *folder.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == wanted, path


@pytest.mark.requirement("FR-R14", "MR-9-6")
async def test_a_note_is_kept_word_for_word(tools: dict[str, MemoryTool], memory: Path) -> None:
    """Trivial content too; nothing is added to it."""
    text = "I like tea. \r\n ☕"
    assert await said(tools["add_ad_hoc_note"], filename=GOOD, note=text) == "{}"
    path = memory / "extensions/ad_hoc/notes" / GOOD
    assert path.read_bytes() == text.encode()


@pytest.mark.requirement("FR-R14", "FR-F18")
async def test_a_secret_in_a_note_is_masked_and_a_bare_secret_refused(
    tools: dict[str, MemoryTool], memory: Path
) -> None:
    """The answer says so and does not repeat it."""
    add = tools["add_ad_hoc_note"]
    answer = await said(add, filename=GOOD, note=f"the key is {SECRET} on staging")
    assert json.loads(answer) == {"message": "saved; a secret in the note was masked"}
    kept = (memory / "extensions/ad_hoc/notes" / GOOD).read_text()
    assert SECRET not in kept and kept.endswith(" on staging")
    bare = await said(add, filename="2026-11-29T10-00-01-key.md", note=f" {SECRET}\n")
    assert bare == "the note is nothing but a secret; nothing was saved"
    assert notes_of(memory) == [GOOD]


@pytest.mark.requirement("FR-U7")
@pytest.mark.parametrize(
    ("filename", "why"),
    [
        ("2026-11-29T10-00-00-" + "a" * 110 + ".md", "must be at most 128 bytes"),
        ("2026-11-29T10-00-00-a.txt", "must end with .md"),
        ("2026-11-29T10-00-00-a.MD", "must end with .md"),
        ("note.md", f"must use {NAME_FORM}"),
        ("2026-11-29T10-00-00-.md", f"must use {NAME_FORM}"),
        ("2026-11-29 10-00-00-a.md", f"must use {NAME_FORM}"),
        ("٢026-11-29T10-00-00-a.md", f"must use {NAME_FORM}"),
        ("", "must end with .md"),
        ("../2026-11-29T10-00-00-a.md", f"must use {NAME_FORM}"),
        ("2026-11-29T10-00-00-" + "a" * 81 + ".md", "slug must be 1 to 80 bytes"),
        ("2026-11-29T10-00-00-a/../../b.md", "slug must contain only lowercase"),
        ("2026-11-29T10-00-00-Upper.md", "slug must contain only lowercase"),
        ("2026-11-29T10-00-00-a.b.md", "slug must contain only lowercase"),
        ("2026-11-29T10-00-00-a\u0000.md", "slug must contain only lowercase"),
        ("2026-11-29T10-00-00-ü.md", "slug must contain only lowercase"),
    ],
)
async def test_hostile_names_are_refused_and_write_nothing(
    tools: dict[str, MemoryTool], home: Home, memory: Path, filename: str, why: str
) -> None:
    """Path-like, overlong, reserved or of another form."""
    before = sorted(home.root.rglob("*"))
    answer = await said(tools["add_ad_hoc_note"], filename=filename, note="x")
    assert answer.startswith(f"filename '{filename}' {why}")
    assert sorted(home.root.rglob("*")) == before


@pytest.mark.requirement("FR-U7")
async def test_blank_existing_and_huge_notes_are_refused(
    tools: dict[str, MemoryTool], memory: Path
) -> None:
    """The first one stays as it was."""
    add = tools["add_ad_hoc_note"]
    assert await said(add, filename=GOOD, note=" \n\t") == "ad-hoc note must not be empty"
    assert (await said(add, filename=GOOD, note="x" * 40_000)).startswith("ad-hoc note must be")
    assert await said(add, filename=GOOD, note="first") == "{}"
    answer = await said(add, filename=GOOD, note="second")
    assert answer == f"ad-hoc note '{GOOD}' already exists"
    assert (memory / "extensions/ad_hoc/notes" / GOOD).read_text() == "first"
    assert await add.call('{"filename":"' + GOOD + '","note":"\\ud800"}') != "{}"


@pytest.mark.requirement("FR-U7")
@pytest.mark.parametrize("part", ["extensions", "extensions/ad_hoc", "extensions/ad_hoc/notes"])
async def test_a_link_on_the_way_to_the_notes_is_refused(
    tools: dict[str, MemoryTool], memory: Path, tmp_path: Path, part: str
) -> None:
    """What it points to is left alone."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (memory / part).parent.mkdir(parents=True, exist_ok=True)
    (memory / part).symlink_to(outside)
    answer = await said(tools["add_ad_hoc_note"], filename=GOOD, note="x")
    assert answer == f"path '{part}' must not be a symlink"
    assert list(outside.iterdir()) == []


@pytest.mark.requirement("FR-F18")
async def test_a_secret_in_a_file_is_masked_in_every_answer(
    tools: dict[str, MemoryTool], memory: Path
) -> None:
    """Read and search; what stands beside it is found all the same."""
    (memory / "hand.md").write_text(f"staging key {SECRET} for builds\n")
    for answer in (
        await said(tools["read"], path="hand.md"),
        await said(tools["search"], queries=["staging key"]),
    ):
        assert "for builds" in answer and SECRET not in answer
