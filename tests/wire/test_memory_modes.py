"""The mode of a thread in states that others do not touch: in a turn, forked, polluted."""

from pathlib import Path

import pytest

from state.ids import ThreadId
from tests.support.homes import Serving, provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import ResponsesServer, says
from tests.support.threads_memory import files_below, publish, report

SET = "thread/memoryMode/set"


async def _stored(home: Serving, thread: str) -> tuple[str, bool]:
    state = home.server.services.state
    async with state.database.reading() as read:
        row = await state.threads.get(read, ThreadId(thread))
    assert row is not None
    return row.memory_mode, row.use_memories


@pytest.mark.requirement("MR-9-14", "FR-T15")
async def test_a_mode_that_is_set_in_the_middle_of_a_turn_holds_from_then_on(
    tmp_path: Path,
) -> None:
    """Of the first turn and of a later one: in the row, after the turn, and in a new process."""
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            await said(client, await started(client), "what loads the client of the model")
            thread = await started(client)
            for number, mode in enumerate(("disabled", "enabled", "disabled"), 2):
                model.script(says("slowly", hangs=True))
                words = [{"type": "text", "text": f"turn {number}"}]
                await client.request("turn/start", {"threadId": thread, "input": words})
                await model.wait_for_requests(number)
                assert await client.request(SET, {"threadId": thread, "mode": mode}) == {}
                assert await _stored(home, thread) == (mode, True)
                model.release()
                await client.notification("turn/completed")
                assert await _stored(home, thread) == (mode, True)
                assert (await report(client, thread))["memoryMode"] == mode
        async with serving(tmp_path, config=config) as home:
            assert await _stored(home, thread) == ("disabled", True)


@pytest.mark.requirement("FR-F15", "MR-9-14")
@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("ephemeral", [True, False])
async def test_a_fork_begins_as_its_source_stands_and_changes_alone(
    tmp_path: Path, loaded: bool, ephemeral: bool
) -> None:
    """Its mode and its use, whatever the settings say; a change of the one is none of the other."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, "# Summary\n- MEMORY-LINE\n")
        thread = await started(client)
        await said(client, thread, "hello")
        await client.request(SET, {"threadId": thread, "mode": "disabled", "memoryUse": False})
        if not loaded:
            await home.server.services.live.unload(ThreadId(thread))
        params = {"threadId": thread, "ephemeral": ephemeral, "excludeTurns": True}
        config = {"memories": {"use_memories": True, "generate_memories": True}}
        for more in ({}, {"config": config}):
            forked = await client.request("thread/fork", {**params, **more})
            fork = str(forked["thread"]["id"])
            await said(client, fork, "again")
            told = await report(client, fork)
            assert (told["memoryMode"], told["memoryUse"]) == ("disabled", False)
            assert (told["injected"], told["reason"]) == (False, "private")
            change = {"threadId": fork, "mode": "enabled", "memoryUse": True}
            if ephemeral:
                error = await error_of(client, SET, change)
                assert "ephemeral thread does not support metadata updates" in error["message"]
            else:
                await client.request(SET, change)
                assert await _stored(home, fork) == ("enabled", True)
            assert await _stored(home, thread) == ("disabled", False)


@pytest.mark.requirement("MR-9-14")
async def test_a_mode_that_does_not_exist_and_an_id_that_is_none_change_nothing(
    tmp_path: Path,
) -> None:
    """With the sentences of the original."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        for params, sentence in (
            (
                {"threadId": thread, "mode": "polluted"},
                "Invalid request: unknown variant `polluted`, expected `enabled` or `disabled`",
            ),
            ({"threadId": "x", "mode": "enabled"}, "invalid thread id: "),
            ({"threadId": thread}, "Invalid request: missing field `mode`"),
        ):
            error = await error_of(client, SET, params)
            assert error["message"].startswith(sentence)
        assert await _stored(home, thread) == ("enabled", True)


