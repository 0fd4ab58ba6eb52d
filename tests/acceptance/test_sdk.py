"""The unmodified public Python client drives memoryd as it drives the original."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.installed import MEMORYD, environment, started
from tests.support.real_clients import python_client

CLIENT = "codex-app-server-sdk==0.4.1"
FLOW = Path(__file__).with_name("sdk_flow.py")


@pytest.fixture(scope="module")
def client_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of its own that has the client."""
    return python_client(tmp_path_factory.mktemp("client"), CLIENT)


def _flow(python: Path, home: Path, *arguments: str) -> dict[str, Any]:
    ran = subprocess.run(
        [python, FLOW, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env=environment(home),
    )
    assert ran.returncode == 0, ran.stderr
    seen: dict[str, Any] = json.loads(ran.stdout)
    return seen


def _holds(seen: dict[str, Any]) -> None:
    assert "offline" in seen["first"] and "offline" in seen["second"]
    assert seen["source"] == "item_completed"
    assert seen["listed"] == [seen["thread"]]
    assert seen["turns"] == 2
    assert seen["models"] >= 1


@pytest.mark.timeout(300)
def test_the_client_runs_over_stdio(client_python: Path, tmp_path: Path) -> None:
    """Two processes after each other: what the first was answered, the second resumes."""
    _holds(_flow(client_python, tmp_path / "home", "stdio", str(MEMORYD)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A running server: its URL and its secret."""
    home = tmp_path / "home"
    process = started(["serve", "--listen", "ws://127.0.0.1:0"], home=home)
    try:
        assert process.stderr is not None
        line = ""
        for line in process.stderr:
            if "ws://" in line:
                break
        url = next(word for word in line.split() if word.startswith("ws://")).rstrip("/")
        yield url, (home / "keys" / "access").read_text().strip()
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.timeout(300)
def test_the_client_runs_over_websocket(
    client_python: Path, server: tuple[str, str], tmp_path: Path
) -> None:
    """The same flow against a server that was already running."""
    _holds(_flow(client_python, tmp_path / "home", "websocket", *server))
