"""`memory/overview` and `memoryd status`: for every thing that waits, why and until when.

Longer than the habit: what waits, what it cost and what stops it are read from one answer.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from server.cli.render import overview as as_text
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import Claimed
from state.stores.outputs import Output
from tests.support.clock import ManualClock
from tests.support.homes import Serving, provider_config, serving
from tests.support.learning import DAY_MS, HOUR_MS, put_thread
from tests.support.methods import error_of
from tests.support.responses_server import (
    Call,
    Recorded,
    Reply,
    ResponsesServer,
    calls,
    says,
    says_json,
)

GOOD = {
    "rollout_summary": "# Small commits",
    "rollout_slug": "small_commits",
    "raw_memory": "---\ndescription: commits\n---\n\n- small commits",
}


async def _fails(
    state: State, thread_id: ThreadId, reason: str, *, in_ms: int, times: int = 1
) -> None:
    """Let the extraction of a thread fail that often."""
    for _ in range(times):
        async with state.database.writing() as tx:
            row = await state.threads.get(tx, thread_id)
            assert row is not None
            claimed = await state.jobs.claim_extraction(
                tx,
                version="v1",
                thread_id=thread_id,
                watermark_ms=row.updated_at_ms,
                lease_s=90,
                running_max=8,
            )
            assert isinstance(claimed, Claimed), claimed
            retry_at_ms = state.clock.now_ms() + (0 if times > 1 else in_ms)
            await state.jobs.fail(
                tx,
                claimed.claim,
                reason=reason,
                retry_at_ms=retry_at_ms,
                uses_retry=reason != "budget",
            )


def _waits(view: Mapping[str, Any]) -> dict[str, tuple[int, int | None]]:
    """Of the version that threads read: by thing and reason, how many and until when."""
    return {
        f"{one['what']}:{one['why']}": (one["count"], one["untilMs"])
        for one in view["versions"][0]["waits"]
    }


async def _one_of_each(state: State) -> None:
    await put_thread(state, "fresh", idle_hours=1)
    await put_thread(state, "fresh too", idle_hours=2)
    await put_thread(state, "old", idle_hours=11 * 24)
    await put_thread(state, "off", mode="disabled")
    await put_thread(state, "outside", mode="polluted")
    await put_thread(state, "next")
    archived = await put_thread(state, "shelf")
    async with state.database.writing() as tx:
        await state.threads.set_archived(tx, archived, archived=True, rollout_path="archived/a")
    await _fails(state, await put_thread(state, "down"), "model:timeout", in_ms=HOUR_MS)
    await _fails(state, await put_thread(state, "dear"), "budget", in_ms=2 * HOUR_MS)
    await _fails(state, await put_thread(state, "bad"), "bad_output", in_ms=0, times=3)


async def test_every_thing_that_waits_is_told_with_its_reason_and_its_time(tmp_path: Path) -> None:
    """One of each kind; a person reads the same words as a program."""
    clock = ManualClock()
    async with serving(tmp_path, clock=clock) as home, home.wire.client("pair") as client:
        state, now_ms = home.server.services.state, clock.now_ms()
        await _one_of_each(state)
        async with state.database.writing() as tx:
            await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=1)
        view = await client.request("memory/overview")
    assert _waits(view) == {
        "thread:archived": (1, None),
        "thread:backoff": (1, now_ms + HOUR_MS),
        "thread:budget": (1, now_ms + 2 * HOUR_MS),
        "thread:disabled": (1, None),
        "thread:exhausted": (1, None),
        "thread:not_idle": (2, now_ms + 4 * HOUR_MS),
        "thread:polluted": (1, None),
        "thread:ready": (1, None),
        "thread:too_old": (1, None),
        "consolidation:ready": (1, None),
    }
    counters = view["versions"][0]["counters"]
    assert counters["failed"] == {"model:timeout": 1, "budget": 1, "bad_output": 1}
    assert (counters["claimed"], counters["succeeded"], counters["editions"]) == (3, 0, 0)
    text = "\n".join(as_text(view, joined=True))
    for words in (
        "2 sessions: not yet idle long enough, until",
        "1 session: the daily token budget is used up, until",
        "1 session: tried as often as allowed",
        "1 session: memory is off for them",
        "1 session: next in line",
        "consolidation: next in line",
    ):
        assert words in text, text


@pytest.mark.requirement("FR-K7")
@pytest.mark.parametrize("phase", ["extraction", "consolidation"])
async def test_learning_is_paused_over_the_protocol_while_it_works(
    tmp_path: Path, phase: str
) -> None:
    """Within five seconds nothing runs, also over a restart; then it goes on by itself."""
    text = "Always run the linter before you commit."

    def hangs(request: Recorded) -> Reply | None:
        if request.structured and phase == "consolidation":
            return says_json(GOOD)
        works = request.structured or "write" in request.tool_names
        return Reply(text="", hangs=True) if works else None

    async with ResponsesServer() as model:
        model.choose = hangs
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            await put_thread(home.server.services.state, text, idle_hours=10)
            order = asyncio.create_task(error_of(client, "memory/consolidate/start", {}))
            await model.wait_for_requests(1 if phase == "extraction" else 2, seconds_max=10)
            async with asyncio.timeout(5):
                assert await client.request("memory/pause", {"paused": True}) == {"paused": True}
            assert (await order)["data"]["kind"] == "workCancelled"
            view = await client.request("memory/overview")
            assert view["paused"] and view["jobs"]["running"] == 0
            thing = "thread" if phase == "extraction" else "consolidation"
            assert _waits(view)[f"{thing}:paused"] == (1, None)
            assert "learning is paused" in "\n".join(as_text(view, joined=True))
        before = len(model.requests)
        async with (
            serving(tmp_path, config=config, learning=True) as home,
            home.wire.client("pair") as client,
        ):
            stopped = await client.request("memory/consolidate/start", {})
            assert stopped["extraction"]["stoppedBy"] == "paused"
            assert len(model.requests) == before
            model.choose = lambda request: says_json(GOOD) if request.structured else None
            await client.request("memory/pause", {"paused": False})
            await _until_learned(home, 1)
            await model.wait_for_requests(before + 1, seconds_max=10)


async def _until_learned(home: Serving, number: int, clock: ManualClock | None = None) -> None:
    async with asyncio.timeout(20):
        while True:
            if clock is not None:
                clock.advance(1)
            state = home.server.services.state
            async with state.database.reading() as read:
                if (await state.outputs.counts(read, "v1")).total >= number:
                    return
            await asyncio.sleep(0.02)


@pytest.mark.requirement("FR-R15")
@pytest.mark.parametrize("sessions", [255, 256, 257])
async def test_the_sessions_that_found_no_room_are_told(tmp_path: Path, sessions: int) -> None:
    """256 are used; the one beyond is displaced, and a person is told what brings it back."""
    clock = ManualClock()
    async with serving(tmp_path, clock=clock) as home, home.wire.client("pair") as client:
        state = home.server.services.state
        put: list[ThreadId] = []
        for number in range(sessions):
            thread_id = await put_thread(state, f"say {number}", idle_hours=30 + number / 1_000)
            put.append(thread_id)
            async with state.database.writing() as tx:
                await state.outputs.put(
                    tx,
                    Output(
                        version="v1",
                        thread_id=thread_id,
                        source_updated_at_ms=clock.now_ms() - DAY_MS - number,
                        raw_memory=f"- small commits {number}",
                        rollout_summary=f"# Small commits {number}",
                        rollout_slug=f"commits_{number}",
                        generated_at_ms=clock.now_ms(),
                    ),
                )
        view = await client.request("memory/overview")
        async with state.database.reading() as read:
            chosen = await state.outputs.select(
                read, version="v1", outputs_max=256, unused_days_max=30, now_ms=clock.now_ms()
            )
    version = view["versions"][0]
    used = {one.output.thread_id for one in chosen}
    # Nothing of them was ever used: what was said last displaces what was said first.
    assert used == set(sorted(put)[-256:])
    assert (version["outputs"], version["outputsDisplaced"]) == (sessions, max(0, sessions - 256))
    assert any("displaced" in note for note in view["notes"]) is (sessions == 257)


@pytest.mark.requirement("FR-G4", "FR-C13")
@pytest.mark.parametrize("heard", [12, 0], ids=["none kept", "all kept"])
async def test_a_high_share_of_sessions_that_gave_nothing_is_worth_a_word(
    tmp_path: Path, heard: int
) -> None:
    """With the reasons; sessions that failed are counted apart. Where all gave, no word."""
    empty = {"rollout_summary": "", "rollout_slug": "", "raw_memory": ""}
    reply = says_json(empty if heard else GOOD)
    async with ResponsesServer() as model:
        model.choose = lambda request: reply if request.structured else None
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            state = home.server.services.state
            for number in range(12):
                await put_thread(state, f"We use pnpm in project {number}.", name=str(number))
            await client.request("memory/consolidate/start", {})
            view = await client.request("memory/overview")
    counters = view["versions"][0]["counters"]
    assert (counters["empty"], counters["failed"]) == (
        {"nothing_kept": heard} if heard else {},
        {},
    )
    worth = [note for note in view["notes"] if "12 of 12 sessions gave nothing" in note]
    assert len(worth) == (1 if heard else 0), view["notes"]


@pytest.mark.requirement("FR-K6")
async def test_a_spent_budget_makes_the_rest_wait_until_tomorrow_and_run_by_itself(
    tmp_path: Path,
) -> None:
    """Budget for four of ten; six wait with `budget`, and nobody has to ask again."""
    clock = ManualClock()
    use = {"input_tokens": 900, "output_tokens": 100, "total_tokens": 1_000}
    async with ResponsesServer() as model:

        def choose(request: Recorded) -> Reply | None:
            return says_json(GOOD, usage=use) if request.structured else None

        model.choose = choose
        config = (
            "[memories]\nextract_tokens_per_day = 4000\nmax_rollouts_per_startup = 16\n"
            "max_concurrent_extractions = 1\n"
        )
        config = provider_config(model.base_url) + config
        async with (
            serving(tmp_path, config=config, clock=clock, learning=True) as home,
            home.wire.client("pair") as client,
        ):
            state = home.server.services.state
            for number in range(10):
                await put_thread(state, "Keep commits small.", name=str(number), idle_hours=7)
            await _until_learned(home, 4, clock)
            await _settled(home)
            view = await client.request("memory/overview")
            heard = [one for one in model.requests if one.structured]
            assert len(heard) == 4
            waits = _waits(view)
            tomorrow = (clock.now_ms() // DAY_MS + 1) * DAY_MS
            assert waits["thread:budget"] == (6, tomorrow)
            clock.advance((tomorrow - clock.now_ms()) // 1_000 + 1)
            await _until_learned(home, 8, clock)


async def _settled(home: Serving) -> None:
    """Until no job runs."""
    state = home.server.services.state
    async with asyncio.timeout(10):
        while True:
            async with state.database.reading() as read:
                if not (await state.jobs.counts(read, "v1")).running:
                    return
            await asyncio.sleep(0.01)


@pytest.mark.requirement("FR-G3")
async def test_learning_of_one_thread_can_be_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids when memory is on disk; a repeat does nothing; when it takes long, a job id."""
    text = "I prefer pnpm over npm in all my projects. Always run the linter before a commit."
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        state = home.server.services.state
        thread_id = await put_thread(state, text)
        await put_thread(state, "Never use tabs in Python files.")
        params = {"threadId": thread_id, "wait": True}
        done = await client.request("memory/consolidate/start", params)
        assert (done["status"], done["extraction"]["claimed"]) == ("finished", 1)
        assert done["consolidation"]["editionId"] == 1 and done["jobId"]
        assert (home.home.memories("v1") / "MEMORY.md").exists()
        again = await client.request("memory/consolidate/start", params)
        assert again["extraction"]["claimed"] == 0
        assert again["consolidation"]["status"] == "unchanged"
        monkeypatch.setattr("server.handlers.orders.WAIT_S", 0)
        late = await client.request("memory/consolidate/start", {"wait": True})
        assert late["status"] == "running" and late["jobId"] != done["jobId"]


