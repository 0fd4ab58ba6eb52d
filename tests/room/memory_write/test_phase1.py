"""Threads are heard once for each of their states, and every claimed one ends in one way.

Longer than the habit: the outcomes of one job are read side by side.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_write.limits import DailyBudget, MemorySettings, Phase1Limits
from memory_write.phase1.allowance import day_of
from memory_write.phase1.report import Phase1Report
from memory_write.phase1.run import Phase1
from memory_write.ports import ExtractionRequest, ModelFailed, ModelUse
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import Claimed, JobRow
from state.stores.outputs import Output
from tests.support.clock import ManualClock
from tests.support.faults import RecordedSteps
from tests.support.learning import (
    EMPTY_REPLY,
    GOOD_REPLY,
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)

SECRET = "ghp_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6"


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home with nothing in it."""
    async with opened(tmp_path, ManualClock()) as opened_state:
        yield opened_state


def clock_of(state: State) -> ManualClock:
    """The clock that the tests move."""
    assert isinstance(state.clock, ManualClock)
    return state.clock


class Bench:
    """A phase 1 with everything around it scripted."""

    def __init__(
        self,
        state: State,
        model: ScriptedExtraction | None = None,
        *,
        limits: Phase1Limits | None = None,
        settings: MemorySettings | None = None,
        steps: RecordedSteps | None = None,
    ) -> None:
        self.state = state
        self.model = model or ScriptedExtraction()
        self.models = ScriptedModels(self.model)
        self.quota = OpenQuota()
        self.announced = Announced()
        self.steps = steps or RecordedSteps()
        self.settings = settings or MemorySettings()
        if limits is not None:
            self.settings = replace(self.settings, phase1=limits)
        self.phase1 = Phase1(
            state, self.models, self.quota, self.announced, self.settings, self.steps
        )

    async def automatic(
        self, *, busy: frozenset[ThreadId] = frozenset(), current: ThreadId | None = None
    ) -> Phase1Report:
        """A pass of the scheduler's own."""
        return await self.phase1.run_pass(current_thread=current, busy=busy, everything=False)

    async def everything(self, *, only: ThreadId | None = None) -> Phase1Report:
        """A pass that a person ordered."""
        return await self.phase1.run_pass(
            current_thread=None, busy=frozenset(), everything=only is None, only=only
        )

    async def output(self, thread_id: ThreadId) -> Output | None:
        """What is stored of a thread."""
        async with self.state.database.reading() as read:
            return await self.state.outputs.get(read, "v1", thread_id)

    async def job(self, key: str, kind: str = "extraction") -> JobRow | None:
        """A job's row."""
        async with self.state.database.reading() as read:
            rows = await self.state.jobs.list(read, version="v1", limit=1_000)
        return next((row for row in rows if (row.kind, row.key) == (kind, key)), None)

    async def consolidation(self) -> JobRow | None:
        """The row of the one consolidation."""
        return await self.job("global", "consolidation")

    async def spent(self) -> int:
        """Tokens in the ledger of this day and the next few."""
        async with self.state.database.reading() as read:
            row = await self.state.spending.rows(read, day=_day(self.state))
        return sum(one.input_tokens + one.output_tokens for one in row)


def _day(state: State) -> str:
    return day_of(state.clock.now_ms())


