"""Sessions longer than any window, and rows that outlive their sessions by long."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.allowance import day_of
from memory_write.phase1.output import Extracted
from memory_write.phase1.parts import joined, parts_of
from memory_write.phase1.run import Phase1
from memory_write.ports import (
    ExtractionModel,
    ExtractionReply,
    ExtractionRequest,
    ModelChoice,
    ModelUse,
)
from memory_write.recipes import V1
from state.policy.density import dense_tokens
from state.recovery import State
from state.stores.jobs import Claimed
from tests.room.memory_write.test_field_checks import THIRDS, session
from tests.support.clock import ManualClock
from tests.support.learning import Announced, OpenQuota, ScriptedModels, opened, put_thread
from tests.support.rollout_files import message
from tests.support.transcripts import typed


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home with nothing in it."""
    async with opened(tmp_path / "home", ManualClock()) as opened_state:
        yield opened_state


async def hear(state: State, model: ExtractionModel, version: str) -> int:
    """One ordered pass; how many were learned."""
    phase1 = Phase1(
        state, ScriptedModels(model), OpenQuota(), Announced(), MemorySettings(version=version)
    )
    report = await phase1.run_pass(current_thread=None, busy=frozenset(), everything=True)
    return report.succeeded


class Each:
    """Extracts the decisions it sees in what it is sent, one task each."""

    def __init__(self, version: str) -> None:
        self._version = version
        self.sent: list[str] = []

    async def window_tokens(self, model: ModelChoice) -> int | None:
        """A small one."""
        return 60_000

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """One reply in the strict shape."""
        self.sent.append(request.input_text)
        seen = [one for one in THIRDS if one in request.input_text]
        reply = {"rollout_summary": "\n".join(seen), "rollout_slug": "long"}
        if self._version == "v1":
            tasks = "\n\n".join(f"### Task {n}: x\n\n- {one}" for n, one in enumerate(seen, 1))
            reply["raw_memory"] = f"---\ntask: long\n---\n\n{tasks}" if seen else ""
        if not seen:
            reply = dict.fromkeys(reply, "")
        return ExtractionReply(text=json.dumps(reply), use=ModelUse(input_tokens=10))


@pytest.mark.requirement("FR-E1")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_what_was_said_alone_exceeds_the_window_and_nothing_of_it_is_lost(
    state: State, version: str
) -> None:
    """Heard in parts that each fit; three decisions of three thirds are kept, in one output."""
    talk = [f"{number} of this long report that I type in here. " * 12 for number in range(800)]
    for place, decision in zip((130, 400, 670), THIRDS, strict=True):
        talk[place] = decision
    thread = await session(state, "talk", *(message("user", one) for one in talk))
    model = Each(version)
    assert await hear(state, model, version) == 1
    assert 2 < len(model.sent) <= Phase1Limits().parts_max
    assert all(dense_tokens(one) < 60_000 for one in model.sent)
    async with state.database.reading() as read:
        output = await state.outputs.get(read, version, thread)
        spent = await state.spending.total(
            read, day=day_of(state.clock.now_ms()), kind="extraction"
        )
    assert output is not None and spent == 10 * len(model.sent)
    for decision in THIRDS:
        assert output.rollout_summary.count(decision) == 1
    assert "in part" not in output.rollout_summary
    if version == "v1":
        tasks = [line for line in output.raw_memory.splitlines() if line.startswith("### Task")]
        assert [line.split()[2] for line in tasks] == ["1:", "2:", "3:"]
        assert output.raw_memory.count("\n---\n") == 1


@pytest.mark.requirement("FR-E1")
def test_of_more_parts_than_are_heard_start_middle_and_end_are_and_it_is_told() -> None:
    """Bounded, and what comes of it says that it is not all."""
    heard = typed(*(f"part {number} " + "word " * 400 for number in range(60)))
    items = tuple(replace(one, raw={"role": "user", "content": one.text}) for one in heard.items)
    heard = replace(heard, items=items)
    parts = parts_of(heard, V1, tokens_max=1_000, parts_max=3)
    assert (len(parts.parts), parts.is_whole) == (3, False) and parts.total > 20
    places = [part.items[0].text.split()[1] for part in parts.parts]
    assert places[0] == "0" and 20 <= int(places[1]) <= 40 and int(places[2]) >= 56
    said = Extracted(rollout_summary="a", rollout_slug=None, raw_memory="b")
    assert f"heard in part: 3 of {parts.total} parts" in joined([said] * 3, parts).rollout_summary


@pytest.mark.requirement("FR-E1")
async def test_a_session_that_was_given_up_may_be_heard_after_an_upgrade(state: State) -> None:
    """Other rules, full tries; the same rules change nothing."""
    thread = await session(state, "long", message("user", "x " * 400))
    for _ in range(3):
        async with state.database.writing() as tx:
            claimed = await state.jobs.claim_extraction(
                tx, version="v1", thread_id=thread, watermark_ms=5, lease_s=9, running_max=9
            )
            assert isinstance(claimed, Claimed)
            await state.jobs.fail(
                tx, claimed.claim, reason="too_long", retry_at_ms=0, uses_retry=True
            )
    for rules, left in (("1", 0), ("1", 0), ("2", 3)):
        async with state.database.writing() as tx:
            await state.jobs.reopen_given_up(tx, version="v1", rules=rules)
            job = await state.jobs.get(tx, version="v1", kind="extraction", key=thread)
        assert job is not None and job.attempts_left == left


@pytest.mark.requirement("MW-9-23")
async def test_rows_of_jobs_go_with_their_threads_and_after_a_year(state: State) -> None:
    """A few at a time; those of threads that are there and not so old stay."""
    threads = [await put_thread(state, f"number {number}") for number in range(3)]
    async with state.database.writing() as tx:
        for thread_id in threads:
            claimed = await state.jobs.claim_extraction(
                tx, version="v1", thread_id=thread_id, watermark_ms=5, lease_s=9, running_max=9
            )
            assert isinstance(claimed, Claimed)
            await state.jobs.succeed(tx, claimed.claim, outcome="empty:greeting")
        await state.threads.delete(tx, threads[0])
    now_ms, left = state.clock.now_ms(), []
    for before_ms in (now_ms - 1_000, now_ms + 1_000):
        async with state.database.writing() as tx:
            await state.threads.touch(tx, threads[2], updated_at_ms=now_ms + 5_000)
            await state.jobs.prune(tx, version="v1", before_ms=before_ms, rows_max=2)
            left.append({one.key for one in await state.jobs.list(tx, version="v1", limit=9)})
    assert left == [set(threads[1:]), {threads[2]}]
