"""Several memory versions side by side: own rows, folders and cooldowns, one order for all."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.controls.reset import MemoryReset
from memory_write.errors import WorkCancelled
from memory_write.lanes import Lanes, lanes_of
from memory_write.limits import DailyBudget, MemorySettings
from memory_write.ports import (
    Announcement,
    ConsolidationRequest,
    Consolidator,
    ExtractionModel,
    ExtractionRequest,
    ModelUse,
)
from state.recovery import State
from state.stores.refusals import Skipped
from state.stores.withdrawal import delete_thread_memory
from tests.support.clock import ManualClock
from tests.support.consolidators import SUMMARY, ScriptedConsolidator, Tools, write_well
from tests.support.learning import (
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    opened,
    put_thread,
)

BOTH = MemorySettings(dual_write=("v1", "v2"))
RECAP = "# The linter comes before a commit\n\n- The user: run the linter first\n"


async def reply(request: ExtractionRequest) -> str:
    """A good reply in the shape that the request asks for."""
    values = {"rollout_summary": RECAP, "rollout_slug": "linter", "raw_memory": "- linter first"}
    return json.dumps({key: values[key] for key in request.output_schema["properties"]})


async def write(tools: Tools, request: ConsolidationRequest) -> None:
    """What a good agent of either version writes."""
    if request.version == "v1":
        await write_well(tools, request)
        return
    recaps = await tools.recaps()
    pointers = [f"- {path} — the linter comes first; thread_id={one}\n" for path, one in recaps]
    await tools("write", path="MEMORY.md", content="# Not here")
    await tools("write", path="memory_summary.md", content="".join([SUMMARY, *pointers]))


class Models:
    """One extraction model and one agent for every version."""

    def __init__(self, use: ModelUse | None = None) -> None:
        self.heard = ScriptedExtraction(reply, use=use)
        self.agent = ScriptedConsolidator(write)

    def extraction(self, provider: str | None) -> ExtractionModel:
        """The one."""
        return self.heard

    def consolidator(self, provider: str | None) -> Consolidator:
        """The one."""
        return self.agent


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home with one finished thread."""
    async with opened(tmp_path / "home", ManualClock()) as opened_state:
        await put_thread(opened_state, PREFERENCE)
        yield opened_state


def lanes(state: State, models: Models, settings: MemorySettings = BOTH) -> Lanes:
    """The lanes of these settings."""
    return lanes_of(state, models, OpenQuota(), Announced(), settings, frozenset)


async def counts(state: State, version: str) -> tuple[int, int]:
    """Outputs, and the most threads that were ever consolidated."""
    async with state.database.reading() as read:
        outputs = (await state.outputs.counts(read, version)).total
        return outputs, await state.outputs.max_consolidated(read, version)


def names(state: State, version: str) -> set[str]:
    """Every file of a version's folder."""
    root = state.home.memories(version)
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path) for path in files if path.parts[0] != ".git"}


@pytest.mark.requirement("MW-8.2-dual-stores")
async def test_both_versions_extract_and_consolidate_into_what_is_their_own(state: State) -> None:
    """Four model requests; v2 has recaps and a summary, and nothing else of v1."""
    models = Models()
    reports = await lanes(state, models).consolidate(only=None)
    assert [report.phase2 and report.phase2.status for report in reports.values()] == [
        "published",
        "published",
    ]
    assert list(reports) == ["v1", "v2"]
    assert sorted(one.version for one in models.heard.requests) == ["v1", "v2"]
    assert sorted(one.version for one in models.agent.requests) == ["v1", "v2"]
    async with state.database.reading() as read:
        [thread] = await state.threads.all_enabled(read)
        first = await state.outputs.get(read, "v1", thread.thread_id)
        second = await state.outputs.get(read, "v2", thread.thread_id)
    assert first is not None and second is not None
    assert (first.raw_memory, second.raw_memory) == ("- linter first", "")
    assert second.rollout_summary == RECAP
    [recap] = [name for name in names(state, "v2") if name.startswith("rollout_summaries/")]
    assert recap in names(state, "v1")
    assert names(state, "v2") == {
        recap,
        "memory_summary.md",
        "extensions/ad_hoc/instructions.md",
    }
    assert {"MEMORY.md", "raw_memories.md"} < names(state, "v1")
    assert await counts(state, "v1") == await counts(state, "v2") == (1, 1)


