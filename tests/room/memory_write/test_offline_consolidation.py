"""The offline consolidator on a real folder, through the real file tools."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_write.limits import Phase2Limits
from memory_write.offline.consolidation import OfflineConsolidator
from memory_write.offline.heard import listen
from memory_write.offline.recap import raw_memory
from memory_write.offline.restored import RESTORED_HEADING, restored_entries
from memory_write.phase2.brief import render_diff_file
from memory_write.phase2.sources import cited_in
from memory_write.phase2.tools import ToolMeter, staged_tools
from memory_write.ports import Budget, ConsolidationRequest, ModelChoice, ModelFailed
from state.ids import ThreadId
from state.workspace.diff import FileVersion, compare
from state.workspace.layout import (
    DIFF_FILE,
    HANDBOOK,
    NOTES,
    RAW_MEMORIES,
    RESTORED,
    SUMMARY,
    SUMMARY_HEADINGS,
)
from tests.support.transcripts import typed

OURS = (HANDBOOK, SUMMARY)


class Folder:
    """A memory folder whose inputs are given as what users typed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.published: dict[str, FileVersion] = {}

    def hears(self, *sessions: tuple[int, str, Sequence[str]]) -> None:
        """Lay down the raw memories of these sessions: day, working folder, what was typed."""
        pieces = ["# Raw Memories\n\n"]
        for day, cwd, texts in sessions:
            thread_id = thread_of(day)
            heard = listen(typed(*texts, cwd=cwd, thread_id=thread_id))
            pieces.append(
                f"## Thread `{thread_id}`\nupdated_at: 2026-11-{day:02}T10:00:00+00:00\n"
                f"cwd: {cwd}\nrollout_path: sessions/{thread_id}.jsonl\n"
                f"rollout_summary_file: 2026-11-{day:02}T10-00-00-abcd-work.md\n\n"
                f"{raw_memory(heard, cwd=cwd).strip()}\n\n"
            )
        (self.root / RAW_MEMORIES).write_text("".join(pieces))

    def noted(self, name: str, text: str) -> None:
        """Lay down a note."""
        (self.root / NOTES).mkdir(parents=True, exist_ok=True)
        (self.root / NOTES / name).write_text(text)

    async def consolidate(self) -> tuple[str, str]:
        """Run it as phase 2 does; the handbook and the summary."""
        now = {
            path: FileVersion(data=(self.root / path).read_bytes())
            for path in OURS
            if (self.root / path).exists()
        }
        diff = compare(self.published, now, bytes_max=1_000_000)
        (self.root / DIFF_FILE).write_text(render_diff_file(diff, bytes_max=1_000_000))
        report = await OfflineConsolidator().run(request(self.root))
        assert report.stopped_by is None
        (self.root / DIFF_FILE).unlink()
        self.published = {path: FileVersion(data=(self.root / path).read_bytes()) for path in OURS}
        return self.text(HANDBOOK), self.text(SUMMARY)

    def text(self, path: str) -> str:
        """A file's text."""
        return (self.root / path).read_text()


def thread_of(day: int) -> ThreadId:
    """The thread of a day."""
    return ThreadId(f"01a228dc-d6af-71b0-a8b0-f85aecaab7{day:02}")


def request(root: Path) -> ConsolidationRequest:
    """A request with the real tools on that folder."""
    limits = Phase2Limits()
    return ConsolidationRequest(
        version="v1",
        instructions="",
        brief="",
        tools=staged_tools(root, ToolMeter(limits)),
        budget=Budget(turns_max=1, tokens_max=1, seconds_max=60),
        model=ModelChoice(),
        job_key="v1",
    )


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


