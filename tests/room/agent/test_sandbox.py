"""What a confined command can do, what bounds it, and what happens where nothing can confine it."""

import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from server.agent.sandbox import launch as launching
from server.agent.sandbox import sandbox as sandboxing
from server.agent.sandbox.launch import Command, Means
from server.agent.sandbox.limits import SurveyLimits
from server.agent.sandbox.policy import FullAccess, Reach, ReadOnly, WorkspaceWrite
from server.agent.sandbox.sandbox import CannotRun, Missing, Ready, Sandbox
from server.agent.sandbox.survey import Ground, survey
from server.agent.tools.processes import start_process
from tests.support.confined import World, each_means, listening_server, skip_without


@pytest.fixture(params=each_means())
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A world around a sandbox of each means."""
    means: Means = request.param
    skip_without(means)
    made = World(root=tmp_path, means=means)
    made.build()
    return made


async def test_a_project_can_be_worked_in(world: World) -> None:
    """Files are made, changed, moved and removed; programs of the system run."""
    ran = await world.shell(
        "cd sub && echo a > made && cat made && mv made moved && mkdir -p deep/er && "
        "cp moved deep/er/x && chmod 700 deep && rm -r deep && rm moved && "
        "echo text | sort | wc -l && cat < /dev/null && head -c 3 /dev/urandom | wc -c && "
        "(echo in a child; exit 0) && ls"
    )
    assert ran.exit_code == 0, ran.output
    assert [one.name for one in (world.work / "sub").iterdir()] == ["file.txt"]


@pytest.mark.parametrize("has_repository", [True, False])
async def test_names_that_other_agents_obey_cannot_be_made(
    world: World, has_repository: bool
) -> None:
    """Nothing of that is left in the project; Landlock alone cannot, where nothing else is kept."""
    if not has_repository:
        for name in (".git", "vendor", "tree"):
            (world.work / name).rename(world.root / f"moved{name}")
    names = (".codex", ".agents", ".memoryd")
    ran = await world.shell(f"for n in {' '.join(names)}; do mkdir $n; echo x > $n/config; done")
    made = [name for name in names if (world.work / name).exists()]
    open_ = world.means == "landlock" and not has_repository
    assert made == (list(names) if open_ else []), ran.output
    if open_:
        status = await world.sandbox().status()
        assert isinstance(status, Ready) and "`.codex`" in "".join(status.notes)


async def test_a_repository_can_be_begun(world: World) -> None:
    """Unlike the others its name is free where none is."""
    for name in (".git", "vendor", "tree"):
        (world.work / name).rename(world.root / f"moved{name}")
    ran = await world.shell("mkdir .git && echo x > .git/config")
    assert ran.exit_code == 0, ran.output


async def test_an_interpreter_with_its_packages_and_children_runs(world: World) -> None:
    """Threads, pipes, a pair of sockets and subprocesses are what builds are made of."""
    ran = await world.python(
        "import subprocess, threading, socket, tempfile, os\n"
        "os.environ['TMPDIR'] = os.getcwd() + '/sub'\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "a, b = socket.socketpair(); a.sendall(b'x'); print(b.recv(1))\n"
        "print(subprocess.run([__import__('sys').executable, '-I', '-S', '-c', 'print(1+1)'],\n"
        "      capture_output=True, text=True).stdout)\n"
        "tempfile.NamedTemporaryFile(dir='sub').write(b'x')\n"
    )
    assert ran.exit_code == 0 and "thread" in ran.output and "2" in ran.output, ran.output


async def test_read_only_means_nothing_is_written(world: World) -> None:
    """Not even in the project; reading stays possible."""
    ran = await world.shell("cat sub/file.txt; touch sub/new; touch new", policy=ReadOnly())
    assert "in the project" in ran.output and ran.exit_code != 0
    names = sorted(one.name for one in world.work.iterdir())
    assert names == [".git", "planted", "sub", "tree", "vendor"]


async def test_the_network_is_there_where_the_policy_allows_it(world: World) -> None:
    """And sockets of other programs still are not."""
    policy = replace(world.policy, network=True)
    with listening_server(world) as server:
        code = "import socket\n"
        code += f"socket.create_connection(('127.0.0.1', {server.told['port']}), 5)\nprint('tcp')\n"
        code += "print(socket.getaddrinfo('localhost', 80) != [])\n"
        ran = await world.python(code, policy=policy)
        assert ran.output == "tcp\nTrue\n" and server.reached()
        for name in ("unix", "relay"):
            one = f"import socket\nsocket.socket(socket.AF_UNIX).connect({server.told[name]!r})"
            assert (await world.python(one, policy=policy)).exit_code != 0
        assert not server.reached()


async def test_further_roots_are_written_and_a_thread_reads_its_own_memory_only(
    world: World,
) -> None:
    """The rest of the home stays hidden around it."""
    root = world.home / "memories_v3" / "projects"
    policy = replace(world.policy, roots=(str(world.outside),))
    ran = await world.shell(
        f"cat {root}/own/summary.md; echo > {root}/own/new; cat {root}/other/summary.md; "
        f"echo x > {world.outside}/new",
        policy=policy,
        readable=(str(root / "own"),),
    )
    assert "what this project knows" in ran.output and "the-secret" not in ran.output
    assert (world.outside / "new").exists() and not (root / "own" / "new").exists()


async def test_a_home_inside_the_project_is_hidden_too(world: World) -> None:
    """As with MEMORYD_HOME set to a folder of the project; the folders around it stay in place."""
    nested = world.work / "sub" / "deep" / "memoryd"
    (world.work / "sub" / "deep").mkdir()
    world.home.rename(nested)
    places = replace(world.places(), home=type(world.places().home)(nested))
    proved = await world.sandbox().status()
    assert isinstance(proved, Ready)
    sandbox = Sandbox(places, proved=proved)
    script = f"cat {nested}/keys/access; mv sub other; mv sub/deep sub/other; cat sub/file.txt"
    launch = await sandbox.prepare(
        Command(argv=["/bin/sh", "-c", script], cwd=str(world.work), policy=world.policy,
                environment={"PATH": "/usr/bin:/bin"})
    )  # fmt: skip
    assert not isinstance(launch, CannotRun)
    out = bytearray()
    process = await start_process(launch, lambda _, data: out.extend(data))
    await process.ended.wait()
    assert b"the-secret" not in out and b"in the project" in out
    assert (nested / "keys" / "access").exists()


async def test_memory_files_and_core_dumps_are_bounded(world: World) -> None:
    """Each process by its own limits, which it cannot raise."""
    small = world.with_limits(private_bytes_max=256 << 20, file_bytes_max=1 << 20)
    ran = await small.python("x = bytearray(512 << 20)\nprint('allocated')")
    assert "allocated" not in ran.output and ran.exit_code != 0
    ran = await small.shell("head -c 5000000 /dev/zero > big; ulimit -c; ulimit -f unlimited")
    big = world.work / "big"
    assert not big.exists() or big.stat().st_size <= 1 << 20
    assert ran.exit_code != 0


BOMB = """
import os, time
def burst(left):
    for _ in range(left):
        try: child = os.fork()
        except OSError: os._exit(1)
        if child == 0:
            %s
            time.sleep(300)
            os._exit(0)