@pytest.mark.requirement("FR-K4")
async def test_five_hundred_threads_under_one_cap_hold_no_turn_back(tmp_path: Path) -> None:
    """Eight background calls at most, and a turn is answered while they hang."""
    at_once = 0
    async with ResponsesServer() as model:
        hanging = Reply(text="", hangs=True)
        model.choose = lambda request: hanging if request.structured else None
        config = provider_config(model.base_url) + "[memories]\nmax_rollouts_per_startup = 128\n"
        async with (
            serving(tmp_path, config=config) as home,
            home.wire.client("pair") as client,
        ):
            state = home.server.services.state
            for number in range(500):
                await put_thread(state, "Keep commits small.", name=str(number))
            await client.request("memory/consolidate/start", {"wait": False})
            await model.wait_for_requests(8)
            started = await client.request("thread/start", {"cwd": str(tmp_path)})
            words = [{"type": "text", "text": "hello"}]
            await client.request(
                "turn/start", {"threadId": started["thread"]["id"], "input": words}
            )
            # It ends though none of the eight calls has ended.
            await client.notification("turn/completed")
            at_once = len([one for one in model.requests if one.structured])
            view = await client.request("memory/overview")
            assert _waits(view)["thread:running"][0] == 8
            assert _waits(view)["thread:capped"] == (492, None)
            await client.request("memory/pause", {"paused": True})
    assert at_once == 8


