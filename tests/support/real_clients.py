"""Public clients as their registries give them, and what is started for them to talk to."""

import asyncio
import json
import os
import shutil
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config
from tests.support.installed import MEMORYD, environment
from tests.support.responses_server import Call, Recorded, Reply, calls

INSTALL_S_MAX = 280
FLOW_S_MAX = 100
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+made by the agent\n*** End Patch"
COMMAND = {
    "cmd": "touch from-command.txt && echo command-ran",
    "sandbox_permissions": "require_escalated",
    "justification": "it writes",
}


def acting(request: Recorded, command: Mapping[str, str] = COMMAND) -> Reply | None:
    """A model that runs that command or edits a file when it is told so."""
    if request.structured or request.body["input"][-1].get("type") != "message":
        return None
    text = request.user_texts[-1]
    if "run the command" in text:
        return calls(Call(name="exec_command", arguments=command))
    if "edit the file" in text:
        return calls(Call(name="apply_patch", arguments=PATCH, custom=True))
    return None


def python_client(
    folder: Path, package: str, names: Sequence[str] = ("python3.12", "python3.13")
) -> Path:
    """An interpreter of its own that has the client; without one the test is skipped."""
    base = next(filter(_makes_venvs, _interpreters(names)), None)
    if base is None:
        pytest.skip(f"the client needs one of {', '.join(names)}, and none is found")
    subprocess.run([base, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    _install([str(python), "-m", "pip", "install", "-q", package], folder)
    return python


def _interpreters(names: Sequence[str]) -> Iterator[str]:
    """Where they may be: on PATH, or beside the chosen one where pyenv keeps several."""
    yield from names
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for name in names:
        yield from map(str, sorted(pyenv.glob(f"versions/*/bin/{name}")))


def npm_client(folder: Path, *packages: str, peers: bool = False) -> Path:
    """The `node_modules` of a folder that has the clients; without npm the test is skipped.

    Optional packages and peers are the original's own programs, left out unless they are wanted.
    """
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the client comes from npm, which is not found on PATH")
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}\n')
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
    wanted = [] if peers else ["--omit=optional", "--omit=peer"]
    _install([npm, "install", *quiet, *wanted, *packages], folder)
    return folder / "node_modules"


@dataclass(frozen=True, slots=True)
class Bench:
    """A home with a scripted model behind it, and a folder to work in."""

    home: Path
    project: Path

    @classmethod
    def made(cls, folder: Path, base_url: str) -> "Bench":
        """Both new."""
        bench = cls(folder / "home", folder / "project")
        bench.home.mkdir()
        bench.project.mkdir()
        (bench.home / "config.toml").write_text(provider_config(base_url), "utf-8")
        return bench

    async def flow(self, *words: str | Path, cwd: Path | None = None, **more: str) -> Any:
        """Run a client's flow to its end; what it printed on its last line."""
        process = await asyncio.create_subprocess_exec(
            *map(str, words),
            cwd=cwd or self.project,
            env=environment(self.home, **more),
            stdout=PIPE,
            stderr=PIPE,
            limit=1 << 20,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), FLOW_S_MAX)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, err.decode()[-4_000:]
        return json.loads(out.decode().splitlines()[-1])

    @asynccontextmanager
    async def serving(self, *options: str) -> AsyncIterator[tuple[str, str]]:
        """A server of this home in a process of its own: its URL and its secret."""
        process = await asyncio.create_subprocess_exec(
            MEMORYD,
            *("serve", "--listen", "ws://127.0.0.1:0", *options),
            cwd=self.project,
            env=environment(self.home),
            stderr=PIPE,
        )
        assert process.stderr is not None
        try:
            line = b""
            while b"ws://" not in line:
                line = await asyncio.wait_for(process.stderr.readline(), FLOW_S_MAX)
                assert line, "the server ended"
            url = next(word for word in line.decode().split() if word.startswith("ws://"))
            rest = asyncio.create_task(process.stderr.read())
            yield url.rstrip("/"), (self.home / "keys" / "access").read_text().strip()
            process.terminate()
            await asyncio.wait_for(rest, FLOW_S_MAX)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()

    def acted(self) -> bool:
        """Whether both the command and the edit happened."""
        made = self.project / "made.txt"
        ran = self.project / "from-command.txt"
        return ran.exists() and made.exists() and made.read_text() == "made by the agent\n"


def _makes_venvs(name: str) -> bool:
    found = shutil.which(name)
    if found is None:
        return False
    tried = subprocess.run([found, "-c", "import venv, ensurepip"], capture_output=True)
    return tried.returncode == 0


def _install(words: list[str], folder: Path) -> None:
    kept: Mapping[str, str] = {**os.environ, "npm_config_cache": str(folder / ".npm")}
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=INSTALL_S_MAX, env=kept, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"the client was not installed within {INSTALL_S_MAX} s")
    if done.returncode != 0:
        pytest.skip(f"the client cannot be installed here: {done.stderr[-300:]}")