burst(300)
time.sleep(300)
print("ALL LIVE")
"""
"""Never more than 600 processes, whatever does not stop it."""


@pytest.mark.parametrize("how", ["pass", "os.setsid()", "os.fork()", "os.fork() or os.setsid()"])
async def test_a_flood_of_processes_is_bounded(world: World, how: str) -> None:
    """By the kernel, or as root by us; nothing of it is left, and the server goes on."""
    ran = await world.with_limits(processes_max=40).python(BOMB % how, seconds=60)
    assert ran.exit_code != 0 and "ALL LIVE" not in ran.output
    assert not [one for one in psutil.process_iter(["cmdline"]) if _is_of_bomb(one)]
    if os.geteuid() == 0:
        assert ran.exit_code == 137
    if os.geteuid() == 0 and world.means == "bubblewrap":
        assert "had more than 40 processes" in ran.output
    assert (await world.shell("echo after")).output == "after\n"


def _is_of_bomb(process: psutil.Process) -> bool:
    return any("burst(300)" in word for word in process.info["cmdline"] or ())


async def test_a_command_with_as_many_processes_as_it_may_have_is_left_alone(world: World) -> None:
    """Also while the machine starts many others."""
    few = world.with_limits(processes_max=200)
    ran = await few.shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait; echo all")
    assert (ran.exit_code, ran.output) == (0, "all\n")


async def test_the_sandbox_is_not_built_by_what_a_command_brings(world: World) -> None:
    """Its variables and the programs of its folder never reach the program that confines."""
    for name in ("bwrap", "prlimit", "setsid", "python3"):
        fake = world.work / name
        fake.write_text("#!/bin/sh\necho fake\n")
        fake.chmod(0o755)
    environment = {"PATH": f"{world.work}:/usr/bin:/bin", "LD_PRELOAD": str(world.work / "evil.so")}
    ready = await world.sandbox().status()
    assert isinstance(ready, Ready)
    prepared = await world.sandbox().prepare(
        Command(argv=["/bin/echo", "real"], cwd=str(world.work), policy=world.policy,
                environment=environment)
    )  # fmt: skip
    assert not isinstance(prepared, CannotRun)
    prepared.abandon()
    assert "LD_PRELOAD" not in prepared.environment
    assert str(world.work) not in prepared.environment["PATH"]
    assert all(not word.startswith(str(world.work)) for word in prepared.argv)


async def test_without_any_means_nothing_runs_unless_full_access_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason names what to do."""
    world = World(root=tmp_path, means=None)
    world.build()
    monkeypatch.setattr(launching, "program_path", lambda name: None)
    monkeypatch.setattr("server.agent.sandbox.sandbox.program_path", lambda name: None)
    sandbox = Sandbox(world.places(), means=("bubblewrap",))
    assert isinstance(await sandbox.status(), Missing)
    command = Command(argv=["/bin/echo", "x"], cwd=str(world.work), policy=WorkspaceWrite(),
                      environment={})  # fmt: skip
    refused = await sandbox.prepare(command)
    assert isinstance(refused, CannotRun) and refused.sandbox_missing
    assert "bwrap is not installed" in refused.reason and "bubblewrap" in refused.reason
    ran = await world.run(["/bin/echo", "free"], policy=FullAccess())
    assert ran.output == "free\n"


