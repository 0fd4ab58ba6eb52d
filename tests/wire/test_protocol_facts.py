"""Facts of the protocol that clients lean on, one by one: handshakes, status, lists, turns, lists
that are asked for at a start."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from protocol.methods import METHODS_BY_NAME
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import ResponsesServer, says
from tests.support.rollout_files import THREAD, event, message, session_meta, write_rollout
from tests.support.wire import KINDS, Kind

CHILD = "01a22885-a951-7b23-978e-7abfa3c78da2"
GRANDCHILD = "01a22885-a951-7b23-978e-7abfa3c78da3"

AT_THE_START: dict[str, dict[str, Any] | None] = {
    "account/read": {},
    "model/list": {},
    "hooks/list": {"cwds": ["/home/user/project"]},
    "account/bedrock/checkGovCloudRequirements": None,
    "config/read": {"cwd": "."},
    "configRequirements/read": None,
    "collaborationMode/list": {},
    "thread/list": {},
    "skills/list": {"cwds": ["/home/user/project"], "forceReload": None},
    "plugin/installed": {"cwds": None},
    "permissionProfile/list": {},
    "mcpServerStatus/list": {},
    "thread/loaded/list": {},
}
NOT_HERE = ("thread/readState/update", "thread/goal/set", "thread/rollback")


@pytest.mark.requirement("MR-9-23")
@pytest.mark.parametrize("kind", KINDS)
async def test_each_connection_shakes_hands_and_gets_its_own_replies(
    kind: Kind, tmp_path: Path
) -> None:
    """The same id on two of them is two requests."""
    async with (
        serving(tmp_path) as home,
        home.wire.client(kind, initialize=False) as late,
        home.wire.client(kind) as first,
        home.wire.client(kind) as second,
    ):
        error = await error_of(late, "thread/list", {})
        assert error["message"] == "Not initialized"
        threads = [await started(first), await started(second)]
        names = [one.expect("same") for one in (first, second)]
        for client, thread in zip((first, second), threads, strict=True):
            await client.link.send(
                b'{"id":"same","method":"thread/read","params":{"threadId":"%s"}}' % thread.encode()
            )
        replies = [await asyncio.wait_for(one, 5) for one in names]
        assert [one["result"]["thread"]["id"] for one in replies] == threads
        await late.initialize()
        error = await error_of(late, "initialize", {"clientInfo": {"name": "x", "version": "1"}})
        assert error["message"] == "Already initialized"


@pytest.mark.requirement("MR-9-28")
async def test_the_status_of_a_thread_is_told_and_a_failure_stands_until_the_next_turn(
    tmp_path: Path,
) -> None:
    """In notifications, in lists and in reads; a client that declined them gets none."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
        home.wire.client("pair", initialize=False) as deaf,
    ):
        await deaf.initialize(opt_out=["thread/status/changed", "nobody/knows"])
        thread = await started(client)
        assert (await said(client, thread, "fail with an error"))["status"] == "failed"
        listed = (await client.request("thread/list", {}))["data"][0]
        read = (await client.request("thread/read", {"threadId": thread}))["thread"]
        assert listed["status"] == read["status"] == {"type": "systemError"}
        assert (await said(client, thread, "hello"))["status"] == "completed"
        told = [
            frame["params"]["status"]["type"]
            for frame in client.notifications("thread/status/changed")
        ]
        assert told == ["active", "systemError", "active", "idle"]
        await deaf.notification("thread/started")
        assert deaf.notifications("thread/status/changed") == []


