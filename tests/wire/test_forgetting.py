"""Forgetting and consolidation as clients see them: at once, and with no trace of the worker."""

import asyncio
import errno
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from state.ids import ThreadId
from state.stores.outputs import Output
from tests.support.homes import Serving, provider_config, serving
from tests.support.learning import put_thread
from tests.support.methods import started
from tests.support.responses_server import (
    Call,
    Recorded,
    Reply,
    ResponsesServer,
    calls,
    says,
)
from tests.support.wire import KINDS, Kind, WireClient

CANARY = "zanzibar-7731"
WORKER = "worker-words-4410"
# Nothing listens there: every call of a model fails.
DOWN = provider_config("http://127.0.0.1:9/v1")


async def _output(home: Serving, text: str) -> ThreadId:
    state = home.server.services.state
    thread_id = await put_thread(state, text)
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, thread_id)
        assert row is not None
        await state.outputs.put(
            tx,
            Output(
                version="v1",
                thread_id=thread_id,
                source_updated_at_ms=row.updated_at_ms,
                raw_memory=f"### Task 1: work\n\nReusable knowledge:\n\n- {text}\n",
                rollout_summary=f"# Work\n\n- {text}",
                rollout_slug="work",
                generated_at_ms=state.clock.now_ms(),
            ),
        )
        await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=row.updated_at_ms)
    return thread_id


async def _consolidated(client: WireClient) -> dict[str, Any]:
    result: dict[str, Any] = await client.request("memory/consolidate/start", {"wait": True})
    return result


def _holding(folder: Path, needle: str) -> list[str]:
    found: list[str] = []
    for path in (one for one in folder.rglob("*") if one.is_file()):
        data = path.read_bytes()
        try:
            unpacked = zlib.decompress(data)
        except zlib.error:
            unpacked = b""
        if needle.encode() in data or needle.encode() in unpacked:
            found.append(str(path))
    return found


@pytest.mark.requirement("FR-F4", "MW-F-forgotten-now")
@pytest.mark.parametrize("how", ["thread/delete", "thread/memoryMode/set"])
async def test_when_the_answer_comes_nothing_of_the_thread_is_read_any_more(
    tmp_path: Path, how: str
) -> None:
    """Without a model that could be reached, and without a pass of the scheduler."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        going = await _output(home, f"the staging host is {CANARY}")
        staying = await _output(home, "commits are small")
        done = await _consolidated(client)
        assert done["consolidation"]["status"] == "published", done
        folder = home.home.memories("v1")
        assert _holding(folder, CANARY) != []
    async with serving(tmp_path, config=DOWN) as home, home.wire.client("pair") as client:
        reader = await started(client)
        before = await client.request("thread/memory/read", {"threadId": reader})
        assert CANARY in before["summary"]
        params: dict[str, str] = {"threadId": going}
        if how == "thread/memoryMode/set":
            params["mode"] = "disabled"
        assert await client.request(how, params) == {}
        after = await client.request("thread/memory/read", {"threadId": reader})
        assert CANARY not in after["summary"]
        assert "small" in after["summary"]
        assert await home.server.services.lanes.withdraw() == {}
        assert _holding(folder, CANARY) == []
        assert going not in (folder / "MEMORY.md").read_text()
        assert staying in (folder / "MEMORY.md").read_text()
        # The consolidator is down, and changes nothing of this.
        ended = (await _consolidated(client))["consolidation"]
        assert ended["status"] == "failed"
        assert _holding(folder, CANARY) == []


def _worker(request: Recorded) -> bool:
    return "keep the long-term memory" in request.body.get("instructions", "")


@pytest.mark.requirement("FR-C4")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_consolidation_leaves_no_trace_in_threads_and_streams(
    tmp_path: Path, kind: Kind
) -> None:
    """A client in a running turn gets nothing of the worker but steps and counts."""
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client(kind) as client:
            kept = await _output(home, "commits are small")
            model.choose = _replies(kept)
            async with home.wire.client(kind) as other:
                thread = await started(client)
                say = [{"type": "text", "text": "tell me a long story"}]
                await client.request("turn/start", {"threadId": thread, "input": say})
                await model.wait_for_requests(1)
                done = await _consolidated(other)
                assert done["consolidation"]["status"] == "published", done
                loaded = await other.request("thread/loaded/list", {})
                listed = await other.request("thread/list", {})
                model.release()
                await client.notification("turn/completed")
                read = await other.request(
                    "thread/read", {"threadId": thread, "includeTurns": True}
                )
            assert loaded["data"] == [thread]
            assert {one["id"] for one in listed["data"]} <= {thread, kept}
            assert WORKER in (home.home.memories("v1") / "MEMORY.md").read_text()
            told = [one["params"] for one in client.notifications("memory/progress")]
            steps = [one["data"] for one in told if one["what"] == "consolidation/progress"]
            assert [one["step"] for one in steps] == [
                "gathered",
                "consolidating",
                "consolidating",
                "publishing",
            ]
            assert [one["modelCalls"] for one in steps[1:3]] == [1, 2]
            assert [one["toolCalls"] for one in steps[1:3]] == [2, 2]
            for text in (json.dumps(client.frames), json.dumps(read), *_rollouts(home)):
                assert WORKER not in text
            for recorded in model.requests:
                if not _worker(recorded):
                    assert WORKER not in recorded.text
        # Nor is it there to be resumed or learned from after a restart.
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            listed = await client.request("thread/list", {})
            assert {one["id"] for one in listed["data"]} <= {thread, kept}


@pytest.mark.requirement("FR-K2", "MW-8.2-hooks", "MW-8.3-confined", "MW-9-5", "MW-F-reach")
async def test_hooks_servers_and_tools_of_the_user_do_not_exist_for_a_consolidation(
    tmp_path: Path,
) -> None:
    """A notify program, a hook that always fails and a server of tools: none is even started."""
    ran = tmp_path / "ran"
    script = tmp_path / "hook.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    script.chmod(0o755)
    async with ResponsesServer() as model:
        config = f"""
            notify = ["{script}"]
            {provider_config(model.base_url)}
            [mcp_servers.mine]
            command = "{script}"
            [[hooks.Stop]]
            command = "{script}"
            """
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            kept = await _output(home, "commits are small")
            model.choose = _replies(kept)
            done = await _consolidated(client)
            assert done["consolidation"]["status"] == "published", done
            assert not ran.exists()
            for recorded in model.requests:
                tools = ["list", "read", "search", "write", "edit", "move", "delete"]
                assert recorded.tool_names == tools


def _replies(kept: ThreadId) -> Callable[[Recorded], Reply | None]:
    """The worker writes and is done; the client's turn waits."""

    def reply(request: Recorded) -> Reply | None:
        if not _worker(request):
            return Reply(text="Once upon a time", hangs=True)
        if any(one.get("type") == "function_call" for one in request.body["input"]):
            return says(f"{WORKER} done")
        handbook = (
            f"# Task Group: shop\n\nscope: {WORKER}\napplies_to: cwd=/home/ada/shop; "
            "reuse_rule=here\n\n## Task 1: work, success\n\n### rollout_summary_files\n\n"
            f"- thread_id={kept}\n\n## User preferences\n\n- commits are small [Task 1]\n"
        )
        summary = (
            "v1\n\n## User Profile\n\n## User preferences\n\n- commits are small\n\n"
            "## General Tips\n\n## What's in Memory\n"
        )
        return calls(
            Call(name="write", arguments={"path": "MEMORY.md", "content": handbook}),
            Call(name="write", arguments={"path": "memory_summary.md", "content": summary}),
        )

    return reply


