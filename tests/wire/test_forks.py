"""Forks: what they inherit, what stays their source's, and that neither's end harms the other."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory_write.phase1.transcript import hear
from state.ids import ThreadId
from state.rollouts.items import Transcript
from state.stores.threads import ThreadRow
from tests.support.homes import Serving, provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.rollout_files import event, message, session_meta, write_rollout
from tests.support.wire import KINDS, Kind, WireClient

NOBODY = "00000000-0000-7000-8000-000000000000"


async def _turns(client: WireClient, thread: str, count: int) -> list[str]:
    return [(await said(client, thread, f"words {number}"))["id"] for number in range(1, count + 1)]


async def _words(client: WireClient, thread: str) -> list[str]:
    """What the user said in a thread, as its pages show it."""
    page = await client.request("thread/items/list", {"threadId": thread, "limit": 100})
    return [
        row["item"]["content"][0]["text"]
        for row in page["data"]
        if row["item"]["type"] == "userMessage"
    ]


async def _forked(client: WireClient, thread: str, **params: Any) -> str:
    result = await client.request("thread/fork", {"threadId": thread, **params})
    return str(result["thread"]["id"])


async def _row(home: Serving, thread: str) -> ThreadRow:
    state = home.server.services.state
    async with state.database.reading() as read:
        row = await state.threads.get(read, ThreadId(thread))
    assert row is not None
    return row


async def _heard(home: Serving, thread: str) -> Transcript:
    row = await _row(home, thread)
    path = home.home.root / row.rollout_path
    return await asyncio.to_thread(
        hear, path, thread_id=row.thread_id, cwd=row.cwd, git_branch=None
    )


def _first_line(home: Serving, row: ThreadRow) -> dict[str, Any]:
    with (home.home.root / row.rollout_path).open() as file:
        line: dict[str, Any] = json.loads(file.readline())
    return line


@pytest.mark.requirement("MR-9-31")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_fork_goes_on_from_its_place_and_the_source_stays_as_it_was(
    kind: Kind, tmp_path: Path
) -> None:
    """Inclusive, exclusive and whole, over every transport; a resume later sees it all."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        thread = await started(client)
        turns = await _turns(client, thread, 3)
        whole = await _forked(client, thread)
        told = await client.notification("thread/started")
        while told["thread"]["id"] != whole:
            told = await client.notification("thread/started")
        assert (told["thread"]["forkedFromId"], told["thread"]["turns"]) == (thread, [])
        through = await _forked(client, thread, lastTurnId=turns[1])
        before = await _forked(client, thread, beforeTurnId=turns[1])
        nothing = await _forked(client, thread, beforeTurnId=turns[0])
        assert await _words(client, whole) == ["words 1", "words 2", "words 3"]
        assert await _words(client, through) == ["words 1", "words 2"]
        assert await _words(client, before) == ["words 1"]
        assert await _words(client, nothing) == []
        assert (await said(client, through, "own words"))["status"] == "completed"
        assert await _words(client, thread) == ["words 1", "words 2", "words 3"]
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        assert await _words(client, through) == ["words 1", "words 2", "own words"]
        await client.request("thread/resume", {"threadId": through, "excludeTurns": True})
        await said(client, through, "more")
        assert await _words(client, through) == ["words 1", "words 2", "own words", "more"]


