"""Unmodified public clients drive memoryd as they drive the original; each a flow of its own.

`pytest -m slow tests/acceptance/test_clients.py` installs and runs all of them.
"""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.installed import MEMORYD
from tests.support.real_clients import Bench, acting, npm_client, python_client
from tests.support.responses_server import ResponsesServer

HERE = Path(__file__).parent
AI, ACP = "ai-sdk-provider-codex-cli@1.4.1", "@agentclientprotocol/codex-acp@2.6.0"
ASKED = 2


def _said(seen: dict[str, Any], **texts: str) -> None:
    """The final answers of turns, as the scripted model gives them."""
    for name, text in texts.items():
        assert seen[name] == f"You said: {text} -- mock-final", (name, seen)


def _holds(seen: dict[str, Any], bench: Bench) -> None:
    """Turns, both approvals, and a second connection that lists and resumes what the first made."""
    _said(seen, command="run the command", edit="edit the file", second="and again")
    assert len(seen["asked"]) == ASKED, seen
    assert bench.acted()
    assert seen["listed"] == [seen["thread"]]


@pytest.mark.timeout(500)
async def test_codex_python_sdk_runs_over_stdio(tmp_path: Path) -> None:
    """The one that resumes before each turn and reads lines of at most 64 KiB."""
    python = python_client(tmp_path / "client", "codex-python-sdk==0.2.1", [sys.executable])
    async with ResponsesServer() as model:
        model.choose = acting
        bench = Bench.made(tmp_path, model.base_url)
        seen = await bench.flow(python, HERE / "psdk_flow.py", bench.project, MEMORYD)
    _holds(seen, bench)
    _said(seen, first="hello", streamed="in pieces")
    assert (seen["turns"], seen["models"]) == (5, 1)


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_codex_python_runs_over_stdio_and_websocket(tmp_path: Path) -> None:
    """The one that checks each known notification against its schema."""
    python = python_client(tmp_path / "client", "codex-python[websocket]==1.159.2")
    async with ResponsesServer() as model:
        model.choose = acting
        for kind in ("stdio", "websocket"):
            (tmp_path / kind).mkdir()
            bench = Bench.made(tmp_path / kind, model.base_url)
            flow = python, HERE / "cpy_flow.py", bench.project, kind
            if kind == "stdio":
                seen = await bench.flow(*flow, MEMORYD)
            else:
                async with bench.serving() as (url, secret):
                    seen = await bench.flow(*flow, url, secret)
            _holds(seen, bench)
            _said(seen, first="hello", fork="in the fork")
            assert seen["json"] == {"fact": "scripted-fact"}
            assert (seen["turns"], seen["paged"], seen["models"]) == (5, 5, 1)


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_codex_app_server_client_runs_over_stdio(tmp_path: Path) -> None:
    """The one that learns the id of a turn from turn/started only."""
    python = python_client(tmp_path / "client", "codex-app-server-client==0.1.0")
    async with ResponsesServer() as model:
        model.choose = acting
        bench = Bench.made(tmp_path, model.base_url)
        seen = await bench.flow(python, HERE / "asc_flow.py", bench.project, MEMORYD)
    _holds(seen, bench)
    _said(seen, first="hello")
    assert seen["items"] == ["userMessage", "commandExecution", "agentMessage"]
    assert seen["status"] == "completed" and seen["tokens"]
    assert seen["deltas"] >= 1 and seen["models"] == 1


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_codex_python_sdk_unofficial_runs_over_stdio(tmp_path: Path) -> None:
    """The one that knows few service tiers and no approval of today."""
    python = python_client(tmp_path / "client", "codex-python-sdk-unofficial==0.128.0")
    async with ResponsesServer() as model:
        bench = Bench.made(tmp_path, model.base_url)
        seen = await bench.flow(python, HERE / "unof_flow.py", bench.project, MEMORYD)
    _said(seen, first="hello")
    assert seen["status"] == seen["turn"] == seen["again"] == "completed"
    assert seen["listed"] == [seen["thread"]] and seen["turns"] == 2


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_the_provider_of_the_ai_sdk_runs_over_stdio(tmp_path: Path) -> None:
    """The one that reads a version out of userAgent before anything else."""
    modules = npm_client(tmp_path / "client", AI, "zod@4.6.7")
    flow = modules.parent / "ai_flow.mjs"  # node looks for packages from where the script is
    flow.write_text((HERE / "ai_flow.mjs").read_text())
    async with ResponsesServer() as model:
        model.choose = acting
        bench = Bench.made(tmp_path, model.base_url)
        seen = await bench.flow("node", flow, bench.project, MEMORYD)
    assert seen["first"].endswith("hello -- mock-final") and seen["finished"] == "stop"
    _said(seen, command="run the command", edit="edit the file", second="and again")
    assert len(seen["asked"]) == ASKED and bench.acted()
    for name in ("command", "edit"):
        assert {"tool-call", "tool-result", "text-delta"} <= set(seen[f"{name}_parts"])
    assert seen["json"] == {"fact": "scripted-fact"} and seen["models"] == 1


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_the_acp_adapter_of_editors_runs_over_stdio(tmp_path: Path) -> None:
    """The one that never says `initialized`; Zed, JetBrains and other editors use it."""
    modules = npm_client(tmp_path / "client", ACP)
    adapter = modules / "@agentclientprotocol" / "codex-acp" / "dist" / "index.js"
    async with ResponsesServer() as model:
        model.choose = acting
        bench = Bench.made(tmp_path, model.base_url)
        flow = sys.executable, HERE / "acp_flow.py", bench.project, adapter
        seen = await bench.flow(*flow, CODEX_PATH=str(MEMORYD))
    _holds(seen, bench)
    _said(seen, first="hello")
    assert seen["asked"] == ["execute", "edit"]
    assert {"tool_call", "tool_call_update", "agent_message_chunk"} <= set(seen["updates"])
    assert (seen["refused"], seen["stopped"], seen["ran"]) == ("cancelled", "cancelled", False)
    history = seen["history"].split("speak slowly")
    assert history[0] == "hellorun the command"
    assert history[1].endswith("run the commandedit the file")
