"""Secrets planted everywhere are found nowhere but in what a person keeps: rollouts and sources.

Each place gets a secret of its own, so that a leak names its way. Looked through are the database
with its log, the memory folder with the objects of its git, logs, and what background models and
new threads were sent. A transcript keeps what was typed.
"""

import json
import logging
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.observability import log_to_stderr
from tests.support.consolidators import SUMMARY
from tests.support.homes import Serving, provider_config, serving
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, says_json, status
from tests.support.wire import WireClient

PLACES = (
    "typed",
    "assistant",
    "tool_output",
    "tool_arguments",
    "branch",
    "thread_name",
    "index_name",
    "model_recap",
    "model_raw",
    "note",
    "resource",
    "resource_name",
    "instructions",
    "imported",
    "imported_name",
    "handbook_by_hand",
    "provider_error",
    "pem_body",
)


def _secret(place: str) -> str:
    """A made-up token of a known shape that no other place has."""
    number = PLACES.index(place)
    return "gh" + f"p_{number:02}q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3"


SECRETS = {place: _secret(place) for place in PLACES}


@pytest.fixture
def logging_to_stderr() -> Iterator[None]:
    """Logs as a server with `--debug` writes them."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    log_to_stderr(debug=True)
    yield
    root.handlers[:] = before
    root.setLevel(level)


def test_the_planted_secrets_are_all_different() -> None:
    assert len(set(SECRETS.values())) == len(PLACES)


@pytest.mark.requirement("FR-F18", "MW-9-9")
async def test_no_planted_secret_is_found_outside_of_transcripts(
    tmp_path: Path, logging_to_stderr: None, capsys: pytest.CaptureFixture[str]
) -> None:
    _session(tmp_path / "source")
    _agent_memory(tmp_path)
    async with ResponsesServer() as model:
        model.choose = _reply
        async with serving(tmp_path, config=provider_config(model.base_url)) as home:
            _plant_in_folder(home.home.memories("v1"))
            async with home.wire.client("pair") as client:
                await _learn(client, tmp_path)
                handbook = home.home.memories("v1") / "MEMORY.md"
                text = handbook.read_text() + f"\n- by hand {SECRETS['handbook_by_hand']}\n"
                handbook.write_text(text)
                await _consolidated(client)
                model.choose = _refuse
                outage = await _outage(client, home)
                model.choose = lambda request: None
                told = [outage, *await _everything_told(client)]
            leaks = list(_leaks_in_files(home.home.root))
        sent = [request.text for request in model.requests]
    replies = json.dumps(told)
    background = "\n".join(text for text in sent if "typed-by-the-user-now" not in text)
    leaks += [f"{place} in a model request" for place in PLACES if SECRETS[place] in background]
    leaks += [f"{place} in a reply" for place in PLACES if SECRETS[place] in replies]
    logged = capsys.readouterr().err
    leaks += [f"{place} in a log" for place in PLACES if SECRETS[place] in logged]
    assert leaks == []
    # That nothing was looked past: the texts around the secrets did come through.
    for words in ("deployed from the branch", "an answer with", "a resource with", "a note with"):
        assert words in background, words


async def _learn(client: WireClient, folder: Path) -> None:
    imported = await client.request("thread/import", {"path": str(folder / "source")})
    assert imported["imported"] == 1, imported
    result = await client.request("memory/import", {"path": str(folder / "agent")})
    assert result["imported"] == 1
    threads = (await client.request("thread/list", {}))["data"]
    await client.request(
        "thread/name/set",
        {"threadId": threads[0]["id"], "name": f"named {SECRETS['thread_name']}"},
    )
    await _consolidated(client)


async def _consolidated(client: WireClient) -> None:
    result = await client.request("memory/consolidate/start", {"wait": True})
    assert result["consolidation"]["status"] == "published", result


async def _outage(client: WireClient, home: Serving) -> Any:
    """The provider quotes a key in its error; a changed folder makes it be asked."""
    folder = home.home.memories("v1") / "extensions" / "inbox" / "resources"
    (folder / "later.md").write_text("a later resource\n")
    result = await client.request("memory/consolidate/start", {"wait": True})
    assert result["consolidation"]["status"] == "failed", result
    return result


async def _everything_told(client: WireClient) -> list[Any]:
    thread = (await client.request("thread/start", {"cwd": "/home/user/x"}))["thread"]
    words = [{"type": "text", "text": "typed-by-the-user-now: what do you know?"}]
    await client.request("turn/start", {"threadId": thread["id"], "input": words})
    await client.notification("turn/completed")
    return [
        await client.request("memory/overview", {}),
        await client.request("thread/list", {}),
        await client.request("thread/memory/read", {"threadId": thread["id"]}),
    ]


def _reply(request: Recorded) -> Reply | None:
    """An extraction that repeats secrets; a consolidation that looks at everything and writes."""
    if request.structured:
        return says_json(
            {
                "rollout_summary": f"# Work\n\n- said {SECRETS['model_recap']}",
                "rollout_slug": "work",
                "raw_memory": f"---\ntask: work\n---\n\n- said {SECRETS['model_raw']}",
            }
        )
    if "Memory workspace diff" not in request.text:
        return None
    done = sum(item.get("type") == "function_call_output" for item in request.body["input"])
    if done == 0:
        paths = ("phase2_workspace_diff.md", "MEMORY.md", "raw_memories.md")
        return Reply(
            calls=(
                *(Call(name="read", arguments={"path": path}) for path in paths),
                Call(name="search", arguments={"queries": ["with"]}),
                Call(name="list", arguments={"path": "extensions/inbox/resources"}),
            )
        )
    if done <= 5:
        # The whole handbook again, so that a line written by hand would be kept.
        return Reply(
            calls=(
                Call(
                    name="write",
                    arguments={"path": "MEMORY.md", "content": "# Handbook\n\n- work was done\n"},
                ),
                Call(name="write", arguments={"path": "memory_summary.md", "content": SUMMARY}),
            )
        )
    return Reply(text="done")


def _refuse(request: Recorded) -> Reply:
    return status(401, f"Incorrect API key provided: {SECRETS['provider_error']}")


def _session(folder: Path) -> None:
    """A session of an hour ago in which secrets were typed, said and printed."""
    folder.mkdir()
    thread_id = "01a22885-a84d-73b3-9289-cd655708d96d"
    key = f"-----BEGIN PRIVATE KEY-----\n{SECRETS['pem_body']}\n-----END PRIVATE KEY-----"
    meta = {
        "id": thread_id,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/home/user/shop",
        "originator": "test",
        "cli_version": "0.1.0",
        "source": "cli",
        "model_provider": "mock",
        "git": {"branch": f"fix-{SECRETS['branch']}"},
    }
    items: list[dict[str, Any]] = [
        _message("user", f"typed {SECRETS['typed']} and {key}; always run the linter first"),
        _message("assistant", f"an answer with {SECRETS['assistant']}"),
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c1",
            "arguments": json.dumps({"command": f"deploy --token {SECRETS['tool_arguments']}"}),
        },
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": f"deployed from the branch\nkey {SECRETS['tool_output']}\n",
        },
    ]
    lines = [{"type": "session_meta", "payload": meta}]
    lines += [{"type": "response_item", "payload": item} for item in items]
    name = f"rollout-2026-01-01T00-00-00-{thread_id}.jsonl"
    text = "".join(
        json.dumps({"timestamp": "2026-01-01T00:00:00.000Z", **line}) + "\n" for line in lines
    )
    (folder / name).write_text(text)
    index = {"id": thread_id, "thread_name": f"index {SECRETS['index_name']}"}
    (folder / "session_index.jsonl").write_text(json.dumps(index) + "\n")


def _message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _agent_memory(folder: Path) -> None:
    project = folder / "agent" / "projects" / "-shop"
    (project / "memory").mkdir(parents=True)
    (project / "memory" / "MEMORY.md").write_text(f"imported with {SECRETS['imported']}\n")
    (project / "memory" / f"{SECRETS['imported_name']}.md").write_text("x\n")
    (project / "s.jsonl").write_text(json.dumps({"cwd": str(folder)}) + "\n")


def _plant_in_folder(memory: Path) -> None:
    inbox = memory / "extensions" / "inbox"
    (inbox / "resources").mkdir(parents=True)
    (inbox / "instructions.md").write_text(f"read with {SECRETS['instructions']}\n")
    (inbox / "resources" / "a.md").write_text(f"a resource with {SECRETS['resource']}\n")
    (inbox / "resources" / f"{SECRETS['resource_name']}.md").write_text("named\n")
    notes = memory / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime())
    (notes / f"{stamp}-key.md").write_text(f"a note with {SECRETS['note']}\n")


def _leaks_in_files(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] in ("sessions", "archived_sessions") or not path.is_file():
            continue
        data = path.read_bytes()
        if ".git" in relative.parts and "objects" in relative.parts:
            data += _unpacked(data)
        for place, secret in SECRETS.items():
            if secret.encode() in data:
                yield f"{place} in {relative}"


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""
