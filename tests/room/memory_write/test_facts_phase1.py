"""Facts about extraction that the original's tests and failures name, one by one."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.report import Phase1Report
from memory_write.phase1.run import Phase1
from memory_write.ports import ModelFailed
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import Claimed, JobRow
from tests.support.clock import ManualClock
from tests.support.learning import (
    EMPTY_REPLY,
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)

DOWN = ModelFailed("serverOverloaded", transient=True)
# As the table "Secrets" of the figures names them; each in two pieces, so that no scanner of
# somebody else's takes this file for a leak.
SHAPES = {
    "project key": "sk-proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6gH9j",
    "old key": "sk-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6gH9jK2mN5pQ8",
    "anthropic": "sk-ant-api03-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6gH9jK2mN5pQ8",
    "github": "ghp_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6",
    "github, fine": "github_pat_" + "11ABCDEFG0Ab3dE6gH9jK2_mN5pQ8sT1vW4xY7zA0bC3dE6gH9jK2mN5pQ8",
    "aws id": "AKIA" + "IOSFODNN7EXAMPL2",
    "slack": "xoxb-" + "123456789012-1234567890123-Ab3dE6gH9jK2mN5pQ8sT1vW4",
    "google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "stripe": "sk_live_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4",
    "gitlab": "glpat-" + "Ab3dE6gH9jK2mN5pQ8sT",
    "npm": "npm_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6",
    "hugging face": "hf_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3d",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.Ab3dE6gH9jK2mN5pQ8sT1vW4xY7z",
}
NAMED = {
    "aws secret": ("aws_secret_access_key=", "wJalrXUtnFEMIK7MDENGbPxRfiCYzEXAMPLEKEYq"),
    "url": ("postgres://ada:", "Tr0ub4dor3x9"),
    "bearer": ("Authorization: Bearer ", "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7z"),
    "quoted": ('password = "', "Zx81Spectrum48k"),
    "json": ('{"client_secret": "', "Qw3rtyUi0pAsdf77"),
    "env": ("DB_PASSWORD=", "Hg7fTr5eSw3aQ1zz"),
    "plain": ("password: ", "Bn6mKj4hGf2dSa0p"),
}


@pytest.fixture
def clock() -> ManualClock:
    """The clock that the tests move."""
    return ManualClock()


@pytest.fixture
async def state(tmp_path: Path, clock: ManualClock) -> AsyncIterator[State]:
    """A home with nothing in it."""
    async with opened(tmp_path, clock) as opened_state:
        yield opened_state


async def heard(
    state: State,
    model: ScriptedExtraction,
    settings: MemorySettings | None = None,
    *,
    everything: bool = False,
) -> Phase1Report:
    """One pass."""
    made = settings or MemorySettings(phase1=Phase1Limits(claims_per_wake_max=16))
    phase1 = Phase1(state, ScriptedModels(model), OpenQuota(), Announced(), made)
    return await phase1.run_pass(current_thread=None, busy=frozenset(), everything=everything)


async def jobs(state: State) -> dict[str, JobRow]:
    """Every job by its key."""
    async with state.database.reading() as read:
        rows = await state.jobs.list(read, version="v1", limit=100)
    return {row.key: row for row in rows}


@pytest.mark.requirement("MW-8.1-nothing-there", "MW-F-empty-output")
async def test_nothing_over_nothing_asks_for_no_consolidation(state: State) -> None:
    """It was heard and counts as such; no row, no word to the consolidation, no second call."""
    thread = await put_thread(state, PREFERENCE)
    model = ScriptedExtraction(EMPTY_REPLY)
    assert (await heard(state, model)).empty == 1
    rows = await jobs(state)
    assert rows.keys() == {thread}
    assert (rows[thread].status, rows[thread].outcome) == ("done", "empty:nothing_kept")
    async with state.database.reading() as read:
        assert await state.outputs.get(read, "v1", thread) is None
    assert (await heard(state, model)).claimed == 0
    assert len(model.requests) == 1


@pytest.mark.requirement("MW-8.1-enqueue")
async def test_two_outputs_are_one_consolidation_with_the_newest_watermark(state: State) -> None:
    threads = [await put_thread(state, PREFERENCE, idle_hours=hours) for hours in (9, 8)]
    assert (await heard(state, ScriptedExtraction())).succeeded == 2
    async with state.database.reading() as read:
        found = [await state.threads.get(read, one) for one in threads]
    newest = max(one.updated_at_ms for one in found if one is not None)
    async with state.database.writing() as tx:
        claimed = await state.jobs.claim_consolidation(
            tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=False
        )
    assert isinstance(claimed, Claimed)
    assert claimed.claim.watermark_ms >= newest


@pytest.mark.requirement("MW-8.2-models", "FR-K6", "FR-G1")
@pytest.mark.parametrize(("named", "asked"), [(None, "acme-1"), ("small-1", "small-1")])
async def test_settings_name_the_model_of_extraction(
    state: State, named: str | None, asked: str
) -> None:
    """Without a name it is the session's own."""
    await put_thread(state, PREFERENCE)
    model = ScriptedExtraction()
    await heard(state, model, MemorySettings(extract_model=named))
    assert [one.model.model for one in model.requests] == [asked]
    assert model.requests[0].model.effort == "low"


