"""The input files of a consolidation, byte for byte; and the diff file."""

import json
from typing import Any

import pytest

from memory_write.phase2 import brief
from memory_write.phase2.extensions import stale_resources
from memory_write.phase2.inputs import (
    input_files,
    render_raw_memories,
    render_recap,
)
from memory_write.phase2.verify import Finding
from memory_write.recipes import V1, V2, Recipe
from state.home import Home
from state.ids import ThreadId
from state.stores.outputs import Output, SelectedOutput
from state.stores.threads import ThreadRow
from state.workspace.diff import FileVersion, WorkspaceDiff, compare
from state.workspace.snapshot import FileContent, Snapshot
from tests.support.shared_data import needs_shared, shared

ID = ThreadId("0194f5a6-89ab-7cde-8123-456789abcdef")


def _selected(
    thread_id: ThreadId = ID,
    *,
    branch: str | None = "main",
    raw: str = "\n- body\n\n",
    recap: str = "# Recap",
    slug: str | None = "A slug",
    at_ms: int = 1_795_950_971_123,
    cwd: str = "/home/user/project",
    path: str = "sessions/x.jsonl",
) -> SelectedOutput:
    return SelectedOutput(
        output=Output(
            version="v1",
            thread_id=thread_id,
            source_updated_at_ms=at_ms,
            raw_memory=raw,
            rollout_summary=recap,
            rollout_slug=slug,
            generated_at_ms=0,
        ),
        thread=ThreadRow(
            thread_id=thread_id,
            rollout_path=path,
            created_at_ms=0,
            updated_at_ms=at_ms,
            cwd=cwd,
            preview="p",
            name=None,
            source='"cli"',
            thread_source=None,
            model_provider="acme",
            model=None,
            cli_version="1",
            originator=None,
            history_mode="legacy",
            memory_mode="enabled",
            archived=False,
            git_branch=branch,
            git_sha=None,
            git_origin_url=None,
            forked_from_id=None,
            imported_from=None,
            imported_digest=None,
            imported_at_ms=None,
        ),
    )


def test_a_recap_says_first_where_it_comes_from() -> None:
    assert render_recap(_selected()) == (
        f"thread_id: {ID}\nupdated_at: 2026-11-29T11:16:11+00:00\n"
        "rollout_path: sessions/x.jsonl\ncwd: /home/user/project\ngit_branch: main\n\n# Recap\n"
    )
    assert "git_branch" not in render_recap(_selected(branch=None))


@pytest.mark.requirement("MW-8.3-latest-only", "MW-8.3-raw-body")
def test_raw_memories_stand_under_the_headings_of_their_threads() -> None:
    assert render_raw_memories([_selected()]) == (
        "# Raw Memories\n\nMerged stage-1 raw memories (stable ascending thread-id order):\n\n"
        f"## Thread `{ID}`\nupdated_at: 2026-11-29T11:16:11+00:00\ncwd: /home/user/project\n"
        "rollout_path: sessions/x.jsonl\n"
        "rollout_summary_file: 2025-02-11T15-35-19-jqmb-a_slug.md\n\n- body\n\n"
    )
    assert render_raw_memories([]) == "# Raw Memories\n\nNo raw memories yet.\n"


@pytest.mark.requirement("MW-8.3-raw-body")
@needs_shared
@pytest.mark.parametrize("recipe", [V1, V2], ids=["v1", "v2"])
def test_the_files_of_the_original_come_out_byte_for_byte(recipe: Recipe) -> None:
    """From the recorded rows the same bytes come out as the original wrote."""
    home = shared("anchor-home")
    threads: dict[str, dict[str, Any]] = {
        row["id"]: row
        for row in json.loads((home / f"rows/{recipe.version}.threads.json").read_text())
    }
    selection = [
        _selected(
            ThreadId(row["thread_id"]),
            branch=threads[row["thread_id"]].get("git_branch"),
            raw=row["raw_memory"],
            recap=row["rollout_summary"],
            slug=row["rollout_slug"],
            at_ms=row["source_updated_at"] * 1_000,
            cwd=threads[row["thread_id"]]["cwd"],
            path=threads[row["thread_id"]]["rollout_path"],
        )
        for row in json.loads((home / f"rows/{recipe.version}.stage1_outputs.json").read_text())
        if row["selected_for_phase2"]
    ]
    selection.sort(key=lambda one: one.output.thread_id)
    memories = home / "memory" / Home(home).memories(recipe.version).name
    made = input_files(selection, recipe)
    assert ("raw_memories.md" in made) is recipe.has_raw_memory
    assert {path: (memories / path).read_bytes() for path in made} == made


