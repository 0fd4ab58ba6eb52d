"""The archive: files move, rows agree, and a crash in between is put right by the next start."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from state.database import Database
from state.home import Home
from state.ids import ThreadId
from state.stores.lineage import LineageStore, Move
from tests.support.homes import Serving, provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import ResponsesServer
from tests.support.rollout_files import THREAD, event, message, session_meta, write_rollout
from tests.support.wire import KINDS, Kind, WireClient

NOBODY = "00000000-0000-7000-8000-000000000000"
CHILD = "01a22885-a951-7b23-978e-7abfa3c78da2"


async def _path(client: WireClient, thread: str) -> Path:
    return Path((await client.request("thread/read", {"threadId": thread}))["thread"]["path"])


async def _listed(client: WireClient, *, archived: bool) -> set[str]:
    page = await client.request("thread/list", {"archived": archived})
    return {row["id"] for row in page["data"]}


@pytest.mark.requirement("MR-9-29")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_thread_goes_into_the_archive_and_back(kind: Kind, tmp_path: Path) -> None:
    """Order: not loaded, reply, archived; refused there is what needs a thread at hand."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        thread = await started(client)
        await said(client, thread, "hello")
        before = await _path(client, thread)
        seen = len(client.frames)
        assert await client.request("thread/archive", {"threadId": thread}) == {}
        assert await client.notification("thread/archived") == {"threadId": thread}
        order = [frame.get("method", "reply") for frame in client.frames[seen:]]
        assert order == ["thread/status/changed", "reply", "thread/archived"]
        after = await _path(client, thread)
        assert after == home.home.archived_sessions / before.name
        assert (after.exists(), before.exists()) == (True, False)
        assert await _listed(client, archived=True) == {thread}
        assert await _listed(client, archived=False) == set()
        for method in ("thread/archive", "thread/memoryMode/set"):
            error = await error_of(client, method, {"threadId": thread, "mode": "enabled"})
            assert error["message"] == f"no rollout found for thread id {thread}"
        sentence = (
            f"session {thread} is archived. Run `codex unarchive {thread}` to unarchive it first."
        )
        for method in ("thread/resume", "thread/fork"):
            error = await error_of(client, method, {"threadId": thread})
            assert error["message"] == sentence
        words = [{"type": "text", "text": "no"}]
        error = await error_of(client, "turn/start", {"threadId": thread, "input": words})
        assert error["message"] == f"thread not found: {thread}"
        back = await client.request("thread/unarchive", {"threadId": thread})
        assert back["thread"]["path"] == str(before) and before.exists()
        assert await client.notification("thread/unarchived") == {"threadId": thread}
        error = await error_of(client, "thread/unarchive", {"threadId": thread})
        assert error["message"] == f"no archived rollout found for thread id {thread}"
        await client.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        assert (await said(client, thread, "again"))["status"] == "completed"


@pytest.mark.requirement("MR-9-29")
async def test_what_has_no_file_cannot_be_archived(tmp_path: Path) -> None:
    """Unknown, ephemeral, not begun."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        for thread in (NOBODY, await started(client), await started(client, ephemeral=True)):
            error = await error_of(client, "thread/archive", {"threadId": thread})
            assert error["message"] == f"no rollout found for thread id {thread}"


@pytest.mark.requirement("MR-9-29")
@pytest.mark.parametrize("loaded", [True, False])
async def test_everybody_hears_the_new_name_of_a_thread(loaded: bool, tmp_path: Path) -> None:
    """Of one that is loaded and of one that is not, without the blanks around it."""
    async with (
        serving(tmp_path) as home,
        home.wire.client("pair") as client,
        home.wire.client("pair") as witness,
    ):
        thread = await started(client)
        await said(client, thread, "hello")
        if not loaded:
            await home.server.services.live.unload(ThreadId(thread))
        await client.request("thread/name/set", {"threadId": thread, "name": "  mine "})
        for one in (client, witness):
            told = await one.notification("thread/name/updated")
            assert told == {"threadId": thread, "threadName": "mine"}


@pytest.mark.requirement("MR-9-29")
async def test_a_thread_without_a_turn_can_be_deleted(tmp_path: Path) -> None:
    """It is loaded and has no file; whoever listened to it hears that it is gone."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        assert await client.request("thread/delete", {"threadId": thread}) == {}
        assert await client.notification("thread/deleted") == {"threadId": thread}
        status = await client.request("thread/unsubscribe", {"threadId": thread})
        assert status == {"status": "notLoaded"}
        error = await error_of(client, "thread/read", {"threadId": thread})
        assert error["message"] == f"thread not loaded: {thread}"


