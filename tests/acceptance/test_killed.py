"""kill -9 at every durable step of the main job: the next start finishes by itself.

A home with a published edition learns one more session and is killed at a step. What is published
must be the old memory or the new one, whole; a server started after that makes it the new one
without being asked.
"""

import asyncio
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory_write.phase2.steps import PHASE2_STEPS
from tests.support.homes import serving
from tests.support.installed import environment

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
CHILD = Path(__file__).resolve().parents[1] / "support" / "killed_server.py"
PHASE1_STEPS = ("claimed", "heard", "extracted", "before_store", "stored")
STEPS = (*(f"phase1/{step}" for step in PHASE1_STEPS), *PHASE2_STEPS)
ARTEFACTS = ("MEMORY.md", "memory_summary.md", "raw_memories.md")


def _run(home: Path, source: Path, step: str) -> int:
    ran = subprocess.run(
        [sys.executable, CHILD, home, source, step],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
    return ran.returncode


def _published(home: Path) -> dict[str, str]:
    folder = home / "memories"
    recaps = sorted(path.name for path in (folder / "rollout_summaries").iterdir())
    texts = {name: (folder / name).read_text("utf-8") for name in ARTEFACTS}
    return {**texts, "recaps": "\n".join(recaps)}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A home with one session's memory, its twin that learned them all, and the sessions."""
    folder = tmp_path_factory.mktemp("killed")
    first, rest = folder / "first", folder / "rest"
    first.mkdir()
    rest.mkdir()
    sessions = sorted(SAMPLES.glob("*.jsonl"))
    shutil.copy(sessions[0], first)
    for session in sessions:
        shutil.copy(session, rest)
    assert _run(folder / "old", first, "never") == 0
    shutil.copytree(folder / "old", folder / "new")
    assert _run(folder / "new", rest, "never") == 0
    assert _published(folder / "old") != _published(folder / "new")
    return folder / "old", folder / "new", rest


@pytest.mark.requirement("P11", "MW-9-18", "MW-F-kill-phase2", "MW-F-kill-unvalidated")
@pytest.mark.parametrize("step", STEPS)
async def test_a_killed_server_leaves_old_or_new_and_the_next_one_finishes(
    homes: tuple[Path, Path, Path], tmp_path: Path, step: str
) -> None:
    """Whatever the step, nothing has to be asked for again."""
    old, new, sessions = homes
    home = tmp_path / "home"
    shutil.copytree(old, home)
    status = await asyncio.to_thread(_run, home, sessions, step)
    assert status == -signal.SIGKILL, f"the step {step} never came"
    assert _published(home) in (_published(old), _published(new))
    async with serving(tmp_path, learning=True) as running, running.wire.client("pair") as client:
        async with asyncio.timeout(20):
            while _published(home) != _published(new):
                await client.notification("memory/progress")
    assert list((home / "staging").iterdir()) == []
