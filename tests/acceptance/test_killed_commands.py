"""A server that is killed takes every command along."""

import asyncio
import signal
import sys
from pathlib import Path

import psutil
import pytest

from server.agent.sandbox.launch import Means
from tests.support.commands_child import MARK
from tests.support.confined import each_means, skip_without

WAIT_S = 30


def marked() -> list[psutil.Process]:
    """What was started and still is there."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(MARK in word for word in process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


@pytest.mark.parametrize("means", [None, *each_means()])
async def test_no_command_outlives_a_killed_server(means: Means | None, tmp_path: Path) -> None:
    """Neither in the background, nor in a session of its own, nor deaf to signals."""
    if means is not None:
        skip_without(means)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.commands_child", str(tmp_path), means or "none",
        cwd=Path(__file__).parents[2], stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        async with asyncio.timeout(120):
            assert await child.stdout.readline() == b"ready\n"
        running = marked()
        assert len(running) >= 3
        child.send_signal(signal.SIGKILL)
        await child.wait()
        _, alive = await asyncio.to_thread(psutil.wait_procs, running, WAIT_S)
        assert [one.pid for one in alive] == [] and marked() == []
    finally:
        for process in marked():
            process.kill()