@pytest.mark.requirement("MR-9-26")
async def test_the_status_of_a_thread_outlives_its_listeners(tmp_path: Path) -> None:
    """A failure is still told by reads and lists when nobody listens any more."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await said(client, thread, "fail with an error")
        status = await client.request("thread/unsubscribe", {"threadId": thread})
        assert status == {"status": "unsubscribed"}
        read = await client.request("thread/read", {"threadId": thread})
        listed = await client.request("thread/list", {})
        failed = {"type": "systemError"}
        assert read["thread"]["status"] == listed["data"][0]["status"] == failed


@pytest.mark.requirement("MR-9-29")
async def test_what_a_thread_spawned_goes_with_it(tmp_path: Path) -> None:
    """Into the archive, back, and to its end."""
    spoken = [message("user", "words"), event("user_message", message="words")]
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    child = session_meta(CHILD, source=source, parent_thread_id=THREAD)
    folder = tmp_path / "sources"
    write_rollout(folder, session_meta(), *spoken)
    write_rollout(folder, child, *spoken, thread_id=CHILD)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(folder)})
        for method, told in (("archive", "archived"), ("unarchive", "unarchived")):
            await client.request(f"thread/{method}", {"threadId": THREAD})
            heard = {(await client.notification(f"thread/{told}"))["threadId"] for _ in range(2)}
            assert heard == {THREAD, CHILD}
            assert (home.home.archived_sessions in (await _path(client, CHILD)).parents) == (
                told == "archived"
            )
        read = await client.request("thread/read", {"threadId": CHILD})
        assert read["thread"]["parentThreadId"] == THREAD
        await client.request("thread/delete", {"threadId": THREAD})
        error = await error_of(client, "thread/read", {"threadId": CHILD})
        assert error["message"] == f"thread not loaded: {CHILD}"


@pytest.mark.requirement("MR-9-29")
@pytest.mark.parametrize("moved", [True, False])
async def test_a_crash_in_the_middle_of_a_move_is_put_right(moved: bool, tmp_path: Path) -> None:
    """Whether or not the file had arrived, the row says where it is."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        before = await _path(client, thread)
    await _interrupted_move(home.home, thread, before, moved=moved)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert (await _path(client, thread)).exists()
        assert await _listed(client, archived=moved) == {thread}
        assert await _listed(client, archived=not moved) == set()
        state = home.server.services.state
        async with state.database.reading() as read:
            assert await state.lineage.moves(read) == []


async def _interrupted_move(home: Home, thread: str, path: Path, *, moved: bool) -> None:
    """As a process leaves it that died after its note, or after the move."""
    target = home.archived_sessions / path.name
    move = Move(
        thread_id=ThreadId(thread),
        from_path=str(path.relative_to(home.root)),
        to_path=str(target.relative_to(home.root)),
        archived=True,
    )
    database = await Database.open(home.database)
    try:
        async with database.writing() as tx:
            await LineageStore().begin_move(tx, move)
    finally:
        await database.close()
    if moved:
        await asyncio.to_thread(path.rename, target)


async def test_a_file_that_lies_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    """The thread stays where it is and the reason names the file."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        path = await _path(client, thread)
        other = home.home.archived_sessions / path.name
        other.write_text(json.dumps({"of": "somebody"}))
        error = await error_of(client, "thread/archive", {"threadId": thread})
        assert str(other) in error["message"]
        assert path.exists() and other.read_text() == json.dumps({"of": "somebody"})
        assert await _listed(client, archived=False) == {thread}
        await client.request("thread/resume", {"threadId": thread, "excludeTurns": True})


async def test_a_lost_database_knows_what_was_archived(tmp_path: Path) -> None:
    """By where the file lies."""
    home: Serving
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        await client.request("thread/archive", {"threadId": thread})
    for file in home.home.root.glob("state.sqlite*"):
        file.unlink()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        assert await _listed(client, archived=True) == {thread}
        result: Any = await client.request("thread/unarchive", {"threadId": thread})
        assert result["thread"]["id"] == thread