async def test_an_idle_thread_becomes_an_output(state: State) -> None:
    """Output, end of the job, word to the consolidation and spending appear together."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state)
    report = await bench.automatic()
    assert (report.claimed, report.succeeded, report.failures) == (1, 1, 0)
    assert report.use == ModelUse(input_tokens=900, cached_input_tokens=100, output_tokens=100)
    output = await bench.output(thread_id)
    assert output is not None
    assert output.rollout_slug == "linter_first"
    job = await bench.job(thread_id)
    assert job is not None and (job.status, job.outcome) == ("done", "learned")
    handed_on = await bench.consolidation()
    assert handed_on is not None and handed_on.status == "pending"
    assert await bench.spent() == 1_000
    assert bench.steps.seen == [
        "phase1/claimed",
        "phase1/heard",
        "phase1/extracted",
        "phase1/before_store",
        "phase1/stored",
    ]
    assert bench.announced.outcomes() == ["learned"]


@pytest.mark.requirement("MW-8.2-live-settings")
async def test_the_request_holds_the_session_and_the_strict_schema(state: State) -> None:
    """And the provider and model of the thread itself."""
    await put_thread(state, PREFERENCE)
    bench = Bench(state)
    await bench.automatic()
    (request,) = bench.model.requests
    assert PREFERENCE in request.input_text
    assert "/home/ada/shop" in request.input_text
    assert request.output_schema["required"] == [
        "rollout_summary",
        "rollout_slug",
        "raw_memory",
    ]
    assert (request.model.provider, request.model.model, request.model.effort) == (
        "acme",
        "acme-1",
        "low",
    )
    assert request.model.service_tier is None


@pytest.mark.requirement("MW-8.2-live-settings")
@pytest.mark.parametrize("imported", [False, True])
async def test_an_extraction_asks_under_the_service_tier_of_the_thread_s_last_turn(
    state: State, imported: bool
) -> None:
    """One of the program that a thread came from means nothing here."""
    thread_id = await put_thread(state, PREFERENCE, imported=imported)
    async with state.database.reading() as read:
        row = await state.threads.get(read, thread_id)
    assert row is not None
    with (state.home.root / row.rollout_path).open("a") as file:
        for tier in ("priority", "flex"):
            line = {"type": "turn_context", "payload": {"model": "m", "service_tier": tier}}
            file.write(json.dumps(line) + "\n")
    bench = Bench(state)
    await bench.everything(only=thread_id)
    assert bench.model.requests[0].model.service_tier == (None if imported else "flex")


@pytest.mark.requirement("FR-G1", "MW-8.2-models")
async def test_an_imported_thread_is_heard_by_the_configured_default(state: State) -> None:
    """Its provider is one of the program that it came from."""
    thread_id = await put_thread(state, PREFERENCE, imported=True)
    bench = Bench(state)
    await bench.everything(only=thread_id)
    assert bench.models.providers == [None]
    assert bench.model.requests[0].model.model is None


async def test_a_thread_is_not_heard_twice_until_it_changes(state: State) -> None:
    """The second pass finds nothing to do."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state)
    await bench.automatic()
    assert (await bench.automatic()).claimed == 0
    again = await bench.everything(only=thread_id)
    assert (again.claimed, again.skipped) == (0, {"up_to_date": 1})
    assert len(bench.model.requests) == 1


@pytest.mark.requirement("FR-E9")
async def test_thirty_greetings_cost_nothing_and_leave_nothing(state: State) -> None:
    """They end as empty, which is not a failure, and no consolidation is asked for."""
    for number in range(30):
        await put_thread(state, "hi", "thanks, bye", name=str(number))
    bench = Bench(state)
    report = await bench.everything()
    assert (report.claimed, report.empty, report.succeeded) == (30, 30, 0)
    assert bench.model.requests == []
    assert await bench.consolidation() is None
    assert {one.data["reason"] for one in bench.announced.all if "reason" in one.data} == {
        "small_talk"
    }


@pytest.mark.requirement("FR-C13", "FR-G4")
async def test_nothing_worth_keeping_is_told_apart_from_a_model_that_is_down(
    state: State,
) -> None:
    """Two states with counts and reasons of their own."""
    empty = await put_thread(state, PREFERENCE, idle_hours=8)
    down = await put_thread(state, PREFERENCE, idle_hours=9)
    bench = Bench(state, ScriptedExtraction(EMPTY_REPLY, ModelFailed("outage", transient=True)))
    bench = Bench(state, bench.model, limits=Phase1Limits(concurrent_max=1, claims_per_wake_max=2))
    report = await bench.automatic()
    assert (report.empty, report.failed) == (1, {"model:outage": 1})
    first, second = await bench.job(empty), await bench.job(down)
    assert first is not None and (first.status, first.outcome) == ("done", "empty:nothing_kept")
    assert second is not None and (second.status, second.reason) == ("failed", "model:outage")