@pytest.mark.requirement("MW-8.3-pruned-only")
def test_only_old_resources_of_real_extensions_are_stale() -> None:
    now_ms = 1_795_000_000_000  # 2026-11-18T11:06:40Z
    fresh, edge = "2026-11-12T11-06-40-x.md", "2026-11-11T11-06-40-x.md"
    paths = (
        "extensions/a/instructions.md",
        f"extensions/a/resources/{fresh}",
        f"extensions/a/resources/{edge}",
        f"extensions/a/resources/sub/{edge}",
        "extensions/a/resources/2026-11-01-odd.md",
        "extensions/a/resources/2026-11-01T00-00-00-x.txt",
        f"extensions/b/resources/{edge}",
        f"extensions/ad_hoc/notes/{edge}",
    )
    snapshot = Snapshot(files={path: FileContent(data=b"") for path in paths})
    assert stale_resources(snapshot, now_ms) == (f"extensions/a/resources/{edge}",)


def test_the_diff_file_lists_all_changes_and_closes_its_fence() -> None:
    hostile = FileVersion(data=b"```\n## Status\n````\n")
    diff = compare({}, {"a.md": hostile}, bytes_max=10_000)
    text = brief.render_diff_file(diff, bytes_max=10_000)
    assert text.startswith("# Memory Workspace Diff\n")
    assert "\n## Status\n- A a.md\n\n## Diff\n\n`````diff\n" in text
    assert text.endswith("\n`````\n")


def test_no_changes_are_told_as_none() -> None:
    text = brief.render_diff_file(WorkspaceDiff(changes=(), text=""), bytes_max=10)
    assert text.endswith("## Status\n- none\n")


@pytest.mark.requirement("MW-8.3-diff-bound")
def test_a_cut_diff_says_so_inside_the_fence() -> None:
    diff = compare({}, {"a.md": FileVersion(data=b"x\n" * 1_000)}, bytes_max=300)
    text = brief.render_diff_file(diff, bytes_max=300)
    assert text.endswith("\n[workspace diff truncated at 300 bytes]\n```\n")


@pytest.mark.requirement("MW-9-23")
def test_the_list_of_changes_is_bounded_too() -> None:
    files = {f"{number:04}.md": FileVersion(data=b"x\n") for number in range(2_500)}
    text = brief.render_diff_file(compare({}, files, bytes_max=100), bytes_max=100)
    assert "- and 500 more\n" in text


@pytest.mark.requirement("FR-C8")
def test_the_prompt_names_what_code_guarantees_and_no_more() -> None:
    text = brief.instructions()
    assert "no shell, no network" in text
    assert "memory stays as it was" in text
    assert "Files have no history" in text
    for word in ("`v1`", "## User Profile", "## User preferences", "## General Tips"):
        assert word in text
    assert "## What's in Memory" in text


@pytest.mark.requirement("MW-8.3-prompt")
def test_the_task_names_the_mode_and_extensions_only_where_there_are_some() -> None:
    empty = Snapshot(files={})
    told = brief.task(empty, [])
    assert "Mode: INCREMENTAL" in told
    assert "Memory extensions" not in told
    assert "Not in order before this run:\n- none\n" in told
    some = Snapshot(files={"extensions/a/instructions.md": FileContent(data=b"")})
    told = brief.task(some, [Finding("missing", "MEMORY.md")])
    assert "Mode: INIT" in told
    assert "- MEMORY.md is missing" in told
    assert "Memory extensions (under" in told
    assert "{{" not in told