@pytest.mark.requirement("FR-C5")
async def test_hand_edits_are_kept_under_their_own_heading(folder: Folder) -> None:
    """Added lines stay, removed ones stay away, both from one edition to the next."""
    folder.hears((1, "/w/shop", ["I prefer small commits.", "I use vim."]))
    await folder.consolidate()
    handbook = folder.text(HANDBOOK).replace("- The user prefers small commits. [Task 1]\n", "")
    (folder.root / HANDBOOK).write_text(f"{handbook}\n- Ask Kim about releases.\n")
    summary = folder.text(SUMMARY).replace("## General Tips", "- Be kind.\n\n## General Tips")
    (folder.root / SUMMARY).write_text(summary)
    for _ in range(2):
        handbook, summary = await folder.consolidate()
        kept = handbook.split("## Kept as edited by hand")[1]
        assert "- Ask Kim about releases." in kept and "- Be kind." in kept
        assert "- Be kind." in summary.split("### Kept as edited by hand")[1]
        assert "small commits" not in handbook + summary
        assert "uses vim" in handbook + summary
    folder.hears((1, "/w/shop", ["I prefer small commits."]), (2, "/w/shop", ["I like it."]))
    handbook, summary = await folder.consolidate()
    assert "Ask Kim" in handbook and "prefers small commits" not in handbook + summary
    (folder.root / HANDBOOK).write_text(handbook.replace("- Ask Kim about releases.\n", ""))
    handbook, summary = await folder.consolidate()
    assert "Ask Kim" not in handbook + summary and "Be kind" in summary


async def test_a_lost_file_is_made_anew_and_forgets_nothing(folder: Folder) -> None:
    """A wiped handbook is no wish to have every line of it gone."""
    folder.hears((1, "/w/shop", ["I prefer small commits."]))
    first = await folder.consolidate()
    (folder.root / HANDBOOK).unlink()
    assert await folder.consolidate() == first
    (folder.root / HANDBOOK).write_text("")
    (folder.root / SUMMARY).unlink()
    assert await folder.consolidate() == first


async def test_a_hand_written_line_with_a_secret_or_a_lost_source_is_not_kept(
    folder: Folder,
) -> None:
    """It would not pass the gate, and a kept one would block every later edition."""
    folder.hears((1, "/w/shop", ["I use vim."]))
    await folder.consolidate()
    more = f'\n- password = "hunter2hunter2"\n- See thread_id={thread_of(77)}.\n- Tea at four.\n'
    (folder.root / HANDBOOK).write_text(folder.text(HANDBOOK) + more)
    handbook, _ = await folder.consolidate()
    assert "hunter2" not in handbook and str(thread_of(77)) not in handbook
    assert "Tea at four." in handbook


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


@pytest.mark.requirement("FR-U8")
async def test_restored_memory_stands_as_its_statements_and_yields_to_what_is_said_here(
    folder: Folder,
) -> None:
    """Of a restored handbook the lines are merged, apart from what the user said here."""
    resources = folder.root / RESTORED
    resources.mkdir(parents=True)
    (resources.parent / "instructions.md").write_text("# Restored\n")
    (resources / "0123456789abcdef-v1-handbook.md").write_text(
        "# Task Group: shop\n\nscope: shop\napplies_to: cwd=~/shop; reuse_rule=hold here\n\n"
        "## Task 1: deploys, success\n\n### keywords\n\n- deploys\n\n"
        "## User preferences\n\n- The user prefers deploys on Tuesday. [Task 1]\n"
        "- The user prefers tabs over spaces in Go. [Task 1]\n- [withheld: forgotten]\n\n"
        "## Reusable knowledge\n\n- The user lives in Lisbon. [Task 1]\n"
    )
    folder.hears((1, "/w/shop", ["I prefer small commits.", "I live in Hamburg."]))
    handbook, summary = await folder.consolidate()
    restored = handbook.split("# Task Group: restored from an export")[1]
    assert (
        "### Restored statements for ~/shop\n\n- The user prefers deploys on Tuesday." in restored
    )
    assert "deploys on Tuesday. (in restored memory)" in summary.split(RESTORED_HEADING)[1]
    for text in (handbook, summary):
        assert "Lisbon" not in text and "Hamburg" in text
        assert "withheld" not in text and "thread_id=restored" not in text
    assert "Tuesday" not in summary.split("## General Tips")[0]
    assert await folder.consolidate() == (handbook, summary)
    assert [one.cwd for one in restored_entries([handbook]) if "Tuesday" in one.text] == ["~/shop"]
    await _forgets_restored_lines(folder, handbook)


async def _forgets_restored_lines(folder: Folder, handbook: str) -> None:
    """Taken out by hand or by a note, a restored line stays away."""
    line = "- The user prefers deploys on Tuesday. [Task 1]\n"
    assert line in handbook
    (folder.root / HANDBOOK).write_text(handbook.replace(line, ""))
    folder.noted("2026-11-29T10-00-00-a.md", "Forget that tabs over spaces in Go.")
    for text in await folder.consolidate():
        assert "Tuesday" not in text and "tabs over spaces in Go. [" not in text
