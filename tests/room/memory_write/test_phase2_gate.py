"""What the gate lets through and what it refuses: other providers, people, failures, claims."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_read.snapshot import MemorySnapshot
from memory_read.withheld import OPEN
from memory_write.limits import MemorySettings, Phase2Limits
from memory_write.offline.consolidation import OfflineConsolidator
from memory_write.ports import (
    ConsolidationReport,
    ConsolidationRequest,
    ConsolidationStep,
    ModelUse,
)
from memory_write.recipes import RECIPES, template
from state.recovery import State
from state.stores.outputs import Output
from state.stores.withdrawal import change_memory_mode
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, job_of, phase2_of, put_output
from tests.support.consolidators import SUMMARY, ScriptedConsolidator, Tools, write_well
from tests.support.learning import Announced, opened, put_thread

RAW = """---
description: work
task: work {number}
task_group: shop
task_outcome: success
cwd: /home/ada/shop
keywords: shop
---

### Task 1: work

Preference signals:

- the user said: "keep number {number} tidy" -> keep shelf number {number} tidy and labelled

Reusable knowledge:

- shelf {number} is refilled with the command make shelf-{number}
"""


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", ManualClock()) as state:
        yield state


async def _shelves(state: State, count: int) -> None:
    for number in range(count):
        thread_id = await put_thread(state, f"shelf {number}", idle_hours=20 - number)
        async with state.database.writing() as tx:
            row = await state.threads.get(tx, thread_id)
            assert row is not None
            await state.outputs.put(
                tx,
                Output(
                    version="v1",
                    thread_id=thread_id,
                    source_updated_at_ms=row.updated_at_ms,
                    raw_memory=RAW.format(number=number),
                    rollout_summary=f"# Shelf {number}\n\n- it is tidy",
                    rollout_slug="shelf",
                    generated_at_ms=state.clock.now_ms(),
                ),
            )
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=row.updated_at_ms)


async def words_of_its_own(tools: Tools, request: ConsolidationRequest) -> None:
    """Cites everything and says it in prose that no input has."""
    blocks = []
    for path, thread_id in await tools.recaps():
        prose = " ".join(f"elaborate{thread_id[-2:]}{word}" for word in range(60))
        blocks.append(
            f"# Task Group: prose {thread_id[-4:]}\n\nscope: work\n"
            "applies_to: cwd=/home/ada/shop; reuse_rule=here\n\n## Task 1: work, success\n\n"
            f"### rollout_summary_files\n\n- {path} (thread_id={thread_id})\n\n"
            f"## Reusable knowledge\n\n- {prose} [Task 1]\n"
        )
    await tools("write", path="MEMORY.md", content="\n".join(blocks))
    await tools("write", path="memory_summary.md", content=SUMMARY)


@pytest.mark.requirement("FR-C7")
async def test_another_provider_may_word_memory_anew_when_it_says_no_less(state: State) -> None:
    """From a model to the rules, with which hardly a word stays: not refused, and not for ever."""
    await _shelves(state, 4)
    model = phase2_of(state, ScriptedConsolidator(words_of_its_own))
    assert (await model.run(ignore_cooldown=True)).status == "published"
    await put_output(state, "the user wants small commits")
    offline = phase2_of(state, OfflineConsolidator())
    report = await offline.run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("published", None)
    handbook = (state.home.memories("v1") / "MEMORY.md").read_text()
    assert "elaborate" not in handbook
    assert "make shelf-3" in handbook


@pytest.mark.requirement("FR-C7")
async def test_a_consolidator_that_only_loses_is_refused_though_it_cites_everything(
    state: State,
) -> None:
    await _shelves(state, 4)
    offline = phase2_of(state, OfflineConsolidator())
    assert (await offline.run(ignore_cooldown=True)).status == "published"
    await put_output(state, "the user wants small commits")
    before = contents(state.home.memories("v1"))

    async def loses(tools: Tools, request: ConsolidationRequest) -> None:
        pointers = [f"- {path} (thread_id={one})" for path, one in await tools.recaps()]
        text = "# Task Group: shop\n\n## Task 1: all\n\n" + "\n".join(pointers) + "\n"
        await tools("write", path="MEMORY.md", content=text)

    report = await phase2_of(state, ScriptedConsolidator(loses)).run(ignore_cooldown=True)
    assert report.status == "failed"
    assert report.reason is not None and "share_removed in MEMORY.md" in report.reason
    assert contents(state.home.memories("v1")) == before


@pytest.mark.requirement("FR-C10")
async def test_an_undone_merge_is_named_kept_and_not_served(state: State) -> None:
    await put_output(state, "the user wants small commits")
    assert (
        await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    ).status == "published"
    live = state.home.memories("v1")
    merged = SUMMARY.replace(
        "- Small commits.", "<<<<<<< ours\n- Small commits.\n=======\n- Large ones.\n>>>>>>> theirs"
    )
    (live / "memory_summary.md").write_text(merged)
    await put_output(state, "the checks run with make check")
    agent = ScriptedConsolidator(write_well)
    announced = Announced()
    report = await phase2_of(state, agent, announce=announced).run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "conflict: memory_summary.md")
    assert agent.requests == []
    assert (live / "memory_summary.md").read_text() == merged, "nobody undoes a person's merge"
    assert announced.all[-1].data["reason"] == "conflict: memory_summary.md"
    assert (await job_of(state)).reason == "conflict: memory_summary.md"
    served = MemorySnapshot(state.home, "v1", OPEN).summary()
    assert served == SUMMARY, "the last good one is served"
    (live / "memory_summary.md").write_text(SUMMARY.replace("Small", "Large"))
    async with state.database.writing() as tx:
        await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=0)
    again = await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    assert again.status == "published"


@pytest.mark.requirement("FR-C2")
async def test_nothing_to_remember_is_no_success_while_nothing_could_be_heard(
    state: State,
) -> None:
    for number in range(5):
        thread_id = await put_thread(state, f"thread {number}")
        async with state.database.writing() as tx:
            row = await state.threads.get(tx, thread_id)
            assert row is not None
            claimed = await state.jobs.claim_extraction(
                tx,
                version="v1",
                thread_id=thread_id,
                watermark_ms=row.updated_at_ms,
                lease_s=60,
                running_max=8,
            )
            await state.jobs.fail(
                tx,
                claimed.claim,  # type: ignore[union-attr]
                reason="timeout",
                retry_at_ms=state.clock.now_ms() + 60_000,
                uses_retry=False,
            )
    agent = ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("failed", "no_extraction_succeeded: 0 of 5")
    assert report.retry_at_ms is not None and report.retry_at_ms > state.clock.now_ms()
    assert agent.requests == []
    assert (await job_of(state)).status == "failed"


@pytest.mark.requirement("FR-C13")
async def test_nothing_worth_keeping_is_another_end_than_a_model_that_is_down(
    state: State,
) -> None:
    report = await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    assert (report.status, report.reason) == ("unchanged", "nothing_selected")
    assert (await job_of(state)).outcome == "nothing_selected"


async def test_what_an_agent_used_that_never_ended_is_recorded(tmp_path: Path) -> None:
    """Capped from outside or cancelled: its last step says what it cost."""
    clock = ManualClock()
    async with opened(tmp_path / "home", clock) as state:
        await put_output(state, "the user wants small commits")
        began = asyncio.Event()

        class Endless:
            async def run(self, request: ConsolidationRequest) -> ConsolidationReport:
                use = ModelUse(input_tokens=700, output_tokens=77)
                request.progress(ConsolidationStep(model_calls=1, tool_calls=2, use=use))
                began.set()
                await asyncio.Event().wait()
                raise AssertionError

        settings = MemorySettings(phase2=replace(Phase2Limits(), heartbeat_s=3_600, lease_s=7_200))
        announced = Announced()
        phase2 = phase2_of(state, Endless(), settings=settings, announce=announced)
        task = asyncio.ensure_future(phase2.run(ignore_cooldown=True))
        await asyncio.wait_for(began.wait(), 5)
        clock.advance(1_300)
        report = await asyncio.wait_for(task, 5)
        assert (report.status, report.reason) == ("failed", "capped:seconds")
        assert report.use.total_tokens == 777
        began.clear()
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=0)
        task = asyncio.ensure_future(phase2.run(ignore_cooldown=True))
        await asyncio.wait_for(began.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        day = "2026-11-18"
        async with state.database.reading() as read:
            assert await state.spending.total(read, day=day, kind="consolidation") == 2 * 777
        steps = [one.data for one in announced.all if one.data.get("step") == "consolidating"]
        assert steps[0]["inputTokens"] == 700
        assert all(isinstance(value, int) for key, value in steps[0].items() if key != "step")


async def test_a_withdrawal_during_a_run_is_not_lost_with_its_success(state: State) -> None:
    """Whatever the order, the job waits again, and without a cooldown."""
    staying = await put_output(state, "the user wants small commits")

    async def bars(tools: Tools, request: ConsolidationRequest) -> None:
        await write_well(tools, request)
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(
                tx, version="v1", watermark_ms=state.clock.now_ms(), urgent=True
            )

    report = await phase2_of(state, ScriptedConsolidator(bars)).run(ignore_cooldown=True)
    assert report.status == "published"
    assert (await job_of(state)).status == "pending"
    async with state.database.writing() as tx:
        await change_memory_mode(
            tx,
            threads=state.threads,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=staying,
            mode="disabled",
            now_ms=state.clock.now_ms(),
        )
    again = await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=False)
    assert again.withdrawn


@pytest.mark.requirement("FR-K3")
async def test_a_short_session_beside_many_old_ones_may_cost_little(state: State) -> None:
    """What a run may spend grows with what is new, not with what is there."""
    for number in range(200):
        await put_output(state, f"old statement {number} " + "word " * 40)
    agent = ScriptedConsolidator(write_well)
    phase2 = phase2_of(state, agent)
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    await put_output(state, "a short one " * 130)
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    first, second = (request.budget.tokens_max for request in agent.requests)
    limits = Phase2Limits()
    assert first == limits.tokens_max
    assert second < limits.tokens_base + 3_000 * limits.tokens_per_new


CLAIMS = {
    "an input was changed": "test_an_input_changed_behind_the_tools_is_noticed",
    "is missing": "test_an_unsound_result_is_refused_with_its_reason",
    "the wrong form": "test_an_unsound_result_is_refused_with_its_reason",
    "10,000 bytes or more": "too_large in memory_summary.md",
    "a secret stands in": "test_an_unsound_result_is_refused_with_its_reason",
    "a topic is gone although": "test_an_unsound_result_is_refused_with_its_reason",
    "most of what stood there is gone": "test_a_consolidator_that_only_loses_is_refused",
    "memory stays as it was": "test_an_unsound_result_is_refused_with_its_reason",
    "It leaves out the name of a recap or thread": "test_names_of_no_input_are_left_out",
    "It cuts the lines that only inputs that are gone had supported": (
        "test_nothing_of_a_thread_that_went_is_left_after_the_next_pass"
    ),
}
PROMISES = re.compile(
    r"\b(?:restor|recover|undo|undone|rollback|rolled back|roll back|backup|backed up|history|"
    r"harmless|safe to delete|can be brought back|reversib)\w*",
    re.IGNORECASE,
)
ALLOWED = frozenset({"history"})


@pytest.mark.requirement("FR-C8")
@pytest.mark.parametrize("version", RECIPES)
def test_a_prompt_claims_of_the_code_only_what_a_test_holds(version: str) -> None:
    """Each sentence on how a result is judged, and no word of a way back that there is not."""
    recipe = RECIPES[version]
    text = template(recipe.consolidation_instructions)
    judged = text[text.index("# How it is judged") :]
    tests = "".join(
        path.read_text() for path in Path(__file__).parents[2].glob("*/memory_write/test_*.py")
    )
    for bullet in re.findall(r"^- (.+)$", judged, re.MULTILINE):
        claims = [claim for claim in CLAIMS if claim in bullet]
        assert claims, bullet
        for claim in claims:
            assert CLAIMS[claim] in tests, claim
    names = (
        recipe.consolidation_instructions,
        recipe.consolidation_task,
        recipe.consolidation_extensions,
        recipe.consolidation_repair,
    )
    found = {word.lower() for name in names for word in PROMISES.findall(template(name))}
    assert found <= ALLOWED
    assert "no history that you could go back to" in text


@pytest.mark.requirement("FR-C5")
async def test_what_a_person_wrote_or_took_out_is_not_undone_by_a_consolidator(
    state: State,
) -> None:
    """One that writes everything anew from the inputs, twice."""
    await put_output(state, "the user wants small commits")
    phase2 = phase2_of(state, ScriptedConsolidator(write_well))
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    handbook = state.home.memories("v1") / "MEMORY.md"
    summary = state.home.memories("v1") / "memory_summary.md"
    taken_out = "- the user wants small commits"
    text = handbook.read_text()
    assert taken_out in text
    handbook.write_text(text.replace(taken_out, "- Ask Ada before a release on Fridays."))
    summary.write_text(SUMMARY.replace("- Small commits.", "- Small commits.\n- Tea, not coffee."))
    await put_output(state, "the checks run with make check")
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    assert "- Ask Ada before a release on Fridays." in handbook.read_text()
    assert taken_out not in handbook.read_text()
    assert "- Tea, not coffee." in summary.read_text()
    assert "make check" in handbook.read_text()
    await put_output(state, "titles are short")
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    assert "- Ask Ada before a release on Fridays." in handbook.read_text()
    assert summary.read_text().count("- Tea, not coffee.") == 1
    handbook.write_text(handbook.read_text().replace("- Ask Ada before a release on Fridays.", ""))
    await put_output(state, "names are long")
    assert (await phase2.run(ignore_cooldown=True)).status == "published"
    assert "Ask Ada" not in handbook.read_text(), "the person took it out again"
