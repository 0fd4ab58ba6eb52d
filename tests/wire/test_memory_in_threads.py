"""Threads and memory over the wire: reports, withdrawal, and the same for every client."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.cli.render import overview
from state.ids import ThreadId
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import ResponsesServer, says
from tests.support.threads_memory import publish, report, section_of
from tests.support.wire import KINDS

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.mark.requirement("FR-R5", "MR-9-3", "MR-9-5")
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, None),
        ({"config": {"features.memories": False}}, "feature_off"),
        ({"config": {"features": {"memories": False}}}, "feature_off"),
        ({"config": {"memories.use_memories": False}}, "use_off"),
        ({"config": {"memories": {"use_memories": False}}}, "use_off"),
        ({"memoryUse": False}, "thread_off"),
        ({"memoryUse": False, "memoryMode": "disabled"}, "private"),
        ({"memoryMode": "disabled"}, None),
        ({"ephemeral": True}, None),
        ({"config": {"memories.dedicated_tools": False}}, None),
        ({"config": {"memories.version": "v2"}}, "no_summary"),
    ],
)
async def test_each_thread_says_whether_it_was_told_of_memory_and_why_not(
    tmp_path: Path, params: dict[str, Any], reason: str | None
) -> None:
    """Before its first turn, after it, and from its transcript when it is not loaded any more."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, "# Summary\n- likes blue\n", "Remember: likes green.\n")
        thread = await started(client, **params)
        before = await report(client, thread)
        assert (before["injected"], before["loaded"]) == (False, True)
        assert before["reason"] == ("private" if reason == "private" else "no_turn")
        await said(client, thread, "hello")
        told = await report(client, thread)
        assert (told["injected"], told["reason"]) == (reason is None, reason)
        assert {bool(told[one]) for one in ("tokens", "digest", "parts")} == {reason is None}
        assert told["notes"] == (0 if reason else 1)
        config = params.get("config", {})
        assert told["toolsOffered"] is (
            reason in (None, "no_summary") and config.get("memories.dedicated_tools", True)
        )
        assert told["memoryMode"] == params.get("memoryMode", "enabled")
        assert told["version"] == config.get("memories.version", "v1")
        if not params.get("ephemeral"):
            await home.server.services.live.unload(ThreadId(thread))
            stored = await report(client, thread)
            shown = {**told, "loaded": False, "toolsOffered": False}
            # Without its own configuration the thread is as its row says.
            shown["memoryUse"] = stored["memoryUse"]
            assert {**stored, "injected": told["injected"]} == shown
        assert "blue" not in json.dumps(told) and "green" not in json.dumps(told)


@pytest.mark.requirement("FR-R5")
@pytest.mark.parametrize(
    ("summary", "note", "reason"),
    [
        (None, None, "no_summary"),
        (" \n\t\n", None, "blank"),
        (None, "Remember: x", None),
        ("x", None, None),
    ],
)
async def test_a_note_alone_is_told_and_a_blank_summary_is_none(
    tmp_path: Path, summary: str | None, note: str | None, reason: str | None
) -> None:
    """A missing summary with pending notes still tells the notes."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, summary, note)
        thread = await started(client)
        await said(client, thread, "hello")
        told = await report(client, thread)
        assert (told["injected"], told["notes"]) == (reason is None, int(note is not None))
        assert told["reason"] == reason
        error = await error_of(client, "thread/memory/report", {"threadId": NOBODY})
        assert error["message"] == f"no rollout found for thread id {NOBODY}"
        error = await error_of(client, "thread/memory/report", {"threadId": thread, "x": 1})
        assert error["code"] == -32602


@pytest.mark.requirement("FR-R11")
async def test_every_client_over_every_transport_gets_the_same_bytes(tmp_path: Path) -> None:
    """Five transports, three names, one-shot threads: one section, seen in the model's requests."""
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home:
            publish(home, "# Summary\n- likes blue (MEMORY.md)\n", "Remember: likes green.\n")
            clients = [(kind, "codex_vscode") for kind in KINDS]
            clients += [("pair", "codex_exec"), ("pair", "my_script")]
            for kind, name in clients:
                async with home.wire.client(kind, initialize=False) as client:
                    await client.request(
                        "initialize",
                        {
                            "clientInfo": {"name": name, "version": "1"},
                            "capabilities": {"experimentalApi": True},
                        },
                    )
                    await client.notify("initialized")
                    thread = await started(client, ephemeral=name == "codex_exec")
                    await said(client, thread, "hello")
        sections = {json.dumps(section_of(one)) for one in model.requests}
        assert len(model.requests) == len(clients)
        assert len(sections) == 1 and "likes green" in sections.pop()