@pytest.mark.requirement("FR-K5")
async def test_spending_is_what_the_endpoint_counted(tmp_path: Path) -> None:
    """Cached tokens and replies that were of no use included."""
    use = {
        "input_tokens": 700,
        "input_tokens_details": {"cached_tokens": 300},
        "output_tokens": 50,
        "total_tokens": 750,
    }
    async with ResponsesServer() as model:
        model.choose = lambda request: Reply(
            text="no JSON" if len(model.requests) % 2 else '{"a": 1}', usage=use
        )
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            state = home.server.services.state
            for number in range(5):
                await put_thread(state, "Keep commits small.", name=str(number))
            await client.request("memory/consolidate/start", {})
            view = await client.request("memory/overview")
            async with state.database.reading() as read:
                rows = await state.spending.rows(read, day=view["spending"]["day"])
    assert len(model.requests) == 5
    assert [(one.input_tokens, one.cached_tokens, one.output_tokens) for one in rows] == [
        (700, 300, 50)
    ] * 5
    assert {one.trigger for one in rows} == {"order"}
    assert view["spending"]["extractionTokens"] == 5 * 750


@pytest.mark.requirement("FR-K5")
async def test_a_consolidation_that_was_capped_is_in_the_spending_to_the_token(
    tmp_path: Path,
) -> None:
    """An agent that never stops is stopped; every call of it was counted."""
    use = {
        "input_tokens": 700,
        "input_tokens_details": {"cached_tokens": 300},
        "output_tokens": 50,
        "total_tokens": 750,
    }

    def choose(request: Recorded) -> Reply:
        if request.structured:
            return says_json(GOOD, usage=use)
        return calls(Call(name="list", arguments={}), usage=use)

    async with ResponsesServer() as model:
        model.choose = choose
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            state = home.server.services.state
            await put_thread(state, "Keep commits small.")
            done = await client.request("memory/consolidate/start", {})
            view = await client.request("memory/overview")
            async with state.database.reading() as read:
                rows = await state.spending.rows(read, day=view["spending"]["day"])
        number = len(model.requests)
    assert done["consolidation"]["status"] == "failed" and number > 10
    assert sum(one.input_tokens for one in rows) == 700 * number
    assert sum(one.cached_tokens for one in rows) == 300 * number
    assert sum(one.output_tokens for one in rows) == 50 * number
    # The thread's provider is not known here, so the default answered: the row names what did.
    assert {(one.kind, one.trigger) for one in rows} == {
        ("extraction", "order"),
        ("consolidation", "order"),
    }
    assert {one.model for one in rows} == {model.requests[0].body["model"]}