@pytest.mark.requirement("FR-S11")
async def test_what_is_remembered_elsewhere_is_found_by_every_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server runs in one folder, its clients' threads in others: one memory of one home."""
    for name in ("server", "a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "server")
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        in_a = await started(client, cwd=str(tmp_path / "a"))
        in_b = await started(client, cwd=str(tmp_path / "b"))
        kept = await client.request(
            "memory/remember", {"text": "the staging host is kestrel", "threadId": in_a}
        )
        path = home.home.memories("v1") / kept["path"]
        assert path.read_text() == "the staging host is kestrel"
        for thread in (in_a, in_b, None):
            asked = {"query": "which host is for staging", "threadId": thread}
            hits = (await client.request("memory/search", asked))["hits"]
            assert [one["path"] for one in hits] == [kept["path"]], thread
        for thread in (in_a, in_b):
            await said(client, thread, "hello")
            assert (await report(client, thread))["notes"] == 1
        notes = (await client.request("memory/overview", {}))["notes"]
        assert len([one for one in notes if "is one for all projects" in one]) == 1
        assert [*(tmp_path / "server").iterdir(), *(tmp_path / "a").iterdir()] == []


@pytest.mark.requirement("FR-F15", "MW-9-24")
@pytest.mark.parametrize("kind", ["private", "ephemeral"])
async def test_what_is_said_in_private_stands_in_no_other_place(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in rows, index, lists, previews, exports, logs, nor in another thread's request."""
    canary = "CANARY-77fe"
    given = {"private": {"memoryMode": "disabled", "memoryUse": False}, "ephemeral": {}}[kind]
    caplog.set_level("DEBUG")
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            publish(home, "# Summary\n- MEMORY-LINE\n")
            thread = await started(client, ephemeral=kind == "ephemeral", **given)
            await said(client, thread, f"remember that my word is {canary}")
            await said(client, thread, f"fail with an error about {canary}")
            error = await error_of(
                client, "thread/name/set", {"threadId": thread, "name": f"On {canary}"}
            )
            assert canary not in str(error)
            seen = len(client.frames)
            other = await started(client)
            await said(client, other, "hello")
            assert canary not in model.requests[-1].text
            for method, params in (
                ("thread/list", {}),
                ("thread/list", {"searchTerm": canary}),
                ("thread/loaded/list", {}),
                ("memory/search", {"query": canary}),
                ("memory/overview", {}),
                ("memory/export", {"folder": str(tmp_path / "exported")}),
                ("thread/memory/read", {"threadId": other}),
                ("thread/memory/report", {"threadId": thread}),
            ):
                if (method, kind) != ("thread/memory/report", "ephemeral"):
                    await client.request(method, params)
            assert canary not in str(client.frames[seen:])
            assert all(not one.structured for one in model.requests)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            assert canary not in str(await client.request("thread/list", {}))
    assert canary not in caplog.text
    places = {path for path, data in files_below(tmp_path).items() if canary.encode() in data}
    assert all(path.startswith("home/sessions/") for path in places)
    assert len(places) == (1 if kind == "private" else 0)


@pytest.mark.requirement("FR-F15")
@pytest.mark.parametrize("loaded", [True, False])
async def test_a_thread_that_becomes_private_leaves_its_words_in_its_transcript_alone(
    tmp_path: Path, loaded: bool
) -> None:
    """Its preview goes from lists, search and the database's bytes; also of a loaded one."""
    canary = "CANARY-51bd"
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, f"my word is {canary}")
        name = {"threadId": thread, "name": f"On {canary}"}
        await client.request("thread/name/set", name)
        assert canary in str(await client.request("thread/list", {}))
        if not loaded:
            await home.server.services.live.unload(ThreadId(thread))
        await client.request(SET, {"threadId": thread, "mode": "disabled", "memoryUse": False})
        gone = [one["params"] for one in client.notifications("thread/name/updated")][-1]
        assert gone == {"threadId": thread, "threadName": None}
        error = await error_of(client, "thread/name/set", name)
        assert error["data"]["kind"] == "privateThread" and thread in error["message"]
        await client.request(
            "thread/metadata/update", {"threadId": thread, "gitInfo": {"sha": "a"}}
        )
        listed = await client.request("thread/list", {})
        assert [(one["preview"], one["name"]) for one in listed["data"]] == [
            ("Private thread", None)
        ]
        assert (await client.request("thread/list", {"searchTerm": canary}))["data"] == []
        read = await client.request("thread/read", {"threadId": thread})
        assert read["thread"]["preview"] == "Private thread"
    home.home.database.unlink()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        [row] = (await client.request("thread/list", {}))["data"]
        assert (row["preview"], row["name"]) == ("Private thread", None)
    places = [path for path, data in files_below(tmp_path).items() if canary.encode() in data]
    assert places and all(path.startswith("home/sessions/") for path in places)
