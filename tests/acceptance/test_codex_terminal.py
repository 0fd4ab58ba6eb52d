"""The unmodified terminal client of the original works on a server of ours.

`pytest -m slow tests/acceptance/test_codex_terminal.py`; it needs npm, tmux and the network.
"""

import asyncio
import base64
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.real_clients import Bench, acting, npm_client
from tests.support.responses_server import ResponsesServer

CODEX = "@openai/codex@0.171.0"
SEEN_S_MAX = 60
# What this client knows of features is its own; the popup shows when it has `memories`.
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
CONFIG = """
check_for_update_on_startup = false
[features]
memories = true
plugins = false
"""


class Screen:
    """A terminal of its own that runs one program."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._socket = folder / name

    async def run(self, *words: str, secret: str) -> None:
        """Start the program, with nothing of the user's around it."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        home = self._folder / "codex-home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(CONFIG)
        kept |= {"HOME": str(self._folder), "CODEX_HOME": str(home), "TERM": "xterm-256color"}
        given = [f"{name}={value}" for name, value in (kept | {"SERVER_SECRET": secret}).items()]
        size = ("-x", "120", "-y", "50")
        await self._tmux("-f", "/dev/null", "new-session", "-d", *size, "env", "-i", *given, *words)

    async def sees(self, pattern: str) -> str:
        """The screen once it shows that."""
        shown = ""
        try:
            async with asyncio.timeout(SEEN_S_MAX):
                while not re.search(pattern, shown):
                    await asyncio.sleep(0.1)
                    shown = await self._tmux("capture-pane", "-p")
        except TimeoutError:
            pytest.fail(f"{pattern!r} was not seen on\n{shown}")
        return shown

    async def types(self, text: str) -> None:
        """Write a line and enter it, once the screen shows it."""
        await self._tmux("send-keys", "-l", text)
        await self.sees(re.escape(text))
        await self.presses("Enter")

    async def allows(self, question: str) -> None:
        """Say yes to what it asks; keys are not heard just after a question came up."""
        shown = await self.sees(question)
        async with asyncio.timeout(SEEN_S_MAX):
            while re.search(question, shown):
                await self.presses("y")
                await asyncio.sleep(1)
                shown = await self._tmux("capture-pane", "-p")

    async def presses(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        await self._tmux("send-keys", *keys)

    async def end(self) -> None:
        """End the terminal and what runs in it."""
        await self._tmux("kill-server", check=False)

    async def _tmux(self, *words: str, check: bool = True) -> str:
        done = await asyncio.to_thread(
            subprocess.run,
            ["tmux", "-S", str(self._socket), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout


@asynccontextmanager
async def _screen(folder: Path, name: str) -> AsyncIterator[Screen]:
    screen = Screen(folder, name)
    try:
        yield screen
    finally:
        await screen.end()


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program."""
    if shutil.which("tmux") is None:
        pytest.skip("the terminal of the test is tmux, which is not found on PATH")
    folder = tmp_path_factory.mktemp("codex") / "client"
    return npm_client(folder, CODEX, peers=True) / ".bin" / "codex"


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_the_terminal_client_attaches_acts_and_resumes(codex: Path, tmp_path: Path) -> None:
    """A command and an edit that it asks about, its memory popup, and the session again later."""
    async with ResponsesServer() as model:
        model.choose = acting
        bench = Bench.made(tmp_path, model.base_url)
        async with bench.serving() as (url, secret):
            remote = ("--remote", url, "--remote-auth-token-env", "SERVER_SECRET")
            where = ("-C", str(bench.project), *remote)
            async with _screen(tmp_path, "first") as screen:
                asking = ("-a", "on-request", "-s", "read-only")
                await screen.run(str(codex), *asking, *where, secret=secret)
                await _turns(screen, bench)
                await _memories(screen, bench)
                await _reviews_and_permissions(screen)
            async with _screen(tmp_path, "second") as screen:
                await screen.run(str(codex), "resume", *where, secret=secret)
                await screen.sees("Resume a previous session[^$]*scripted-title")
                await screen.presses("Enter")
                await screen.sees("edit the file -- mock-final")
                await screen.types("and again")
                await screen.sees("You said: and again -- mock-final")
            picture = tmp_path / "picture.png"
            picture.write_bytes(PICTURE)
            async with _screen(tmp_path, "third") as screen:
                await screen.run(
                    str(codex), *where, "-i", str(picture), "--", "look", secret=secret
                )
                await screen.sees("You said: look -- mock-final")
            assert any('"input_image"' in one.text for one in model.requests)


async def _turns(screen: Screen, bench: Bench) -> None:
    await screen.sees("Trust this folder")
    await screen.presses("Enter")
    await screen.sees("Ask Codex to do anything")
    await screen.types("/compact")  # before anything was said: it would end itself if refused
    await screen.sees("Context compacted")
    await screen.types("run the command")
    await screen.allows("Would you like to run the following command")
    await screen.sees("You said: run the command -- mock-final")
    await screen.types("edit the file")
    await screen.allows("Would you like to make the following edits")
    await screen.sees("You said: edit the file -- mock-final")
    assert bench.acted()
    await screen.sees("scripted-title")  # the title it asked the model for in a thread of its own


async def _reviews_and_permissions(screen: Screen) -> None:
    """Both leave the client ready for more words."""
    await screen.types("/review")
    await screen.sees("Select a review preset")
    await screen.presses("Down")
    await screen.sees(r"\S 2\. Review uncommitted changes")
    await screen.presses("Enter")
    await screen.sees("Code review started: current changes")
    await screen.sees("Code review finished")
    await screen.types("/permissions")
    await screen.sees(r"Update Model Permissions[^$]*Approve for me \(disabled\)")
    await screen.presses("1")
    await screen.sees("Ask for approval")
    await screen.types("still heard")
    await screen.sees("You said: still heard -- mock-final")


async def _memories(screen: Screen, bench: Bench) -> None:
    """Generation is switched off in the popup, and stands so in the server's file."""
    await screen.types("/memories")
    await screen.sees("Use memories[^$]*Generate memories[^$]*Reset all memories")
    await screen.presses("Down")
    await screen.sees(r"\S \[x\] Generate memories")
    await screen.presses("Space")
    await screen.sees(r"\[ \] Generate memories")
    await screen.presses("Enter")
    await screen.sees("Ask Codex to do anything")
    written = (bench.home / "config.toml").read_text()
    assert "generate_memories = false" in written, written
