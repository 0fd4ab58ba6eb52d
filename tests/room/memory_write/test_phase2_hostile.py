"""Consolidators that do harm: refused, and the published memory stays byte for byte."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase2Limits
from memory_write.phase2.author import REPAIRS_MAX
from memory_write.ports import ConsolidationRequest
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, job_of, phase2_of, put_output
from tests.support.consolidators import SUMMARY, Script, ScriptedConsolidator, Tools, write_well
from tests.support.learning import opened

GHOST = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home with published memory and one more output to take in."""
    async with opened(tmp_path / "home", ManualClock()) as state:
        for text in ("the user wants small commits", "the checks run with make check"):
            await put_output(state, text)
        first = phase2_of(state, ScriptedConsolidator(write_well))
        assert (await first.run(ignore_cooldown=True)).status == "published"
        await put_output(state, "titles are short")
        yield state


def _staged(state: State) -> Path:
    (folder,) = state.home.staging.iterdir()
    return folder


async def empties_the_handbook(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    await tools("write", path="MEMORY.md", content=" \n")


async def deletes_the_handbook(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    await tools("delete", path="MEMORY.md")


async def drops_most_of_it(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    path, thread_id = (await tools.recaps())[0]
    content = f"# Task Group: a\n\n- {path} (thread_id={thread_id})\n"
    await tools("write", path="MEMORY.md", content=content)


async def writes_a_secret(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    secret = "sk-proj-" + "a1B2" * 8
    await tools("write", path="skills/deploy/SKILL.md", content=f"use the key {secret}\n")


async def names_a_recap_that_is_not_there(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    content = "- rollout_summaries/2026-01-01T00-00-00-abcd-ghost.md\n"
    await tools("write", path="skills/ghost/SKILL.md", content=content)


async def names_a_thread_that_is_not_there(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    summary = f"{SUMMARY}\n- ghost (thread_id={GHOST})\n"
    await tools("write", path="memory_summary.md", content=summary)


async def says_it_in_prose_only(tools: Tools, request: ConsolidationRequest) -> None:
    await tools("write", path="memory_summary.md", content="All is well, I remember you.\n")


async def leaves_a_heading_out(tools: Tools, request: ConsolidationRequest) -> None:
    await write_well(tools, request)
    summary = SUMMARY.replace("## General Tips", "## Tips")
    await tools("write", path="memory_summary.md", content=summary)


@pytest.mark.requirement(
    "FR-C7",
    "MW-8.2-missing-artefacts",
    "MW-8.3-v1-summary",
    "MW-9-6",
    "MW-9-9",
    "MW-9-14",
    "MW-F-model-secrets",
    "MW-F-invalid-summary",
    "MW-F-wiped-folder",
)
@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (empties_the_handbook, "empty in MEMORY.md"),
        (deletes_the_handbook, "MEMORY.md is missing"),
        (drops_most_of_it, "topic_removed in MEMORY.md"),
        (writes_a_secret, "secret in skills/deploy/SKILL.md"),
        (says_it_in_prose_only, "first_line in memory_summary.md"),
        (leaves_a_heading_out, "heading_missing in memory_summary.md: ## General Tips"),
    ],
)
async def test_an_unsound_result_is_refused_with_its_reason(
    state: State, script: Script, kind: str
) -> None:
    before = contents(state.home.memories("v1"))
    agent = ScriptedConsolidator(script)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert report.status == "failed"
    assert report.reason is not None and report.reason.startswith(f"unsound: {kind}")
    assert contents(state.home.memories("v1")) == before
    assert list(state.home.staging.iterdir()) == []
    job = await job_of(state)
    assert (job.status, job.attempts_left) == ("failed", 2)
    assert len(agent.requests) == 1 + REPAIRS_MAX
    assert kind in agent.requests[1].brief, "it was told what to put right"


@pytest.mark.requirement("FR-E7", "MW-9-6")
@pytest.mark.parametrize(
    ("script", "path", "gone", "kept"),
    [
        (names_a_recap_that_is_not_there, "skills/ghost/SKILL.md", "abcd-ghost", None),
        (names_a_thread_that_is_not_there, "memory_summary.md", GHOST, "- ghost\n"),
    ],
)
async def test_names_of_no_input_are_left_out_and_counted_and_cost_nothing_else(
    state: State, script: Script, path: str, gone: str, kept: str | None
) -> None:
    live = state.home.memories("v1")
    report = await phase2_of(state, ScriptedConsolidator(script)).run(ignore_cooldown=True)
    assert (report.status, report.ids_ignored) == ("published", 1)
    text = (live / path).read_text() if (live / path).exists() else ""
    assert gone not in text
    assert kept is None or kept in text
    for words in ("small commits", "make check", "titles are short"):
        assert words in (live / "MEMORY.md").read_text()


async def test_an_agent_that_puts_it_right_when_told_is_published(state: State) -> None:
    asked: list[str] = []

    async def second_time_well(tools: Tools, request: ConsolidationRequest) -> None:
        asked.append(request.brief)
        await (empties_the_handbook if len(asked) == 1 else write_well)(tools, request)

    agent = ScriptedConsolidator(second_time_well)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert report.status == "published"
    assert report.use.total_tokens == 2_400
    assert agent.requests[1].budget.turns_max == agent.requests[0].budget.turns_max - 3


@pytest.mark.requirement("FR-C3", "MW-8.3-confined", "MW-8.3-own-roots", "MW-9-5", "MW-F-reach")
async def test_writing_outside_is_refused_call_by_call(state: State, tmp_path: Path) -> None:
    """The rest of the run may still be sound: the tools gave nothing away."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.md").write_text("kept")

    async def outward(tools: Tools, request: ConsolidationRequest) -> None:
        os.symlink(outside, _staged(state) / "skills_link")
        (_staged(state) / "skills").mkdir(exist_ok=True)
        os.symlink(outside, _staged(state) / "skills" / "link")
        for path in (
            "../x.md",
            "skills/../../x.md",
            "/etc/x.md",
            str(outside / "target.md"),
            "skills/link/target.md",
            "raw_memories.md",
            "rollout_summaries/new.md",
            "extensions/ad_hoc/instructions.md",
            "phase2_workspace_diff.md",
            ".git/config",
            "skills/.hidden.md",
            "README.md",
            "skills",
        ):
            reply = await tools("write", path=path, content="x")
            assert not reply.startswith("{"), path
        assert not (await tools("read", path="skills/link/target.md")).startswith("{")
        assert not (await tools("move", path="MEMORY.md", new_path="../x.md")).startswith("{")
        assert not (await tools("move", path="raw_memories.md", new_path="skills/a.md")).startswith(
            "{"
        )
        assert not (await tools("delete", path="rollout_summaries")).startswith("{")
        (_staged(state) / "skills_link").unlink()
        (_staged(state) / "skills" / "link").unlink()
        await write_well(tools, request)

    report = await phase2_of(state, ScriptedConsolidator(outward)).run(ignore_cooldown=True)
    assert report.status == "published", report
    assert (outside / "target.md").read_text() == "kept"
    assert [path.name for path in outside.iterdir()] == ["target.md"]
    assert not (state.home.root / "x.md").exists()
    assert not (state.home.staging / "x.md").exists()


@pytest.mark.requirement("MW-8.2-worker-links", "MW-F-links-made")
@pytest.mark.parametrize("what", ["link", "dangling", "fifo"])
async def test_a_link_or_special_file_in_the_copy_is_never_published(
    state: State, what: str
) -> None:
    before = contents(state.home.memories("v1"))

    async def plant(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        place = _staged(state) / "skills" / "planted.md"
        place.parent.mkdir(exist_ok=True)
        if place.is_symlink() or place.exists():
            return
        if what == "fifo":
            os.mkfifo(place)
        else:
            place.symlink_to("/etc/passwd" if what == "link" else "/nowhere")

    report = await phase2_of(state, ScriptedConsolidator(plant)).run(ignore_cooldown=True)
    assert report.reason == "unsound: link_or_special_file in skills/planted.md"
    assert contents(state.home.memories("v1")) == before


async def test_an_input_changed_behind_the_tools_is_noticed(state: State) -> None:
    async def tamper(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        (_staged(state) / "raw_memories.md").write_text("forged")
        (_staged(state) / "extensions/ad_hoc/notes").mkdir(exist_ok=True)
        (_staged(state) / "extensions/ad_hoc/notes/forged.md").write_text("forged")

    report = await phase2_of(state, ScriptedConsolidator(tamper)).run(ignore_cooldown=True)
    assert report.reason == (
        "unsound: input_touched in extensions/ad_hoc/notes/forged.md; "
        "input_touched in raw_memories.md"
    )


@pytest.mark.requirement("MW-9-23")
async def test_sizes_and_counts_are_capped(state: State) -> None:
    limits = Phase2Limits(file_bytes_max=2_000, folder_files_max=30)
    replies: list[str] = []

    async def flood(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        replies.append(await tools("write", path="skills/a/big.md", content="x" * 2_001))
        for number in range(40):
            replies.append(await tools("write", path=f"skills/a/{number}.md", content="x"))

    phase2 = phase2_of(state, ScriptedConsolidator(flood), settings=MemorySettings(phase2=limits))
    report = await phase2.run(ignore_cooldown=True)
    assert replies[0] == "path 'skills/a/big.md' would be larger than 2000 bytes"
    assert replies[40] == "no more can be written in this run"
    assert report.status == "failed"
    assert report.reason is not None


async def test_mistaken_calls_come_back_as_sentences(state: State) -> None:
    replies: list[str] = []

    async def clumsy(tools: Tools, request: ConsolidationRequest) -> None:
        by_name = {tool.name: tool for tool in request.tools}
        for name, arguments in (
            ("read", "not json"),
            ("read", "[]"),
            ("read", "{}"),
            ("read", '{"path": 3}'),
            ("read", '{"file": "x"}'),
            ("read", '{"path": "nope.md"}'),
            ("edit", '{"path": "MEMORY.md", "old_text": "", "new_text": "x"}'),
            ("edit", '{"path": "MEMORY.md", "old_text": "zzz", "new_text": "x"}'),
            ("delete", '{"path": "."}'),
            ("list", ""),
        ):
            replies.append(await by_name[name].call(arguments))
        await write_well(tools, request)

    await phase2_of(state, ScriptedConsolidator(clumsy)).run(ignore_cooldown=True)
    assert replies[0].startswith("arguments are no valid JSON")
    assert replies[1] == "arguments must be a JSON object"
    assert replies[2] == "missing field `path`"
    assert replies[3] == "field `path` must be a string"
    assert replies[4].startswith("unknown field `file`, expected one of `path`")
    assert replies[5] == "path 'nope.md' was not found"
    assert replies[6] == "old_text must not be empty"
    assert replies[7] == "old_text occurs 0 times in 'MEMORY.md', it must occur once"
    assert (
        replies[8] == "path '.' is read-only here; write MEMORY.md, memory_summary.md or files "
        "below skills/"
    )
    assert replies[9].startswith('{"path":""')