@pytest.mark.requirement("MR-9-31")
async def test_the_file_of_a_fork_names_a_prefix_and_goes_on_counting(tmp_path: Path) -> None:
    """Thread, ordinal and byte offset; a fork of a fork names the file in which the place is."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        turns = await _turns(client, thread, 2)
        fork = await _forked(client, thread, lastTurnId=turns[0])
        own = (await said(client, fork, "own words"))["id"]
        inside = await _row(home, await _forked(client, fork, lastTurnId=turns[0]))
        behind = await _row(home, await _forked(client, fork, lastTurnId=own))
        assert (inside.history_base_id, behind.history_base_id) == (thread, fork)
        first = _first_line(home, await _row(home, fork))
        base = first["payload"]["history_base"]
        assert first["ordinal"] == base["end_ordinal_exclusive"]
        data = (home.home.root / (await _row(home, thread)).rollout_path).read_bytes()
        ends = [json.loads(line) for line in data[: base["end_byte_offset"]].splitlines()]
        assert ends[-1]["ordinal"] + 1 == base["end_ordinal_exclusive"]
        assert ends[-1]["payload"]["type"] == "task_complete"
        assert await _words(client, behind.thread_id) == ["words 1", "own words"]


@pytest.mark.requirement("MR-9-31")
async def test_what_cannot_be_forked_is_refused(tmp_path: Path) -> None:
    """Nothing is made of it."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        missing = f"no rollout found for thread id {thread}"
        assert (await error_of(client, "thread/fork", {"threadId": thread}))["message"] == missing
        (done,) = await _turns(client, thread, 1)
        model.script(Reply(text="slow", hangs=True))
        words = [{"type": "text", "text": "busy"}]
        turn = await client.request("turn/start", {"threadId": thread, "input": words})
        await model.wait_for_requests(2)
        running = turn["turn"]["id"]
        for params, sentence in (
            ({"lastTurnId": running}, f"turn {running} is in progress"),
            ({"lastTurnId": NOBODY}, f"turn not found: {NOBODY}"),
            ({"lastTurnId": done, "beforeTurnId": done}, "cannot be combined"),
            ({"ephemeral": True}, "ephemeral paginated thread/fork requires `excludeTurns: true`"),
            ({"config": {"memories": {"version": "v9"}}}, "failed to load configuration"),
            ({"modelProvider": "nobody"}, "model provider `nobody` not found"),
        ):
            error = await error_of(client, "thread/fork", {"threadId": thread, **params})
            assert sentence in error["message"]
        error = await error_of(client, "thread/fork", {"threadId": NOBODY})
        assert error["message"] == f"no rollout found for thread id {NOBODY}"
        model.release()
        await client.notification("turn/completed")
        listed = await client.request("thread/list", {})
        assert [row["id"] for row in listed["data"]] == [thread]


@pytest.mark.requirement("MR-9-31")
async def test_a_fork_in_mid_turn_shows_that_turn_interrupted(tmp_path: Path) -> None:
    """The source's turn goes on and ends as if nothing had been."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await _turns(client, thread, 1)
        model.script(Reply(text="slow", hangs=True))
        words = [{"type": "text", "text": "in the middle"}]
        await client.request("turn/start", {"threadId": thread, "input": words})
        await model.wait_for_requests(2)
        fork = await client.request("thread/fork", {"threadId": thread})
        shown = fork["thread"]["turns"]
        assert [turn["status"] for turn in shown] == ["completed", "interrupted"]
        assert shown[1]["items"][0]["content"][0]["text"] == "in the middle"
        model.release()
        assert (await client.notification("turn/completed"))["turn"]["status"] == "completed"
        ended = await said(client, fork["thread"]["id"], "go on")
        assert ended["status"] == "completed"
        turns = await client.request(
            "thread/turns/list", {"threadId": fork["thread"]["id"], "sortDirection": "asc"}
        )
        assert [turn["status"] for turn in turns["data"]] == [
            "completed",
            "interrupted",
            "completed",
        ]


@pytest.mark.requirement("MR-9-31")
async def test_an_ephemeral_fork_knows_the_past_and_leaves_nothing(tmp_path: Path) -> None:
    """No path, no row, no file; what was said before goes to the model."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await _turns(client, thread, 1)
        files = sorted(home.home.sessions.rglob("*.jsonl"))
        params = {"threadId": thread, "ephemeral": True, "excludeTurns": True}
        fork = (await client.request("thread/fork", params))["thread"]
        assert (fork["ephemeral"], fork["path"], fork["turns"]) == (True, None, [])
        await said(client, fork["id"], "and now")
        assert model.requests[-1].user_texts[-2:] == ["words 1", "and now"]
        listed = await client.request("thread/list", {})
        assert [row["id"] for row in listed["data"]] == [thread]
        assert sorted(home.home.sessions.rglob("*.jsonl")) == files


@pytest.mark.parametrize("mode", ["disabled", "polluted"])
async def test_a_fork_is_no_way_around_the_memory_mode(mode: str, tmp_path: Path) -> None:
    """Mode and use are inherited, whatever the request says."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client, config={"memories.use_memories": False})
        await _turns(client, thread, 1)
        state = home.server.services.state
        async with state.database.writing() as tx:
            await state.threads.set_memory_mode(tx, ThreadId(thread), mode)  # type: ignore[arg-type]  # of two
        await home.server.services.live.unload(ThreadId(thread))
        fork = await _forked(client, thread, config={"memories.generate_memories": True})
        row = await _row(home, fork)
        assert (row.memory_mode, row.use_memories) == (mode, False)


@pytest.mark.requirement("FR-E6")
@pytest.mark.requirement("MR-9-31")
async def test_a_fork_at_turn_four_of_ten_has_only_its_own_words_to_be_learned(
    tmp_path: Path,
) -> None:
    """Nothing of turns 5 to 10 and nothing twice, also when its source is deleted."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        turns = await _turns(client, thread, 10)
        fork = await _forked(client, thread, lastTurnId=turns[3])
        idle = await _forked(client, thread, lastTurnId=turns[3])
        await said(client, fork, "only here")

        async def typed(one: str) -> list[str]:
            return [item.text for item in (await _heard(home, one)).items if item.kind == "user"]

        assert await typed(fork) == ["only here"]
        assert await typed(idle) == []
        await client.request("thread/delete", {"threadId": thread})
        assert await typed(fork) == ["only here"]
        assert await typed(idle) == []
        assert await _words(client, fork) == [*(f"words {one}" for one in range(1, 5)), "only here"]