def _rollouts(home: Serving) -> list[str]:
    return [path.read_text() for path in home.home.root.glob("sessions/**/*.jsonl")]


@pytest.mark.requirement("FR-F4")
async def test_threads_deleted_side_by_side_all_go(tmp_path: Path) -> None:
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        going = [await _output(home, f"the host {number} is {CANARY}") for number in range(6)]
        await _output(home, "commits are small")
        await _consolidated(client)
        folder = home.home.memories("v1")
        await asyncio.gather(*(client.request("thread/delete", {"threadId": one}) for one in going))
        assert _holding(folder, CANARY) == []
        assert "small" in (folder / "MEMORY.md").read_text()


@pytest.mark.requirement("FR-F4", "FR-S13")
async def test_a_withdrawal_that_has_to_wait_is_shown_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk has no room for the copy: the overview says so until the words are out."""
    former = os.mkdir

    def refused(path: Any, *rest: Any, **more: Any) -> None:
        if "staging/v1-" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        former(path, *rest, **more)

    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        going = await _output(home, f"the staging host is {CANARY}")
        other = await _output(home, "commits are small")
        assert (await _consolidated(client))["consolidation"]["status"] == "published"
        with monkeypatch.context() as full:
            full.setattr(os, "mkdir", refused)
            await client.request("thread/memoryMode/set", {"threadId": going, "mode": "disabled"})
            await home.server.services.lanes.withdraw()
            view = await client.request("memory/overview")
        assert view["versions"][0]["withdrawalPending"] == "disk_full"
        assert any("could not be taken out yet" in note for note in view["notes"])
        await client.request("thread/memoryMode/set", {"threadId": other, "mode": "enabled"})
        assert await home.server.services.lanes.withdraw() == {}
        view = await client.request("memory/overview")
        assert view["versions"][0]["withdrawalPending"] is None
        assert CANARY not in (home.home.memories("v1") / "MEMORY.md").read_text()