@pytest.mark.requirement("MR-9-30")
async def test_a_resume_changes_nothing_and_refuses_a_history(tmp_path: Path) -> None:
    """Its time stays; a turn that a crash cut is shown as interrupted."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        before = (await client.request("thread/read", {"threadId": thread}))["thread"]
        path = Path(before["path"])
    cut = '{"timestamp":"2026-11-29T18:16:16.000Z","ordinal":900,"type":"event_msg","payload":'
    cut += '{"type":"task_started","turn_id":"01a22885-a46e-7000-937a-ef1997f9fd17"}}\n'
    await asyncio.to_thread(_append, path, cut)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        resumed = (await client.request("thread/resume", {"threadId": thread}))["thread"]
        assert resumed["updatedAt"] == before["updatedAt"]
        assert [turn["status"] for turn in resumed["turns"]] == ["completed", "interrupted"]
        error = await error_of(client, "thread/resume", {"threadId": thread, "history": []})
        assert "not supported" in error["message"]


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.requirement("MR-9-32")
async def test_lists_hold_what_was_asked_for_in_order_and_page_by_page(tmp_path: Path) -> None:
    """Sessions that a person began by default; filters; clamped limits; a bad cursor is told."""
    spoken = [message("user", "words of old"), event("user_message", message="words of old")]
    for thread, parent in ((THREAD, None), (CHILD, THREAD), (GRANDCHILD, CHILD)):
        source: Any = "cli"
        if parent is not None:
            source = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}}
        meta = session_meta(thread, source=source, parent_thread_id=parent)
        write_rollout(tmp_path / "sources", meta, *spoken, thread_id=thread)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(tmp_path / "sources")})
        own = []
        for number in range(3):
            own.append(await started(client, cwd=f"/home/user/{number % 2}"))
            await said(client, own[-1], f"words {number}")
        await started(client)
        await said(client, await started(client, ephemeral=True), "not kept")

        async def listed(**params: Any) -> list[str]:
            page = await client.request("thread/list", params)
            return [row["id"] for row in page["data"]]

        assert await listed() == [*own[::-1], THREAD]
        assert await listed(sortDirection="asc", limit=0) == [THREAD]
        assert await listed(limit=4_000_000) == [*own[::-1], THREAD]
        assert await listed(cwd="/home/user/0") == [own[2], own[0]]
        assert await listed(cwd=["/home/user/1", "/home/ann/calc"]) == [own[1], THREAD]
        assert await listed(modelProviders=["mock"]) == [THREAD]
        assert await listed(searchTerm="OF OLD") == [THREAD]
        assert await listed(sourceKinds=["subAgentThreadSpawn"]) == [GRANDCHILD, CHILD]
        assert await listed(parentThreadId=THREAD) == [CHILD]
        assert await listed(ancestorThreadId=THREAD) == [GRANDCHILD, CHILD]
        assert await listed(includedThreadIds=own, excludedThreadIds=own[1:]) == own[:1]
        await client.request("thread/archive", {"threadId": own[0]})
        assert await listed(archived=True) == own[:1]
        assert own[0] not in await listed()
        error = await error_of(client, "thread/list", {"cursor": "nonsense"})
        assert error["message"] == "invalid cursor: nonsense"
        both = {"parentThreadId": THREAD, "ancestorThreadId": THREAD}
        assert "cannot be combined" in (await error_of(client, "thread/list", both))["message"]


@pytest.mark.requirement("MR-9-33")
async def test_a_turn_takes_empty_input_and_overrides_that_last(tmp_path: Path) -> None:
    """The size limit is inclusive."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await client.request("turn/start", {"threadId": thread, "input": [], "effort": "low"})
        ended = (await client.notification("turn/completed"))["turn"]
        assert ended["status"] == "completed" and len(model.requests) == 1
        await said(client, thread, "hello")
        efforts = [one.body["reasoning"]["effort"] for one in model.requests]
        assert efforts == ["low", "low"]
        words = [{"type": "text", "text": "x" * 1_048_577}]
        error = await error_of(client, "turn/start", {"threadId": thread, "input": words})
        assert error["data"]["actual_chars"] == 1_048_577
        model.script(says("much"))
        assert (await said(client, thread, "x" * 1_048_576))["status"] == "completed"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_clients_ask_at_their_start_is_answered_at_once(
    kind: Kind, tmp_path: Path
) -> None:
    """All in flight together, as a terminal client sends them; with experimental ones and without.

    What is not offered is said to be unknown, since silence would hang it.
    """
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        asked = [client.reply(method, params) for method, params in AT_THE_START.items()]
        replies = await asyncio.gather(*asked)
        failed = {
            method
            for method, reply in zip(AT_THE_START, replies, strict=True)
            if "result" not in reply
        }
        assert failed == set()
        error = await error_of(client, "account/rateLimits/read", {})
        assert error["message"] == "codex account authentication required to read rate limits"
        for method in NOT_HERE:
            assert method not in METHODS_BY_NAME
            assert (await error_of(client, method, {}))["code"] == -32601


async def test_the_lists_of_a_thread_are_empty_and_need_the_thread(tmp_path: Path) -> None:
    """No terminals, no goal, hooks of its folder."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client, cwd="/home/user/p")
        of_thread = {"threadId": thread}
        assert await client.request("thread/backgroundTerminals/list", of_thread) == {
            "data": [],
            "nextCursor": None,
        }
        assert await client.request("thread/goal/get", of_thread) == {"goal": None}
        assert await client.request("thread/goal/clear", of_thread) == {"cleared": False}
        hooks = await client.request("hooks/list", of_thread)
        assert [one["cwd"] for one in hooks["data"]] == ["/home/user/p"]
        missing = {"threadId": "00000000-0000-7000-8000-000000000000"}
        error = await error_of(client, "thread/backgroundTerminals/list", missing)
        assert error["message"].startswith("thread not found")


async def test_the_limits_of_the_provider_are_told_once_it_told_them(tmp_path: Path) -> None:
    """From the headers of its last answer."""
    headers = {"x-codex-primary-used-percent": "12.0", "x-codex-primary-window-minutes": "300"}
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        model.script(says("hello", headers=headers))
        thread = await started(client)
        await said(client, thread, "hello")
        result = await client.request("account/rateLimits/read", {})
        assert result["rateLimits"]["primary"]["usedPercent"] == 12
        assert list(result["rateLimitsByLimitId"]) == ["codex"]