@pytest.mark.requirement("MW-8.1-nothing-now")
async def test_an_empty_result_removes_what_was_kept_before(state: State) -> None:
    """And tells the consolidation, only then."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state, ScriptedExtraction(GOOD_REPLY, EMPTY_REPLY))
    await bench.automatic()
    before = await bench.consolidation()
    clock_of(state).advance(48 * 3_600)
    async with state.database.writing() as tx:
        await state.threads.touch(
            tx, thread_id, updated_at_ms=state.clock.now_ms() - 10 * 3_600_000
        )
    assert (await bench.automatic()).empty == 1
    assert await bench.output(thread_id) is None
    after = await bench.consolidation()
    assert before is not None and after is not None
    assert (after.watermark_ms or 0) > (before.watermark_ms or 0)


@pytest.mark.requirement("FR-E5", "MW-F-invalid-output")
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("The user likes linters.", "bad_output:prose"),
        ("{}", "bad_output:empty_object"),
        (json.dumps(json.loads(GOOD_REPLY) | {"more": 1}), "bad_output:extra_keys"),
        (GOOD_REPLY[:-20], "bad_output:cut"),
        ("", "bad_output:nothing"),
        ("x" * 5_000_000, "bad_output:too_large"),
    ],
)
async def test_bad_output_is_never_stored(state: State, reply: str, reason: str) -> None:
    """The job fails with its reason, a delay and one retry less; what it cost is known."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state, ScriptedExtraction(reply))
    report = await bench.automatic()
    assert report.failed == {reason: 1}
    job = await bench.job(thread_id)
    assert job is not None
    assert (job.status, job.reason, job.attempts_left) == ("failed", reason, 2)
    assert job.retry_at_ms == state.clock.now_ms() + 3_600_000
    assert await bench.output(thread_id) is None
    assert await bench.consolidation() is None
    assert await bench.spent() == 1_000


@pytest.mark.requirement("FR-E5", "MW-F-invalid-output")
async def test_retries_of_bad_output_are_capped(state: State) -> None:
    """Three times in all, an hour apart; then only a change of the thread counts."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state, ScriptedExtraction("prose"))
    for _ in range(6):
        await bench.automatic()
        clock_of(state).advance(3_601)
    assert len(bench.model.requests) == 3
    job = await bench.job(thread_id)
    assert job is not None and job.attempts_left == 0


@pytest.mark.requirement("FR-C2", "MW-F-outage")
async def test_transient_failures_use_no_retry_and_wait_longer_each_time(state: State) -> None:
    """Whoever asks sees how many failed, why, and when the next try comes."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state, ScriptedExtraction(ModelFailed("timeout", transient=True)))
    waits: list[int] = []
    for _ in range(4):
        report = await bench.automatic()
        assert report.failed == {"model:timeout": 1}
        job = await bench.job(thread_id)
        assert job is not None and job.attempts_left == 3 and job.retry_at_ms is not None
        waits.append(job.retry_at_ms - state.clock.now_ms())
        assert (await bench.automatic()).claimed == 0
        clock_of(state).advance(waits[-1] / 1_000 + 1)
    assert waits == sorted(waits) and waits[-1] > 6 * waits[0]


async def test_an_outage_ends_the_claims_of_an_automatic_pass(state: State) -> None:
    """The rest of the threads is not sent into the same wall."""
    for number in range(5):
        await put_thread(state, PREFERENCE, name=str(number))
    model = ScriptedExtraction(ModelFailed("outage", transient=True))
    limits = Phase1Limits(claims_per_wake_max=5, concurrent_max=1)
    report = await Bench(state, model, limits=limits).automatic()
    assert (report.claimed, report.stopped_by) == (1, "model_unavailable")


async def test_a_call_without_an_answer_ends_at_its_cap(state: State) -> None:
    """As a transient failure, like any outage."""

    async def never(request: ExtractionRequest) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    await put_thread(state, PREFERENCE)
    bench = Bench(state, ScriptedExtraction(never), limits=Phase1Limits(call_seconds_max=0))
    assert (await bench.automatic()).failed == {"model:timeout": 1}


async def test_a_prompt_that_is_too_long_is_halved_once(state: State) -> None:
    """And never sent again as it was."""
    too_long = ModelFailed("context_window", transient=False, too_long=True)
    thread_id = await put_thread(state, PREFERENCE + " word" * 20_000)
    bench = Bench(state, ScriptedExtraction(too_long, GOOD_REPLY, too_long))
    assert (await bench.automatic()).succeeded == 1
    first, second = (len(request.input_text) for request in bench.model.requests)
    assert second < 0.6 * first
    async with state.database.writing() as tx:
        await state.threads.touch(tx, thread_id, updated_at_ms=state.clock.now_ms())
    report = await bench.everything(only=thread_id)
    assert report.failed == {"too_long": 1}
    assert len(bench.model.requests) == 4


