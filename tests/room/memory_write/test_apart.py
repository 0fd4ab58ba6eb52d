"""Work by rules happens in a child that takes nothing with it when it dies and outlives nobody."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory_write import apart as module
from memory_write.apart import apart
from memory_write.ports import ModelFailed


@pytest.fixture(autouse=True)
def _no_child_before_or_after() -> Iterator[None]:
    module._CHILD.close()
    yield
    module._CHILD.close()


async def test_work_is_done_in_another_process_and_one_serves_many() -> None:
    """Each answer comes from there."""
    found = {await apart(os.getpid) for _ in range(3)}
    assert len(found) == 1
    assert os.getpid() not in found


async def test_many_pieces_of_work_at_once_are_each_answered() -> None:
    """No answer goes to another's question."""
    answers = await asyncio.gather(*(apart(pow, number, 2) for number in range(40)))
    assert answers == [number**2 for number in range(40)]


async def test_what_work_writes_to_its_output_is_no_answer() -> None:
    """The stream of answers is its own; written past the buffer that would hold it back."""
    assert await apart(os.write, 1, b"noise\n") == 6
    assert await apart(pow, 2, 5) == 32


async def test_an_error_is_told_by_its_kind_and_never_by_its_words() -> None:
    """What was typed could stand in them; the child goes on."""
    child = await apart(os.getpid)
    with pytest.raises(RuntimeError, match="ValueError in int") as caught:
        await apart(int, "my secret")
    assert "secret" not in str(caught.value)
    assert await apart(os.getpid) == child


async def test_a_child_that_dies_costs_its_work_and_the_next_gets_another() -> None:
    """The failure is one that may pass."""
    child = await apart(os.getpid)
    with pytest.raises(ModelFailed) as caught:
        await apart(os.kill, child, signal.SIGKILL)
    assert caught.value.transient
    assert await apart(os.getpid) != child


async def test_a_child_killed_between_two_pieces_of_work_is_replaced() -> None:
    """Nobody is told."""
    child = await apart(os.getpid)
    os.kill(child, signal.SIGKILL)
    await _until(lambda: module._CHILD._process is not None and _ended(module._CHILD._process))
    assert await apart(os.getpid) != child


async def test_work_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a failure that may pass."""
    child = await apart(os.getpid)
    monkeypatch.setattr(module, "WORK_SECONDS_MAX", 0.2)
    with pytest.raises(ModelFailed):
        await apart(time.sleep, 600)
    assert not _runs(child)


async def test_a_child_with_nothing_to_do_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is given back; new work starts another."""
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.05)
    child = await apart(os.getpid)
    await _until(lambda: not _runs(child))
    assert await apart(os.getpid) != child


async def test_no_key_of_the_server_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child needs none."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-children")
    assert await apart(os.getenv, "OPENAI_API_KEY") is None


async def test_where_no_process_starts_the_work_is_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inside the server, as slowly as that is."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert await apart(os.getpid) == os.getpid()


def test_the_child_of_a_killed_server_ends(tmp_path: Path) -> None:
    """Nothing is left behind that nobody owns."""
    program = (
        "import asyncio, os, time\n"
        "from memory_write.apart import apart\n"
        "print(asyncio.run(apart(os.getpid)), flush=True)\n"
        "time.sleep(600)\n"
    )
    root = Path(module.__file__).parents[1]
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    with server:
        assert server.stdout is not None
        child = int(server.stdout.readline())
        assert _runs(child)
        server.kill()
    deadline = time.monotonic() + 30
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def _ended(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - processes tell no event
            await asyncio.sleep(0.01)