@pytest.mark.requirement("FR-R10", "FR-F16")
@pytest.mark.parametrize("use", [True, False])
async def test_no_markup_is_in_any_frame_or_page(tmp_path: Path, use: bool) -> None:
    """Deltas, items, pages, lists and the end of the turn, from the live thread and its file."""
    block = (
        "<oai-mem-citation>\n<citation_entries>\n/etc/passwd:7-3|note=[CANARY]\n"
        f"</citation_entries>\n<rollout_ids>\n{NOBODY}\n</rollout_ids>\n</oai-mem-citation>"
    )
    echo = "========= MEMORY_SUMMARY BEGINS =========\nCANARY-LINE\n"
    text = f"Look:\n```\n{block}\n```\n> {block}\n- end {echo}"
    async with ResponsesServer() as model:
        model.script(says(text, delta_characters=1, reasoning=f"hm {block}"))
        config = (
            f"{provider_config(model.base_url)}\n[memories]\nuse_memories = {str(use).lower()}\n"
        )
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            publish(home, "# Summary\n- STALE-LINE\n")
            thread = await started(client)
            turn = await said(client, thread, "hello")
            assert [one["text"] for one in turn["items"]] == ["Look:\n```\n\n```\n> \n- end "]
            for load in (True, False):
                if not load:
                    await home.server.services.live.unload(ThreadId(thread))
                for method in ("thread/turns/list", "thread/items/list", "thread/read"):
                    params: dict[str, Any] = {"threadId": thread}
                    params |= {"includeTurns": True} if method == "thread/read" else {}
                    assert "Look:" in json.dumps(await client.request(method, params))
            await client.request("thread/resume", {"threadId": thread})
            frames = json.dumps(client.frames)
            assert "oai-mem" not in frames and "CANARY-LINE" not in frames
            assert ("STALE-LINE" in model.requests[-1].text) is use


@pytest.mark.requirement("MW-F-forgotten-now", "MR-9-22")
@pytest.mark.parametrize("loaded", [True, False])
async def test_what_a_deleted_thread_said_does_not_come_back_through_another_one(
    tmp_path: Path, loaded: bool
) -> None:
    """Neither from a thread that stays loaded nor from one that is resumed, nor from its fork."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
    async with ResponsesServer() as model:
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            thread = await started(client)
            await said(client, thread, "hello")
            assert "Lisbon" in model.requests[-1].text
            if not loaded:
                await home.server.services.live.unload(ThreadId(thread))
            every = (await client.request("thread/list", {"modelProviders": []}))["data"]
            for one in [one for one in every if one["cwd"].endswith("essays")]:
                await client.request("thread/delete", {"threadId": one["id"]})
            if not loaded:
                await client.request("thread/resume", {"threadId": thread})
            fork = (await client.request("thread/fork", {"threadId": thread}))["thread"]["id"]
            for one in (thread, fork):
                await said(client, one, "and now")
                assert "Lisbon" not in model.requests[-1].text
                assert "make check" in model.requests[-1].text


@pytest.mark.requirement("MR-9-15")
async def test_a_polluted_thread_is_out_of_memory_at_once_and_comes_back(tmp_path: Path) -> None:
    """Its lines leave the summary behind the call; enabled again, they are learned back."""
    config = "[memories]\ndisable_on_external_context = true\n"
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        summary = home.home.memories("v1") / "memory_summary.md"
        assert "Lisbon" in summary.read_text()
        every = (await client.request("thread/list", {"modelProviders": []}))["data"]
        essays = [one["id"] for one in every if one["cwd"].endswith("essays")]
        for one in essays:
            await client.request("thread/resume", {"threadId": one})
            live = home.server.services.live.require(one)
            await live.memory.pollute("mcp", "search.web")
            told = await report(client, one)
            assert told["memoryMode"] == "polluted"
            assert told["pollutedBy"] == {"kind": "mcp", "name": "search.web"}
        assert await home.server.services.lanes.withdraw() == {}
        assert "Lisbon" not in summary.read_text()
        for one in essays:
            await client.request("thread/memoryMode/set", {"threadId": one, "mode": "enabled"})
        await client.request("memory/consolidate/start", {"wait": True})
        assert "Lisbon" in summary.read_text()


async def test_how_memory_was_used_is_counted_without_a_word_of_it(tmp_path: Path) -> None:
    """Look-ups by tool, scope and outcome, and turns by what they were allowed."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        await said(client, await started(client), "How do I run the tests?")
        await said(client, await started(client, memoryUse=False), "How do I run the tests?")
        view = await client.request("memory/overview", {})
        reads = view["reads"]
    turns = [one["labels"] for one in reads if one["name"] == "turn.memory"]
    assert sorted(one["read_allowed"] for one in turns) == ["false", "true"]
    assert {one["feature_enabled"] for one in turns} == {"true"}
    calls = [one["labels"] for one in reads if one["name"] == "memories.tool.call"]
    assert calls and {one["status"] for one in calls} == {"succeeded"}
    assert "tests" not in json.dumps(reads)
    sections = [one for one in reads if one["name"] == "memories.section"]
    outcomes = {one["labels"]["outcome"]: one["count"] for one in sections}
    assert outcomes == {"told": 1, "thread_off": 1}
    printed = "\n".join(overview({**view, "reads": reads}, joined=True))
    assert "told      1 thread of memory, 1 not (they were begun without it)" in printed