@pytest.mark.requirement("MW-8.3-truncated")
async def test_the_conversation_is_cut_to_its_share_of_the_window(state: State) -> None:
    """Head and tail stay."""
    await put_thread(state, "FIRST " + "x" * 200_000 + " LAST")
    bench = Bench(state, ScriptedExtraction(window=10_000))
    await bench.automatic()
    text = bench.model.requests[0].input_text
    assert "FIRST" in text and "LAST" in text and "tokens truncated" in text
    assert len(text) < 4 * 7_000 + 2_000


@pytest.mark.requirement("MW-8.2-redacted-upload", "MW-F-model-secrets")
async def test_secrets_reach_neither_the_model_nor_the_store(state: State) -> None:
    """Also when the model makes one up or puts one back together."""
    reply = json.dumps(
        {
            "rollout_summary": f"# Uses {SECRET}",
            "rollout_slug": "slug",
            "raw_memory": f"key {SECRET}",
        }
    )
    thread_id = await put_thread(state, f"Always use the key {SECRET} for pushes.")
    bench = Bench(state, ScriptedExtraction(reply))
    await bench.automatic()
    assert SECRET not in bench.model.requests[0].input_text
    output = await bench.output(thread_id)
    assert output is not None
    assert SECRET not in output.raw_memory + output.rollout_summary


async def test_a_provider_s_words_are_cut_and_redacted_before_they_stand_with_a_job(
    state: State,
) -> None:
    """Some repeat the credential that they refuse; the report counts by class."""
    refused = ModelFailed(f"unauthorized: key {SECRET} {'x' * 5_000}", transient=False)
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state, ScriptedExtraction(refused))
    assert (await bench.automatic()).failed == {"model:unauthorized": 1}
    job = await bench.job(thread_id)
    assert job is not None and job.reason is not None
    assert SECRET not in job.reason and len(job.reason) < 400


@pytest.mark.requirement("MW-8.1-enabled-only")
@pytest.mark.parametrize("mode", ["disabled", "polluted"])
async def test_threads_that_may_not_become_memory_are_never_claimed(
    state: State, mode: str
) -> None:
    """Neither by the scheduler nor on order."""
    thread_id = await put_thread(state, PREFERENCE, mode=mode)
    bench = Bench(state)
    assert (await bench.automatic()).claimed == 0
    assert (await bench.everything()).claimed == 0
    assert (await bench.everything(only=thread_id)).skipped == {mode: 1}


async def test_busy_and_current_threads_are_not_claimed(state: State) -> None:
    """A thread in a turn is left alone, on order too; the current one by the scheduler only."""
    busy = await put_thread(state, PREFERENCE, idle_hours=8)
    current = await put_thread(state, PREFERENCE, idle_hours=9)
    bench = Bench(state)
    assert (await bench.automatic(busy=frozenset({busy}), current=current)).claimed == 0
    report = await bench.phase1.run_pass(
        current_thread=current, busy=frozenset({busy}), everything=True
    )
    assert (report.claimed, report.skipped) == (1, {"busy": 1})
    assert await bench.output(current) is not None