@pytest.mark.requirement("MW-8.2-v2-alone")
async def test_the_agent_of_v2_is_refused_every_other_file(state: State) -> None:
    """And is told what it may write, and what the rules are."""
    models = Models()
    await lanes(state, models, MemorySettings(version="v2")).consolidate(only=None)
    [request] = models.agent.requests
    assert "path 'MEMORY.md' is read-only here; write memory_summary.md" in models.agent.replies
    assert request.instructions.startswith("You keep the compact memory")
    assert "Memory workspace diff: `phase2_workspace_diff.md`" in request.brief
    assert {tool.name for tool in request.tools} == {
        "list", "read", "search", "write", "edit", "move", "delete",
    }  # fmt: skip
    described = {tool.name: tool.description for tool in request.tools}
    assert "memory_summary.md" in described["write"] and "MEMORY.md" not in described["write"]


@pytest.mark.requirement("MW-8.3-v2-summary", "MW-F-invalid-summary", "MW-F-large-summary")
@pytest.mark.parametrize(
    ("summary", "finding"),
    [
        (SUMMARY.replace("v1\n", "v2\n", 1), "first_line"),
        (SUMMARY.replace("## General Tips", "## Tips"), "heading_missing"),
        (SUMMARY + "- word\n" * 1_400, "too_large"),
    ],
)
async def test_a_summary_of_v2_that_is_not_sound_is_not_published(
    state: State, summary: str, finding: str
) -> None:
    """The first line is literally `v1` here too."""

    async def careless(tools: Tools, request: ConsolidationRequest) -> None:
        await tools("write", path="memory_summary.md", content=summary)

    models = Models()
    models.agent = ScriptedConsolidator(careless)
    reports = await lanes(state, models, MemorySettings(version="v2")).consolidate(only=None)
    report = reports["v2"].phase2
    assert report is not None and report.status == "failed"
    assert finding in str(report.reason)
    assert "memory_summary.md" not in names(state, "v2")


@pytest.mark.requirement("MW-8.2-dual-roots")
async def test_old_notes_of_v1_stay_in_v1(state: State) -> None:
    """Both folders have their extension; the note is in one."""
    note = state.home.memories("v1") / "extensions/ad_hoc/notes/2026-01-01T00-00-00-tabs.md"
    note.parent.mkdir(parents=True)
    note.write_text("note: use tabs\n")
    await lanes(state, Models()).consolidate(only=None)
    for version in ("v1", "v2"):
        assert "extensions/ad_hoc/instructions.md" in names(state, version)
    assert note.exists()
    assert not [name for name in names(state, "v2") if "/notes/" in name]


async def test_a_cooldown_of_one_version_holds_no_other_back(state: State) -> None:
    """A version that is written later learns everything anew, and the first one nothing."""
    models = Models()
    await lanes(state, models, MemorySettings()).consolidate(only=None)
    assert await counts(state, "v2") == (0, 0)
    assert not state.home.memories("v2").exists()
    async with state.database.writing() as tx:
        held = await state.jobs.claim_consolidation(
            tx, version="v1", lease_s=90, cooldown_s=6 * 3_600, ignore_cooldown=False
        )
    assert isinstance(held, Skipped) and held.reason == "cooldown"
    reports = await lanes(state, models).consolidate(only=None)
    assert reports["v1"].phase1.claimed == 0
    assert reports["v2"].phase1.succeeded == 1
    assert reports["v2"].phase2 is not None and reports["v2"].phase2.status == "published"
    assert await counts(state, "v2") == (1, 1)


async def test_the_day_s_budget_is_one_for_all_versions(state: State) -> None:
    """The second extraction waits for the next day, whoever asks for it."""
    models = Models(use=ModelUse(input_tokens=9_000, output_tokens=1_000))
    budget = DailyBudget(extraction_tokens=8_000)
    settings = MemorySettings(dual_write=("v2",), budget=budget)
    reports = await lanes(state, models, settings).consolidate(only=None)
    assert len(models.heard.requests) == 1
    assert sum(report.phase1.succeeded for report in reports.values()) == 1