@pytest.mark.requirement("FR-E6")
async def test_a_fork_of_an_old_session_copies_its_lines_and_is_not_learned_from_them(
    tmp_path: Path,
) -> None:
    """Its own first line comes first, then the source's; its permissions do not come along."""
    lines = [session_meta()]
    for number in (1, 2, 3):
        lines += [
            message("user", f"words {number}"),
            event("user_message", message=f"words {number}"),
            event("agent_message", message=f"answer {number}"),
            message("assistant", f"answer {number}"),
        ]
    policy = {"type": "danger-full-access"}
    lines.append(
        {"type": "turn_context", "payload": {"cwd": "/home/ann/calc", "sandbox_policy": policy}}
    )
    source = write_rollout(tmp_path, *lines)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(source)})
        thread = lines[0]["payload"]["id"]
        page = await client.request(
            "thread/turns/list", {"threadId": thread, "sortDirection": "asc"}
        )
        fork = await _forked(client, thread, lastTurnId=page["data"][1]["id"])
        assert await _words(client, fork) == ["words 1", "words 2"]
        row = await _row(home, fork)
        text = (home.home.root / row.rollout_path).read_text().splitlines()
        ids = [json.loads(line)["payload"]["id"] for line in text if '"session_meta"' in line]
        assert ids == [fork, thread]
        await said(client, fork, "only here")
        heard = [item.text for item in (await _heard(home, fork)).items if item.kind == "user"]
        assert heard == ["only here"]
        whole = await _forked(client, thread)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        resumed = await client.request("thread/resume", {"threadId": whole, "excludeTurns": True})
        assert resumed["sandbox"]["type"] == "readOnly"
        assert await _words(client, whole) == ["words 1", "words 2", "words 3"]


@pytest.mark.requirement("MR-9-29")
async def test_a_fork_stays_whole_when_its_source_is_deleted_while_it_works(
    tmp_path: Path,
) -> None:
    """A chain of forks, one of them in mid-turn, one not loaded."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        turns = await _turns(client, thread, 2)
        fork = await _forked(client, thread, lastTurnId=turns[0])
        grandchild = await _forked(client, fork)
        asleep = await _forked(client, thread)
        await home.server.services.live.unload(ThreadId(asleep))
        model.script(Reply(text="slow", hangs=True))
        words = [{"type": "text", "text": "own words"}]
        await client.request("turn/start", {"threadId": fork, "input": words})
        await model.wait_for_requests(3)
        await client.request("thread/delete", {"threadId": thread})
        model.release()
        await client.notification("turn/completed")
        assert await _words(client, fork) == ["words 1", "own words"]
        assert await _words(client, grandchild) == ["words 1"]
        assert await _words(client, asleep) == ["words 1", "words 2"]
        assert (await _row(home, fork)).history_base_id is None
        await client.request("thread/delete", {"threadId": fork})
        assert await _words(client, grandchild) == ["words 1"]
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert await _words(client, grandchild) == ["words 1"]
        assert await _words(client, asleep) == ["words 1", "words 2"]


async def test_a_lost_database_knows_forks_again(tmp_path: Path) -> None:
    """Preview, source and the prefix they stand on."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await _turns(client, thread, 2)
        fork = await _forked(client, thread)
        before = await _row(home, fork)
    for file in home.home.root.glob("state.sqlite*"):
        file.unlink()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        after = await _row(home, fork)
        assert (after.preview, after.history_base_id) == (before.preview, thread)
        assert after.forked_from_id == thread
        assert await _words(client, fork) == ["words 1", "words 2"]
        await client.request("thread/delete", {"threadId": thread})
        assert await _words(client, fork) == ["words 1", "words 2"]