async def test_a_bubblewrap_that_binds_by_name_alone_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would follow a link that was none when the folder was looked at."""
    skip_without("bubblewrap")
    world = World(root=tmp_path, means=None)
    world.build()
    told = sandboxing._told_by

    async def of_an_old_one(bwrap: str, option: str) -> bytes:
        return (await told(bwrap, option)).replace(b"--bind-fd", b"--bind")

    monkeypatch.setattr(sandboxing, "_told_by", of_an_old_one)
    status = await Sandbox(world.places(), means=("bubblewrap",)).status()
    assert isinstance(status, Missing) and "--bind-fd" in str(status)


async def test_a_sandbox_that_lets_something_through_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe notices when a mask is missing."""
    for means in each_means():
        skip_without(means)
    world = World(root=tmp_path, means=None)
    world.build()

    def without_masks(reach: Reach, limits: SurveyLimits) -> Ground:
        return replace(survey(reach, limits), hidden_folders=(), hidden_files=())

    monkeypatch.setattr("server.agent.sandbox.sandbox.survey", without_masks)
    status = await Sandbox(world.places()).status()
    assert isinstance(status, Missing)
    assert all("a hidden file could be read" in reason for reason in status.reasons.values())


async def test_a_command_that_does_not_exist_says_so(world: World) -> None:
    """As an exit code and a line, not as an error of ours."""
    ran = await world.run(["/does/not/exist"])
    assert ran.exit_code in (1, 126, 127) and "/does/not/exist" in ran.output