@pytest.mark.requirement("MW-8.1-versions")
async def test_deletion_and_reset_clear_every_version(state: State) -> None:
    """A deletion under one version takes what the other has; folders that are not there stay so."""
    both = lanes(state, Models())
    await both.consolidate(only=None)
    await put_thread(state, PREFERENCE, name="other")
    await both.consolidate(only=None)
    async with state.database.reading() as read:
        first, *_ = await state.threads.all_enabled(read)
    async with state.database.writing() as tx:
        await delete_thread_memory(
            tx,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=first.thread_id,
            now_ms=state.clock.now_ms(),
        )
    async with state.database.reading() as read:
        for version in ("v1", "v2"):
            assert await state.outputs.get(read, version, first.thread_id) is None
            kept = await state.jobs.list(read, version=version, limit=10)
            assert first.thread_id not in {job.key for job in kept}
    await MemoryReset(state, both).run()
    for version in ("v1", "v2"):
        assert await counts(state, version) == (0, 0)
        assert list(state.home.memories(version).iterdir()) == []
    assert not state.home.memories("v3").exists()
    async with state.database.reading() as read:
        assert len(await state.threads.all_enabled(read)) == 2


@pytest.mark.requirement("MW-8.1-versions")
async def test_a_reset_makes_no_folder_that_was_not_there(tmp_path: Path) -> None:
    """An empty home stays without memory folders."""
    async with opened(tmp_path / "home", ManualClock()) as empty:
        await MemoryReset(empty, lanes(empty, Models())).run()
        assert not [path for path in empty.home.root.iterdir() if path.name.startswith("memories")]


async def test_the_recap_of_v2_is_redacted_and_then_cut(state: State) -> None:
    """At most 9,000 bytes and a marker; a secret is masked before its middle could go."""
    secret = "password = hunter2hunter2"

    async def long(request: ExtractionRequest) -> str:
        text = "# Long\n" + "ä word " * 700 + secret + " tail " * 1_500
        return json.dumps({"rollout_summary": text, "rollout_slug": ""})

    models = Models()
    models.heard = ScriptedExtraction(long)
    await lanes(state, models, MemorySettings(version="v2")).consolidate(only=None)
    async with state.database.reading() as read:
        [thread] = await state.threads.all_enabled(read)
        output = await state.outputs.get(read, "v2", thread.thread_id)
    assert output is not None
    assert "chars truncated…" in output.rollout_summary
    assert 9_000 < len(output.rollout_summary.encode()) < 10_000
    assert "hunter2" not in output.rollout_summary


async def test_lanes_start_and_stop_as_one(state: State) -> None:
    """A server's own passes learn in both versions, and after the end nothing runs."""
    ended: set[str] = set()
    both = asyncio.Event()

    def announce(one: Announcement) -> None:
        if one.what == "consolidation/finished" and one.data["status"] == "published":
            ended.add(one.version)
        if len(ended) == 2:
            both.set()

    running = lanes_of(state, Models(), OpenQuota(), announce, BOTH, frozenset)
    assert running.versions == ("v1", "v2")
    running.start()
    async with asyncio.timeout(20):
        await both.wait()
    async with running.alone():
        assert await counts(state, "v1") == await counts(state, "v2") == (1, 1)
    await running.stop(1)
    with pytest.raises(WorkCancelled):
        await running.consolidate(only=None)


@pytest.mark.requirement("FR-K4")
async def test_all_versions_share_one_cap_on_calls_at_once(state: State) -> None:
    """Two versions over sixty threads: eight calls at once, as with one, and all are heard."""

    models = Models()
    full = asyncio.Event()

    async def together(request: ExtractionRequest) -> str:
        # Nobody is answered before all places are taken, however slow the machine is.
        if models.heard.most_at_once >= 8:
            full.set()
        async with asyncio.timeout(30):
            await full.wait()
        await asyncio.sleep(0.02)
        return await reply(request)

    for number in range(59):
        await put_thread(state, PREFERENCE, name=str(number))
    models.heard = ScriptedExtraction(together)
    reports = await lanes(state, models).consolidate(only=None)
    assert [one.phase1.succeeded for one in reports.values()] == [60, 60]
    assert models.heard.most_at_once == 8
