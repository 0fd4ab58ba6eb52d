"""Ways out of the sandbox, tried for real in every means there is. None succeeds."""

import json
import platform
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from server.agent.sandbox.launch import Means
from server.agent.sandbox.policy import FullAccess
from tests.support.confined import (
    SECRET,
    Server,
    World,
    each_means,
    listening_server,
    skip_without,
)
from tests.support.escapes import ATTEMPTS, CONTROLS, PRELUDE, SURVIVOR_MARK, SURVIVORS, Attempt


@pytest.fixture(params=each_means())
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A world around a sandbox of each means."""
    means: Means = request.param
    skip_without(means)
    made = World(root=tmp_path, means=means)
    made.build()
    return made


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    """What an attempt must not reach."""
    with listening_server(world) as made:
        yield made


def picture(world: World) -> dict[str, str]:
    """Everything outside the project, and what is kept inside it, with its content."""
    kept = [world.work / one for one in (".git", "vendor/lib/.git", "vendor/lib/.codex", "tree")]
    return {
        str(path.relative_to(world.root)): path.read_text()
        for folder in (world.home, world.outside, world.user, *kept)
        for path in sorted((folder, *folder.rglob("*")))
        if path.is_file()
    }


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda one: one.name)
async def test_no_attempt_gets_out(world: World, server: Server, attempt: Attempt) -> None:
    """It gets nothing, reaches nobody and changes nothing outside."""
    if attempt.machine not in (None, platform.machine()):
        pytest.skip(f"written for {attempt.machine}")
    before = picture(world)
    ran = await world.python(PRELUDE + attempt.code, environment={"TOLD": json.dumps(server.told)})
    assert "ESCAPED" not in ran.output
    assert SECRET not in ran.output.replace(json.dumps(server.told), "")
    assert picture(world) == before
    assert not server.reached()
    assert server.process.poll() is None


@pytest.mark.parametrize(
    "attempt", [one for one in ATTEMPTS if one.name in CONTROLS], ids=lambda one: one.name
)
async def test_the_attempts_are_real(attempt: Attempt, tmp_path: Path) -> None:
    """Where nothing confines them they succeed; else their failure would mean nothing."""
    world = World(root=tmp_path, means=None)
    world.build()
    with listening_server(world) as server:
        ran = await world.python(
            PRELUDE + attempt.code,
            environment={"TOLD": json.dumps(server.told)},
            policy=FullAccess(),
        )
    assert "ESCAPED" in ran.output


@pytest.mark.parametrize("means", [None, *each_means()])
@pytest.mark.parametrize("how", SURVIVORS)
async def test_nothing_outlives_its_command(means: Means | None, how: str, tmp_path: Path) -> None:
    """However it was left behind, and also where nothing is confined."""
    if means is not None:
        skip_without(means)
    world = World(root=tmp_path, means=means)
    world.build()
    ran = await world.shell(SURVIVORS[how], policy=None if means else FullAccess())
    assert ran.exit_code == 0, ran.output
    assert marked() == []


def marked() -> list[str]:
    """Command lines of processes that a survivor would have."""
    found = []
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        if SURVIVOR_MARK in line:
            found.append(" ".join(line))
    return found
