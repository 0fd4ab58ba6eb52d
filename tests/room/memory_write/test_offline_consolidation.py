"""The offline consolidator on a real folder, through the real file tools."""

import shutil
from pathlib import Path

import pytest

from memory_write.offline.consolidation import OfflineConsolidator
from memory_write.phase2.sources import cited_in
from memory_write.ports import ConsolidationRequest, ModelFailed
from state.workspace.layout import (
    RAW_MEMORIES,
    SUMMARY_HEADINGS,
)
from tests.support.offline_folder import Folder, request, thread_of


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "memories")


@pytest.mark.requirement("MW-9-7")
async def test_the_handbook_groups_by_project_and_cites_its_sources(folder: Folder) -> None:
    """Blocks, tasks, keywords and statements as the format asks."""
    folder.hears(
        (1, "/w/shop", ["In this repo I want type hints on every function."]),
        (2, "/w/shop", ["The tests run with make check.", "I prefer small commits."]),
        (3, "/w/blog", ["I write British English."]),
    )
    handbook, _ = await folder.consolidate()
    blocks = handbook.split("# Task Group: ")[1:]
    assert [block.split("\n")[0] for block in blocks] == ["blog", "shop"]
    shop = blocks[1]
    assert "\nscope: " in shop and "\napplies_to: cwd=/w/shop; reuse_rule=" in shop
    assert f"thread_id={thread_of(1)})" in shop and f"thread_id={thread_of(2)})" in shop
    assert shop.count("### rollout_summary_files") == shop.count("### keywords") == 2
    assert "## User preferences\n\n- In this repo the user" in shop or "type hints" in shop
    assert "- The user prefers small commits. [Task 2]" in shop
    assert "## Reusable knowledge\n\n- The tests run with make check. [Task 2]" in shop
    assert cited_in(handbook).thread_ids == {thread_of(day) for day in (1, 2, 3)}
    assert "**" not in handbook


async def test_the_summary_has_its_first_line_its_headings_and_every_group(folder: Folder) -> None:
    """What is injected: profile, preferences, tips and the index."""
    folder.hears(
        (1, "/w/shop", ["The tests run with make check.", "I live in Paris and use celsius."]),
        (9, "/w/blog", ["Titles must not contain the word Explore."]),
    )
    _, summary = await folder.consolidate()
    lines = summary.split("\n")
    assert lines[0] == "v1" and lines[1] == ""
    places = [lines.index(heading) for heading in SUMMARY_HEADINGS]
    assert places == sorted(places)
    assert "- The user lives in Paris and uses celsius." in lines[places[0] : places[1]]
    assert "- Titles must not contain the word Explore. (in blog)" in lines[places[1] : places[2]]
    assert "- The tests run with make check. (in shop)" in lines[places[2] : places[3]]
    assert {"### /w/shop", "### /w/blog", "#### 2026-11-01", "#### 2026-11-09"} <= set(lines)


async def test_older_topics_of_one_folder_stand_under_one_heading(folder: Folder) -> None:
    """However many days they come from."""
    days = range(1, 9)
    tools = ("tabs", "vim", "ruff", "mypy", "pnpm", "make", "hugo", "htmx")
    folder.hears(*((day, "/w/shop", [f"I prefer {tools[day - 1]}."]) for day in days))
    _, summary = await folder.consolidate()
    older = summary.partition("### Older Memory Topics")[2]
    assert older.count("#### /w/shop") == 1
    assert older.count("- desc: ") == len(days) - 3


async def test_the_same_inputs_give_the_same_bytes(folder: Folder) -> None:
    """Also when the files are made anew elsewhere, and when nothing changed."""
    folder.hears(
        (1, "/w/shop", ["I prefer tabs.", "We use pnpm here."]), (2, "/w/x", ["I use vim."])
    )
    first = await folder.consolidate()
    assert await folder.consolidate() == first
    other = Folder(folder.root.parent / "other")
    shutil.copy(folder.root / RAW_MEMORIES, other.root / RAW_MEMORIES)
    assert await other.consolidate() == first


@pytest.mark.requirement("FR-F1", "FR-F4")
async def test_corrections_win_and_what_only_removed_inputs_said_is_gone(folder: Folder) -> None:
    """The replaced statement comes back only when its correction goes."""
    old = (1, "/w/shop", ["I prefer tabs.", "I use vim."])
    new = (2, "/w/shop", ["From now on use spaces."])
    folder.hears(old, new)
    handbook, summary = await folder.consolidate()
    assert "use spaces" in handbook and "tabs" not in handbook + summary
    assert str(thread_of(1)) in handbook
    folder.hears(old)
    handbook, summary = await folder.consolidate()
    assert "tabs" in handbook and "spaces" not in handbook + summary
    folder.hears()
    handbook, summary = await folder.consolidate()
    assert "tabs" not in handbook + summary and "vim" not in handbook + summary
    assert summary.startswith("v1\n") and all(line in summary for line in SUMMARY_HEADINGS)