@pytest.mark.requirement("MW-9-25")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_without_room_for_any_evidence_no_model_is_called(state: State, version: str) -> None:
    """A window that holds not even the mark of a gap."""
    await put_thread(state, PREFERENCE * 50)
    model = ScriptedExtraction(window=2)
    report = await heard(state, model, MemorySettings(version=version))
    assert (model.requests, report.failed) == ([], {"too_long": 1})


@pytest.mark.requirement("MW-F-outage")
async def test_an_outage_of_a_day_loses_no_session(state: State, clock: ManualClock) -> None:
    """Failure table: "HTTP 500 from the provider": not three tries and then never again."""
    threads = [await put_thread(state, PREFERENCE, name=f"n{number}") for number in range(4)]
    down = ScriptedExtraction(DOWN)
    for _ in range(24):
        await heard(state, down)
        clock.advance(3_601)
    rows = await jobs(state)
    assert [rows[one].attempts_left for one in threads if one in rows].count(0) == 0
    well = ScriptedExtraction()
    for _ in range(2):
        clock.advance(4_600)
        await heard(state, well)
    async with state.database.reading() as read:
        assert (await state.outputs.counts(read, "v1")).total == 4


@pytest.mark.requirement("MW-F-secret-shapes")
async def test_every_shape_of_the_table_is_gone_before_the_model_and_in_the_row(
    state: State,
) -> None:
    """The model repeats all of them, as the one of the figures did."""
    said = [f"{name}: {value}" for name, value in SHAPES.items()]
    said += [f"{before}{value}" for before, value in NAMED.values()]
    said[-6] += "@db.example.com/shop"
    values = [*SHAPES.values(), *(value for _, value in NAMED.values())]
    thread = await put_thread(state, PREFERENCE, "Here is all of it:\n" + "\n".join(said))
    text = "\n".join(said)
    reply = {"rollout_summary": text, "rollout_slug": "keys", "raw_memory": text}
    model = ScriptedExtraction(json.dumps(reply))
    assert (await heard(state, model)).succeeded == 1
    sent = model.requests[0].input_text + model.requests[0].instructions
    assert [value for value in values if value in sent] == []
    output = await stored(state, thread)
    assert [value for value in values if value in output] == []
    assert PREFERENCE in sent, "what stands beside them stays"


async def stored(state: State, thread: ThreadId) -> str:
    """All texts that are kept of a thread."""
    async with state.database.reading() as read:
        output = await state.outputs.get(read, "v1", thread)
    assert output is not None
    return f"{output.raw_memory}\n{output.rollout_summary}\n{output.rollout_slug}"
