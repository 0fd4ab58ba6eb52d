"""`memory/import` over the wire, and the command that asks for it."""

import json
from pathlib import Path

import pytest

from server.cli.main import main
from state.home import Home
from tests.support.claude_files import call, said, typed, write_session
from tests.support.homes import serving
from tests.support.methods import error_of


def _agent_home(folder: Path) -> Path:
    project = folder / "agent" / "projects" / "-shop"
    (project / "memory").mkdir(parents=True)
    (project / "memory" / "MEMORY.md").write_text("# Shop\n\n- uses make\n")
    (project / "s.jsonl").write_text(json.dumps({"cwd": str(folder)}) + "\n")
    return folder / "agent"


async def test_the_memory_of_another_agent_is_brought_in_once(tmp_path: Path) -> None:
    source = _agent_home(tmp_path)
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        params = {"path": str(source)}
        dry = await client.request("memory/import", {**params, "dryRun": True})
        assert (dry["imported"], dry["dryRun"]) == (1, True)
        assert not (home.home.memories("v1") / "extensions" / "external_agent_import").exists()
        first = await client.request("memory/import", params)
        assert (first["found"], first["files"], first["imported"]) == (1, 1, 1)
        again = await client.request("memory/import", params)
        assert (again["imported"], again["unchanged"], again["failed"]) == (0, 1, [])
        learned = await client.request("memory/consolidate/start", {"wait": True})
        assert learned["consolidation"]["status"] == "published"
        handbook = (home.home.memories("v1") / "MEMORY.md").read_text()
        assert "source=external_agent_import" in handbook


async def test_a_home_without_memory_a_missing_one_and_a_bad_field_are_refused(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        (tmp_path / "empty").mkdir()
        error = await error_of(client, "memory/import", {"path": str(tmp_path / "empty")})
        assert error["message"] == "memory import requires at least one selected memory"
        assert error["data"]["kind"] == "nothingToImport"
        error = await error_of(client, "memory/import", {"path": str(tmp_path / "gone")})
        assert "no such file or folder" in error["message"]
        error = await error_of(client, "memory/import", {"path": "/x", "since": "2026"})
        assert error["code"] == -32602


def test_the_command_names_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(_agent_home(tmp_path)))
    home = tmp_path / "home"
    assert main(["--home", str(home), "import", "claude"]) == 0
    assert "1 project with memory found: brought in 1 new" in capsys.readouterr().out
    copied = Home(home).memories("v1") / "extensions/external_agent_import/resources/-shop"
    assert (copied / "MEMORY.md").is_file() and (copied / "scope.json").is_file()
    capsys.readouterr()
    assert main(["--home", str(home), "import", "claude", "--since", "2026-01-01"]) == 0
    assert "memory files were left out" in capsys.readouterr().out
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nowhere"))
    assert main(["--home", str(home), "import", "claude"]) == 1


def test_the_command_brings_in_the_sessions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With their lines that could not be read by number, in words and as JSON; twice is once."""
    agent = _agent_home(tmp_path)
    looked_up = (typed("Always use tabs."), said(call("WebFetch", url="x")))
    path = write_session(agent, b"{", *looked_up)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(agent))
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[memories]\ndisable_on_external_context = true\n")
    assert main(["--home", str(home), "import", "claude"]) == 0
    told = capsys.readouterr().out
    assert "2 session files found: brought in 1 new" in told
    assert "1 in which nothing is said" in told and "1 project with memory found" in told
    assert f"skipped: {path}: 1 of its lines could not be read: 1" in told
    assert "1 session took in text from outside and will not be learned from" in told
    assert main(["--home", str(home), "import", "claude", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["sessions"]["unchanged"], result["memories"]["unchanged"]) == (1, 1)
    assert (result["sessions"]["barred"], result["sessions"]["failed"]) == (0, [])