async def test_what_two_sessions_say_stands_once_with_both_sources(folder: Folder) -> None:
    """And survives the loss of one of them."""
    folder.hears(
        (1, "/w/shop", ["I prefer small commits."]), (2, "/w/shop", ["Commits should be small."])
    )
    handbook, _ = await folder.consolidate()
    assert "[Task 1, Task 2]" in handbook
    folder.hears((2, "/w/shop", ["Commits should be small."]))
    handbook, _ = await folder.consolidate()
    assert "Commits should be small. [Task 1]" in handbook


@pytest.mark.requirement("FR-R14")
async def test_notes_are_worked_in_with_their_tag_and_may_take_things_out(folder: Folder) -> None:
    """What the user asked for in plain words has authority over what was learned."""
    folder.hears((1, "/w/shop", ["I live in Paris.", "I prefer small commits."]))
    folder.noted("2026-11-20T10-00-00-vim.md", "I use vim.\n")
    folder.noted("2026-11-21T10-00-00-misc.md", "The vet is Dr Hale on Mill Road.\n")
    folder.noted("2026-11-21T11-00-00-key.md", "The deploy token is [REDACTED_SECRET]\n")
    folder.noted("2026-11-22T10-00-00-forget.md", "Forget that I live in Paris\n")
    handbook, summary = await folder.consolidate()
    assert "The user uses vim. [ad-hoc note]" in handbook + summary
    assert "The vet is Dr Hale on Mill Road. [ad-hoc note]" in handbook
    assert "[ad-hoc note]" in summary
    assert "The deploy token is [REDACTED_SECRET]. [ad-hoc note]" in handbook
    assert "Paris" not in handbook + summary and "small commits" in summary


async def test_a_large_memory_is_read_whole_and_its_summary_stays_in_its_budget(
    folder: Folder,
) -> None:
    """Beyond what one read gives; the newest statements win a place."""
    sessions = [
        (day, f"/w/project{day}", [f"I prefer tool{day}n{number} over rival{day}n{number}."
                                   for number in range(90)])
        for day in range(1, 29)
    ]  # fmt: skip
    folder.hears(*sessions)
    assert (folder.root / RAW_MEMORIES).stat().st_size > 200_000
    handbook, summary = await folder.consolidate()
    assert "tool1n0 " in handbook and "tool28n89 " in handbook
    assert len(summary.encode()) < 10_000
    assert "tool28n89" in summary and "tool1n0 " not in summary


async def test_a_raw_memory_of_a_language_model_is_understood(folder: Folder) -> None:
    """Providers may change from one session to the next."""
    (folder.root / RAW_MEMORIES).write_text(
        "# Raw Memories\n\n## Thread `" + thread_of(1) + "`\n"
        "updated_at: 2026-11-01T10:00:00+00:00\ncwd: /w/shop\nrollout_path: x\n"
        "rollout_summary_file: 2026-11-01T10-00-00-abcd.md\n\n---\ndescription: d\n"
        "task_outcome: success\n---\n\n### Task 1: x\n\nPreference signals:\n"
        '- when asked to test, the user said: "use make" -> run make first\n'
        "Reusable knowledge:\n- The port is 8080.\n\nReferences:\n- not a statement\n"
    )
    handbook, summary = await folder.consolidate()
    assert "- run make first [Task 1]" in handbook and "- The port is 8080. [Task 1]" in handbook
    assert "not a statement" not in handbook + summary


async def test_a_refusing_tool_fails_the_job_and_says_which(tmp_path: Path) -> None:
    """The reason names no memory text."""
    folder = Folder(tmp_path / "memories")
    folder.hears((1, "/w/shop", ["I use vim."]))
    asked = request(folder.root)
    without = [tool for tool in asked.tools if tool.name != "write"]
    with pytest.raises(ModelFailed, match="there is no tool write"):
        await OfflineConsolidator().run(
            ConsolidationRequest(
                version=asked.version,
                instructions="",
                brief="",
                tools=without,
                budget=asked.budget,
                model=asked.model,
                job_key=asked.job_key,
            )
        )