async def test_a_thread_that_began_a_turn_since_is_left_alone(state: State) -> None:
    """The claim asks once more."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state)
    report = await bench.phase1.run_pass(
        current_thread=None,
        busy=frozenset(),
        everything=True,
        busy_now=lambda: frozenset({thread_id}),
    )
    assert (report.claimed, report.skipped) == (0, {"busy": 1})


async def test_windows_bind_the_scheduler_and_not_an_order(state: State) -> None:
    """Too fresh and too old ones wait for an order."""
    await put_thread(state, PREFERENCE, idle_hours=1)
    await put_thread(state, PREFERENCE, idle_hours=24 * 40)
    bench = Bench(state)
    assert (await bench.automatic()).claimed == 0
    assert (await bench.everything()).succeeded == 2


async def test_an_automatic_pass_claims_a_few_and_says_that_there_is_more(state: State) -> None:
    """The next pass goes on; the last one says that it was the last."""
    for number in range(5):
        await put_thread(state, PREFERENCE, name=str(number))
    bench = Bench(state, limits=Phase1Limits(claims_per_wake_max=2))
    passes = [await bench.automatic() for _ in range(3)]
    assert [one.claimed for one in passes] == [2, 2, 1]
    assert [one.more for one in passes] == [True, True, False]


async def test_no_more_run_at_once_than_allowed(state: State) -> None:
    """However many wait."""

    three = asyncio.Barrier(3)

    async def together(request: ExtractionRequest) -> str:
        await asyncio.wait_for(three.wait(), 5)
        return GOOD_REPLY

    for number in range(12):
        await put_thread(state, PREFERENCE, name=str(number))
    bench = Bench(state, ScriptedExtraction(together), limits=Phase1Limits(concurrent_max=3))
    assert (await bench.everything()).succeeded == 12
    assert bench.model.most_at_once == 3


async def test_a_quota_that_refuses_stops_all_claims(state: State) -> None:
    """With its reason, and nothing is spent."""
    await put_thread(state, PREFERENCE)
    bench = Bench(state)
    bench.quota.reason = "rate_limit"
    report = await bench.automatic()
    assert (report.claimed, report.stopped_by) == (0, "quota:rate_limit")
    assert bench.model.requests == []


async def test_a_persons_order_does_not_wait_for_the_quota(state: State) -> None:
    """It is as good as a turn of theirs, which no quota of ours holds back either."""
    await put_thread(state, PREFERENCE)
    bench = Bench(state)
    bench.quota.reason = "rate_limit"
    assert (await bench.everything()).succeeded == 1


@pytest.mark.requirement("FR-K6", "MW-9-20")
async def test_a_budget_for_four_of_ten_jobs_makes_six_wait_for_the_next_day(
    state: State,
) -> None:
    """They wait with the reason, run the next day by themselves, and use no retry."""
    threads = [await put_thread(state, PREFERENCE, name=str(number)) for number in range(10)]
    settings = MemorySettings(budget=DailyBudget(extraction_tokens=4_000))
    bench = Bench(state, settings=settings)
    report = await bench.everything()
    assert (report.succeeded, report.failures, report.skipped) == (4, 0, {"budget": 6})
    assert len(bench.model.requests) == 4
    waiting = [job for one in threads if (job := await bench.job(one)) and job.reason == "budget"]
    assert len(waiting) == 6
    assert all(job.attempts_left == 3 for job in waiting)
    assert (await bench.automatic()).claimed == 0
    clock_of(state).advance(24 * 3_600)
    assert (await bench.automatic()).succeeded == 2


@pytest.mark.requirement("FR-K5", "MW-8.2-usage-sum")
async def test_every_token_is_attributed(state: State) -> None:
    """With job, model and what set it off; the sum is what the model counted."""
    thread_id = await put_thread(state, PREFERENCE)
    bench = Bench(state)
    await bench.automatic()
    async with state.database.reading() as read:
        (row,) = await state.spending.rows(read, day=_day(state))
    assert (row.kind, row.job_key, row.model, row.trigger) == (
        "extraction",
        thread_id,
        "acme-1",
        "scheduler",
    )
    assert (row.input_tokens, row.cached_tokens, row.output_tokens) == (900, 100, 100)


@pytest.mark.requirement("FR-S12")
async def test_a_worker_whose_job_was_taken_over_leaves_no_trace(state: State) -> None:
    """The first holder ends late; its write is refused and the second one's stands."""
    thread_id = await put_thread(state, PREFERENCE)

    async def take_over() -> None:
        clock_of(state).advance(91)
        async with state.database.writing() as tx:
            claimed = await state.jobs.claim_extraction(
                tx,
                version="v1",
                thread_id=thread_id,
                watermark_ms=state.clock.now_ms(),
                lease_s=90,
                running_max=8,
            )
        assert isinstance(claimed, Claimed)

    steps = RecordedSteps(at="phase1/before_store", action=take_over)
    bench = Bench(state, steps=steps, limits=Phase1Limits(heartbeat_s=1_000))
    report = await bench.automatic()
    assert report.failed == {"lease_lost": 1}
    assert await bench.output(thread_id) is None
    assert await bench.spent() == 1_000, "the tokens are spent all the same"
    job = await bench.job(thread_id)
    assert job is not None and job.status == "running"
    assert bench.announced.outcomes() == ["lost"]