async def test_a_turn_that_used_up_the_limits_makes_learning_wait_and_is_told(
    tmp_path: Path,
) -> None:
    """Until the window begins anew; a person's order runs all the same."""
    used = {"x-codex-primary-used-percent": "90", "x-codex-primary-reset-after-seconds": "600"}
    async with ResponsesServer() as model:
        model.choose = lambda request: (
            says_json(GOOD) if request.structured else says("fine", headers=used)
        )
        async with (
            serving(tmp_path, config=provider_config(model.base_url), learning=True) as home,
            home.wire.client("pair") as client,
        ):
            started = await client.request("thread/start", {"cwd": str(tmp_path)})
            words = [{"type": "text", "text": "hello"}]
            turn = {"threadId": started["thread"]["id"], "input": words}
            await client.request("turn/start", turn)
            await client.notification("turn/completed")
            await put_thread(home.server.services.state, "Keep commits small.")
            home.server.services.lanes.wake()
            while True:
                told = await client.notification("memory/progress")
                if told["what"] == "extraction/paused":
                    break
            assert told["data"] == {"reason": "quota:rate limit: 10 % left"}
            view = await client.request("memory/overview")
            assert view["quota"]["reason"] == "rate limit: 10 % left"
            number, until_ms = _waits(view)["thread:quota"]
            assert number == 1 and until_ms == view["quota"]["untilMs"] is not None
            assert not [one for one in model.requests if one.structured]
            await client.request("memory/consolidate/start", {})
            assert len([one for one in model.requests if one.structured]) >= 1


