"""The main job over the wire: finished sessions in, a remembered fact out, with its source."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config, serving
from tests.support.responses_server import ResponsesServer
from tests.support.shared_data import needs_shared, shared
from tests.support.wire import KINDS, Kind, WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
REMEMBERED = (
    "type hints",
    "small commits",
    "make check",
    "British English",
    "Paris",
    "celsius",
    "one paragraph",
    "Explore",
    "linter",
    "thirty lines",
)
NEVER = ("AGENTS-ONLY-FACT", "Always run make check", "sk-proj-FAKE", "hunter2", "weather")


async def _learned(client: WireClient, source: Path) -> Mapping[str, Any]:
    imported: Mapping[str, Any] = await client.request("thread/import", {"path": str(source)})
    assert imported["failed"] == []
    result: Mapping[str, Any] = await client.request("memory/consolidate/start", {"wait": True})
    assert result["consolidation"]["status"] == "published"
    return imported


async def _asked(client: WireClient, question: str, cwd: str = "/home/user/x") -> dict[str, Any]:
    """A new thread's answer: its agent message item."""
    thread = (await client.request("thread/start", {"cwd": cwd}))["thread"]
    await client.request(
        "turn/start", {"threadId": thread["id"], "input": [{"type": "text", "text": question}]}
    )
    turn = (await client.notification("turn/completed"))["turn"]
    assert turn["status"] == "completed", turn
    [item] = turn["items"]
    return dict(item)


@needs_shared
@pytest.mark.parametrize("kind", KINDS)
async def test_real_sessions_are_remembered_with_their_sources(tmp_path: Path, kind: Kind) -> None:
    """Every statement of the real sessions comes back; rules of files and secrets never do."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        await _learned(client, shared("rollouts"))
        thread = (await client.request("thread/start", {"cwd": "/home/user/x"}))["thread"]
        memory = (await client.request("thread/memory/read", {"threadId": thread["id"]}))["summary"]
        assert [word for word in REMEMBERED if word not in memory] == []
        assert [word for word in NEVER if word in memory] == []
        for question, word in (
            ("Which English does the user write in proj_b?", "British English"),
            ("How do I run the tests in proj_a?", "make check"),
            ("What should I do before a commit?", "linter"),
        ):
            item = await _asked(client, question)
            assert word in item["text"], item["text"]
            assert "citation" not in item["text"]
            citation = item["memoryCitation"]
            assert citation["entries"] and citation["threadIds"], question


@needs_shared
@pytest.mark.parametrize("kind", ["websocket", "stdio"])
@pytest.mark.requirement("FR-R11")
async def test_a_model_is_sent_what_was_remembered(tmp_path: Path, kind: Kind) -> None:
    """The recorded request of a new thread carries the facts, and nothing that must not be kept."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        await _learned(client, shared("rollouts"))
    async with ResponsesServer() as model:
        async with serving(tmp_path, config=provider_config(model.base_url)) as home:
            async with home.wire.client(kind) as client:
                await _asked(client, "hello there")
        sent = model.requests[-1].text
    assert [word for word in REMEMBERED if word not in sent] == []
    assert [word for word in NEVER if word in sent] == []


@pytest.mark.requirement("FR-F16")
async def test_with_memory_off_not_a_line_of_it_is_sent(tmp_path: Path) -> None:
    """A published summary on disk stays there when the switch says so."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await _learned(client, SAMPLES)
        summary = (home.home.memories("v1") / "memory_summary.md").read_text("utf-8")
    statements = [line for line in summary.splitlines() if line.startswith("- ")]
    assert statements
    async with ResponsesServer() as model:
        config = provider_config(model.base_url) + "\n[memories]\nuse_memories = false\n"
        async with (
            serving(tmp_path, config=config) as home,
            home.wire.client("pair") as client,
        ):
            await _asked(client, "hello there")
        sent = model.requests[-1].text
    assert [line for line in statements if line in sent or json.dumps(line) in sent] == []
    assert "memories" not in model.requests[-1].tool_names


async def test_the_sample_sessions_of_the_demo_are_remembered(tmp_path: Path) -> None:
    """From a clean clone too: our own sessions, one of which leaves nothing."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        imported = await _learned(client, SAMPLES)
        assert imported["imported"] == 5
        item = await _asked(client, "How do I run the tests?", "/home/sam/webshop")
        assert "make check" in item["text"]
        assert item["memoryCitation"]["threadIds"]
        assert "not a language model" in item["text"]