async def test_a_thread_disabled_meanwhile_is_not_stored(state: State) -> None:
    """Its job can run again once it is enabled."""
    thread_id = await put_thread(state, PREFERENCE)

    async def disable() -> None:
        async with state.database.writing() as tx:
            await state.threads.set_memory_mode(tx, thread_id, "disabled")

    bench = Bench(state, steps=RecordedSteps(at="phase1/before_store", action=disable))
    report = await bench.automatic()
    assert report.skipped == {"not_enabled": 1}
    assert await bench.output(thread_id) is None
    async with state.database.writing() as tx:
        await state.threads.set_memory_mode(tx, thread_id, "enabled")
    assert (await bench.automatic()).succeeded == 1


@pytest.mark.requirement("MW-F-clean-stop")
async def test_a_cancelled_pass_gives_its_jobs_back(state: State) -> None:
    """No retry is used, and the next pass takes them up although the order is gone."""
    reached = asyncio.Event()

    async def wait(request: ExtractionRequest) -> str:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    thread_id = await put_thread(state, PREFERENCE, idle_hours=24 * 40)
    bench = Bench(state, ScriptedExtraction(wait, GOOD_REPLY))
    task = asyncio.create_task(bench.everything())
    await asyncio.wait_for(reached.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    job = await bench.job(thread_id)
    assert job is not None
    assert (job.status, job.reason, job.attempts_left) == ("failed", "cancelled", 3)
    assert (await bench.automatic()).succeeded == 1


@pytest.mark.requirement("P11", "MW-F-kill-phase1")
@pytest.mark.parametrize(
    "step", ["phase1/claimed", "phase1/heard", "phase1/extracted", "phase1/before_store"]
)
async def test_what_a_killed_owner_left_is_finished_by_the_next(tmp_path: Path, step: str) -> None:
    """At once, without waiting for the lease, and although only an order had wanted it."""
    clock = ManualClock()
    halted = asyncio.Event()

    async def halt() -> None:
        halted.set()
        await asyncio.Event().wait()

    async with opened(tmp_path, clock, "first") as state:
        threads = [
            await put_thread(state, PREFERENCE, idle_hours=24 * 40, name=str(number))
            for number in range(3)
        ]
        bench = Bench(
            state,
            steps=RecordedSteps(at=step, action=halt),
            limits=Phase1Limits(concurrent_max=1),
        )
        task = asyncio.create_task(bench.everything())
        await asyncio.wait_for(halted.wait(), 5)
        # The kill: what the first owner would still do when cancelled is not awaited before
        # the second one has looked.
        async with opened(tmp_path, clock, "second") as after:
            second = Bench(after, limits=Phase1Limits(claims_per_wake_max=8))
            assert (await second.automatic()).succeeded == 3
            for thread_id in threads:
                assert await second.output(thread_id) is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        job = await bench.job(threads[0])
        assert job is not None and job.status == "done"


async def test_a_missing_rollout_fails_its_job_alone(state: State) -> None:
    """With a reason and a delay; the others are heard."""
    gone = await put_thread(state, PREFERENCE, idle_hours=8, name="gone")
    kept = await put_thread(state, PREFERENCE, idle_hours=9, name="kept")
    (state.home.root / "sessions/2026/01/01/rollout-gone.jsonl").unlink()
    bench = Bench(state)
    report = await bench.everything()
    assert (report.succeeded, report.failed) == (1, {"rollout_missing": 1})
    job = await bench.job(gone)
    assert job is not None and (job.status, job.attempts_left) == ("failed", 2)
    assert await bench.output(kept) is not None


async def test_an_unexpected_error_ends_its_job_and_no_other(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the row says of what kind it was."""
    odd = await put_thread(state, PREFERENCE, idle_hours=8)
    fine = await put_thread(state, PREFERENCE, idle_hours=9)
    bench = Bench(
        state,
        ScriptedExtraction(ZeroDivisionError(), GOOD_REPLY),
        limits=Phase1Limits(concurrent_max=1),
    )
    report = await bench.everything()
    assert (report.succeeded, report.failed) == (1, {"internal:ZeroDivisionError": 1})
    job = await bench.job(odd)
    assert job is not None and job.status == "failed"
    assert await bench.output(fine) is not None
    assert "failed unexpectedly" in caplog.text