@pytest.mark.requirement("FR-K3")
async def test_a_day_with_clients_attached_and_nothing_said_calls_no_model(tmp_path: Path) -> None:
    """Twenty-four hours of timers and of clients that look around."""
    clock = ManualClock()
    async with ResponsesServer() as model:
        async with (
            serving(
                tmp_path, config=provider_config(model.base_url), clock=clock, learning=True
            ) as home,
            home.wire.client("pair") as first,
            home.wire.client("pair") as second,
        ):
            for _ in range(24):
                clock.advance(3_600)
                for client in (first, second):
                    await client.request("thread/list", {})
                    await client.request("memory/overview")
    assert model.requests == []


@pytest.mark.requirement("MW-8.3-size")
async def test_it_tells_the_size_of_the_folder_without_git_and_links(tmp_path: Path) -> None:
    """Nested files count; `memoryd status` prints the same; nothing waits to be taken out."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        folder = home.home.memories("v1")
        (folder / "skills" / "deep").mkdir(parents=True)
        (folder / ".git" / "objects").mkdir(parents=True)
        (folder / "MEMORY.md").write_bytes(b"x" * 1_000)
        (folder / "skills" / "deep" / "a.md").write_bytes(b"x" * 500)
        (folder / ".git" / "objects" / "large").write_bytes(b"x" * 9_999)
        (folder / "link.md").symlink_to(folder / "MEMORY.md")
        (folder / "loop").symlink_to(folder, target_is_directory=True)
        view = await client.request("memory/overview")
        assert view["versions"][0]["size"] == {"files": 2, "bytes": 1_500}
        assert view["versions"][0]["withdrawalPending"] is None
        assert "folder    2 files, 1,500 bytes" in list(as_text(view, joined=True))
