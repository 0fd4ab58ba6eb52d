"""Both phases with a model behind the Responses API: what it may do, and what it may not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer
from tests.support.consolidators import SUMMARY
from tests.support.homes import provider_config, serving
from tests.support.model_consolidator import well
from tests.support.responses_server import (
    Call,
    Recorded,
    Reply,
    ResponsesServer,
    calls,
    says,
    says_json,
)
from tests.support.wire import WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
GOOD = {
    "rollout_summary": "# The person wants small commits\n\nRollout context: webshop",
    "rollout_slug": "small_commits",
    "raw_memory": "---\ndescription: commits\n---\n\n### Task 1: commits\n\n- small commits",
}
Chooser = Callable[[Recorded], Reply | None]


def _consolidates(*made: Call) -> Callable[[Recorded], Reply]:
    """Make these calls in the first round, and say that it is done in the second."""

    def choose(request: Recorded) -> Reply:
        outputs = [one for one in request.body["input"] if one["type"] == "function_call_output"]
        return says("done") if outputs else calls(*made)

    return choose


def _chooses(extract: Reply, consolidate: Callable[[Recorded], Reply]) -> Chooser:
    def choose(request: Recorded) -> Reply | None:
        if request.structured:
            return extract
        return consolidate(request) if "write" in request.tool_names else None

    return choose


async def test_a_model_extracts_and_consolidates_within_its_tools(tmp_path: Path) -> None:
    """Strict schema for each session; then file tools, and nothing else, in the staged folder."""
    async with ResponsesServer() as model:
        model.choose = _chooses(says_json(GOOD), well)
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            await client.request("thread/import", {"path": str(SAMPLES)})
            done = await client.request("memory/consolidate/start", {"wait": True})
            overview = await client.request("memory/overview")
        heard = [one for one in model.requests if one.structured]
        agent = [one for one in model.requests if "write" in one.tool_names]
    assert done["consolidation"]["status"] == "published", done
    assert (done["extraction"]["succeeded"], len(heard)) == (5, 5)
    schema = heard[0].body["text"]["format"]
    assert schema["strict"] is True and schema["schema"]["additionalProperties"] is False
    assert not heard[0].tool_names
    assert set(agent[0].tool_names) == {"list", "read", "search", "write", "edit", "move", "delete"}
    assert "hunter2" not in "".join(one.text for one in heard)
    assert (home.home.memories("v1") / "memory_summary.md").read_text("utf-8") == SUMMARY
    assert overview["spending"]["extractionTokens"] > 0
    assert done["inputTokens"] + done["outputTokens"] > 0


def _well_in_chat(request: Recorded) -> Reply:
    """The same work told in messages: each result of a tool is one."""
    results = [one for one in request.body["messages"] if one["role"] == "tool"]
    outputs = [{"type": "function_call_output", "output": one["content"]} for one in results]
    return well(Recorded(headers=request.headers, body={"input": outputs}))


@pytest.mark.requirement("FR-G2")
async def test_both_phases_and_turns_run_on_a_plain_chat_endpoint(tmp_path: Path) -> None:
    """No schema, no usage asked for, no parallel calls, no headers: a minimal stub."""
    async with ChatServer() as model:
        model.refuses = frozenset({"response_format", "stream_options", "parallel_tool_calls"})

        def choose(request: Recorded) -> Reply | None:
            if "Answer with one JSON object" in request.text:
                return says_json(GOOD)
            return _well_in_chat(request) if "write" in request.tool_names else None

        model.choose = choose
        config = provider_config(model.base_url) + 'wire_api = "chat"\n'
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            await client.request("thread/import", {"path": str(SAMPLES)})
            done = await client.request("memory/consolidate/start", {"wait": True})
            started = await client.request("thread/start", {})
            said = {"threadId": started["thread"]["id"], "input": [{"type": "text", "text": "hi"}]}
            await client.request("turn/start", said)
            ended = await client.notification("turn/completed")
        assert done["extraction"]["succeeded"] == 5
        assert done["consolidation"]["status"] == "published", done
        assert ended["turn"]["items"][0]["text"].endswith("hi -- mock-final")
        assert "memories__search" in model.requests[-1].tool_names
    assert (home.home.memories("v1") / "memory_summary.md").read_text("utf-8") == SUMMARY


@pytest.mark.requirement("MW-8.2-live-settings")
async def test_a_thread_s_service_tier_is_kept_and_holds_for_its_extraction(
    tmp_path: Path,
) -> None:
    """Also when it was loaded anew; a turn may name another one, and one without asks for none."""
    async with ResponsesServer() as model:
        model.choose = _chooses(says_json(GOOD), well)
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            for tier in ("flex", None):
                started = await client.request("thread/start", {"serviceTier": tier})
                assert started["serviceTier"] == tier
                await _say(client, started["thread"]["id"], "Always make small commits, please.")
                assert model.requests[-1].body.get("service_tier") == tier
            await client.request("memory/consolidate/start", {"wait": True})
            heard = [one.body.get("service_tier") for one in model.requests if one.structured]
            assert sorted(map(str, heard)) == ["None", "flex"]
            first = (await client.request("thread/list", {}))["data"][-1]["id"]
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            resumed = await client.request("thread/resume", {"threadId": first})
            assert resumed["serviceTier"] == "flex"
            await _say(client, first, "And short titles.", serviceTier="priority")
            assert model.requests[-1].body["service_tier"] == "priority"
            await _say(client, first, "Thanks.")
            assert model.requests[-1].body["service_tier"] == "priority"
            del model.requests[:]
            await client.request("memory/consolidate/start", {"wait": True, "threadId": first})
            (again,) = (one for one in model.requests if one.structured)
            assert again.body["service_tier"] == "priority"


async def _say(client: WireClient, thread_id: str, text: str, **settings: str) -> None:
    said = {"threadId": thread_id, "input": [{"type": "text", "text": text}], **settings}
    await client.request("turn/start", said)
    await client.notification("turn/completed")


@pytest.mark.requirement("FR-E5")
@pytest.mark.parametrize(
    "reply",
    [
        says("Here is what I found: small commits."),
        says_json({**GOOD, "extra": 1}),
        Reply(text=json.dumps({**GOOD, "raw_memory": "x" * 5_000_000}), delta_characters=100_000),
        says_json({}),
        Reply(text=json.dumps(GOOD)[:40], delta_characters=20),
        Reply(text=json.dumps(GOOD), cut=True),
    ],
    ids=["prose", "extra key", "5 MB", "empty object", "half an object", "cut stream"],
)
async def test_a_bad_extraction_stores_nothing_and_is_tried_later(
    tmp_path: Path, reply: Reply
) -> None:
    """Each job ends with a reason and a time; memory is not made of nothing."""
    async with ResponsesServer() as model:
        model.choose = _chooses(reply, well)
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            await client.request("thread/import", {"path": str(SAMPLES)})
            done = await client.request("memory/consolidate/start", {"wait": True})
            overview = await client.request("memory/overview")
    assert done["extraction"]["succeeded"] == 0 and sum(done["extraction"]["failed"].values()) > 0
    assert overview["outputs"] == 0 and overview["lastEdition"] is None
    failed = [job for job in overview["waiting"] if job["status"] == "failed"]
    assert failed and all(job["reason"] and job["retryAtMs"] for job in failed)
    assert not (home.home.memories("v1") / "MEMORY.md").exists()


def _never_stops(request: Recorded) -> Reply:
    return calls(Call(name="list", arguments={}))


@pytest.mark.requirement("FR-C7", "FR-K1", "MW-F-invalid-summary")
@pytest.mark.parametrize(
    "consolidate",
    [
        _consolidates(Call(name="write", arguments={"path": "../out.md", "content": "x"})),
        _consolidates(Call(name="write", arguments={"path": "/tmp/out.md", "content": "x"})),
        _consolidates(Call(name="write", arguments={"path": "MEMORY.md", "content": ""})),
        _consolidates(Call(name="delete", arguments={"path": "MEMORY.md"})),
        _consolidates(Call(name="delete", arguments={"path": "raw_memories.md"})),
        _consolidates(Call(name="shell", arguments={"cmd": "ln -s / MEMORY.md"})),
        _never_stops,
    ],
    ids=["outside", "absolute", "emptied", "deleted", "inputs", "shell", "never stops"],
)
async def test_a_consolidator_that_misbehaves_changes_nothing(
    tmp_path: Path, consolidate: Callable[[Recorded], Reply]
) -> None:
    """What was published before stands byte for byte, and nothing exists outside."""
    first, rest = tmp_path / "first", tmp_path / "rest"
    for folder, sessions in ((first, slice(0, 1)), (rest, slice(1, None))):
        folder.mkdir()
        for session in sorted(SAMPLES.glob("*.jsonl"))[sessions]:
            (folder / session.name).write_bytes(session.read_bytes())
    async with ResponsesServer() as model:
        model.choose = _chooses(says_json(GOOD), well)
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            await client.request("thread/import", {"path": str(first)})
            await client.request("memory/consolidate/start", {"wait": True})
            folder = home.home.memories("v1")
            before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
            model.choose = _chooses(says_json(GOOD), consolidate)
            await client.request("thread/import", {"path": str(rest)})
            done = await client.request("memory/consolidate/start", {"wait": True})
    assert before
    after = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    if done["consolidation"]["status"] == "published":
        # Refused tool calls left the staged copy sound: the new inputs are published, no more.
        assert after[folder / "MEMORY.md"] == before[folder / "MEMORY.md"]
    else:
        assert after == before, done
    assert list(home.home.staging.iterdir()) == []
    assert not (tmp_path / "out.md").exists()
