"""Ways out of the sandbox, tried for real in every means there is. None succeeds."""

import json
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from server.agent.sandbox.launch import Command, Means
from server.agent.sandbox.limits import SurveyLimits
from server.agent.sandbox.policy import FullAccess, Reach
from server.agent.sandbox.sandbox import CannotRun
from server.agent.sandbox.survey import Ground, survey
from tests.support.confined import (
    SECRET,
    Server,
    World,
    each_means,
    listening_server,
    skip_without,
)
from tests.support.escapes import ATTEMPTS, CONTROLS, PRELUDE, SURVIVOR_MARK, SURVIVORS, Attempt
from tests.support.further_escapes import FURTHER, FURTHER_CONTROLS, PREPARED

ALL = (*ATTEMPTS, *FURTHER)


@pytest.fixture(params=each_means())
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A world around a sandbox of each means."""
    means: Means = request.param
    skip_without(means)
    made = World(root=tmp_path, means=means)
    made.build()
    made.build_more()
    return made


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    """What an attempt must not reach."""
    with listening_server(world) as made:
        yield made


def picture(world: World) -> dict[str, str]:
    """Everything outside the project, and what is kept inside it, with its content."""
    names = (".git", "vendor/lib/.git", "vendor/lib/.codex", "tree", "far", "store", "program")
    kept = [world.work / one for one in names]
    return {
        str(path.relative_to(world.root)): path.read_text()
        for folder in (world.home, world.outside, world.user, *kept)
        for path in sorted((folder, *folder.rglob("*")))
        if path.is_file()
    }


@pytest.mark.parametrize("attempt", ALL, ids=lambda one: one.name)
async def test_no_attempt_gets_out(world: World, server: Server, attempt: Attempt) -> None:
    """It gets nothing, reaches nobody and changes nothing outside."""
    if attempt.machine not in (None, platform.machine()):
        pytest.skip(f"written for {attempt.machine}")
    before, nice = picture(world), os.getpriority(os.PRIO_PROCESS, server.process.pid)
    ran = await world.python(PRELUDE + attempt.code, environment={"TOLD": json.dumps(server.told)})
    assert "ESCAPED" not in ran.output
    assert SECRET not in ran.output.replace(json.dumps(server.told), "")
    assert picture(world) == before
    assert not server.reached()
    assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == nice
    assert server.process.poll() is None


@pytest.mark.parametrize(
    "attempt",
    [one for one in ALL if one.name in CONTROLS | FURTHER_CONTROLS],
    ids=lambda one: one.name,
)
async def test_the_attempts_are_real(attempt: Attempt, tmp_path: Path) -> None:
    """Where nothing confines them they succeed; else their failure would mean nothing."""
    world = World(root=tmp_path, means=None)
    world.build()
    world.build_more()
    with listening_server(world) as server:
        ran = await world.python(
            PRELUDE + attempt.code,
            environment={"TOLD": json.dumps(server.told)},
            policy=FullAccess(),
        )
    assert "ESCAPED" in ran.output


@pytest.mark.parametrize("how", PREPARED)
async def test_what_one_command_lays_out_opens_nothing_to_the_next(world: World, how: str) -> None:
    """A project says itself where its repository is, and that is looked at before each command."""
    shutil.rmtree(world.work / ".git")
    await world.shell(PREPARED[how])
    ran = await world.shell(
        "cat ../home/keys/access ../user/.ssh/id_ed25519; echo x > ../outside/existing; "
        f"ls /dev /dev/shm; ls /proc/{os.getpid()}/fd"
    )
    assert SECRET not in ran.output
    assert (world.outside / "existing").read_text() == "stays"
    if world.means == "bubblewrap":
        assert "vda" not in ran.output and "kmsg" not in ran.output


async def test_a_folder_that_becomes_a_link_after_the_look_opens_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a command that runs on in the background can have it, at the moment that it likes."""
    folder, looks = world.work / "sub", list[int]()
    (folder / ".codex").mkdir()
    (world.outside / ".codex").mkdir()

    def surveyed(reach: Reach, limits: SurveyLimits) -> Ground:
        found = survey(reach, limits)
        looks.append(1)
        if len(looks) == 1:
            folder.rename(world.work / "old")
            folder.symlink_to("../outside")
        return found

    monkeypatch.setattr("server.agent.sandbox.sandbox.survey", surveyed)
    ran = await world.shell("echo x > ../outside/existing; echo x > ../outside/new; echo ran")
    assert "ran" in ran.output
    assert (world.outside / "existing").read_text() == "stays"
    assert not (world.outside / "new").exists()


async def test_a_folder_of_a_thread_that_was_exchanged_for_a_link_opens_nothing(
    world: World,
) -> None:
    """By a command of another thread, for which it is a folder like others."""
    sandbox = world.sandbox()
    command = Command(
        argv=["/bin/sh", "-c", "echo x > existing"],
        cwd=str(world.work),
        policy=world.policy,
        environment={"PATH": "/usr/bin:/bin"},
    )
    first = await sandbox.prepare(command)
    assert not isinstance(first, CannotRun)
    first.abandon()
    world.work.rename(world.root / "moved")
    world.work.symlink_to(world.outside)
    second = await sandbox.prepare(command)
    assert isinstance(second, CannotRun) and "leads elsewhere" in second.reason
    freed = await sandbox.prepare(replace(command, policy=FullAccess()))
    assert not isinstance(freed, CannotRun)
    freed.abandon()


async def test_nothing_is_typed_into_the_terminal_of_a_command(world: World) -> None:
    """Also with a number of the call that is only cut to it inside the kernel."""
    code = (
        "import fcntl, termios\n"
        "for attempt in (lambda: fcntl.ioctl(0, termios.TIOCSTI, b'x'),\n"
        "                lambda: fcntl.ioctl(0, 0x541C, bytearray(b'\\x03'))):\n"
        "    try:\n        attempt()\n        escaped()\n    except OSError: pass\n"
        "if syscall(16, 0, 0x100005412, b'x') >= 0: escaped()\n"
        "print('tried', os.isatty(0))"
    )
    ran = await world.python(PRELUDE + code, environment={"TOLD": "{}"}, terminal=True)
    assert "tried True" in ran.output and "ESCAPED" not in ran.output


async def test_a_command_cannot_end_what_watches_it(world: World) -> None:
    """And so be survived by what it started."""
    ran = await world.shell(
        f"kill -9 $PPID; kill -9 1; setsid -f sleep {SURVIVOR_MARK} >/dev/null 2>&1 </dev/null"
    )
    assert ran.exit_code == 0, ran.output
    assert marked() == []


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
