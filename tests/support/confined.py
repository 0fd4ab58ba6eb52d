"""A small world to break out of, and a way to run a command in each kind of sandbox."""

import asyncio
import ctypes
import functools
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import pytest

from server.agent.sandbox.launch import Command, Means
from server.agent.sandbox.limits import SandboxLimits
from server.agent.sandbox.policy import Places, Policy, WorkspaceWrite
from server.agent.sandbox.sandbox import MEANS, CannotRun, Missing, Ready, Sandbox
from server.agent.tools.processes import Process, TerminalSize, start_process

SECRET = "the-secret-of-the-server"
_LIBC, _REMOVE = ctypes.CDLL(None, use_errno=True), 0
PATH = "/usr/local/bin:/usr/bin:/bin"


@functools.cache
def proved(means: Means) -> Ready | Missing:
    """Whether this means works on this machine; looked at once."""
    home = PurePosixPath("/nonexistent/memoryd")
    places = Places(home=home, user_home=PurePosixPath(Path.home()))
    with ThreadPoolExecutor(1) as aside:  # a test may have a loop running
        return aside.submit(asyncio.run, Sandbox(places, means=(means,)).status()).result()


def each_means() -> list[Means]:
    """Every means there is; a test skips where one does not work here."""
    return list(MEANS)


def skip_without(means: Means) -> None:
    """Skip with the reason where this means does not work."""
    if isinstance(missing := proved(means), Missing):
        pytest.skip(str(missing))


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    exit_code: int
    output: str


@dataclass(kw_only=True)
class World:
    """A home of ours, a user's home, a project, and a folder that is nobody's business."""

    root: Path
    means: Means | None
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    programs: tuple[PurePosixPath, ...] = ()

    @property
    def home(self) -> Path:
        """Of memoryd."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The project."""
        return self.root / "work"

    @property
    def outside(self) -> Path:
        """A folder that no policy of these tests opens."""
        return self.root / "outside"

    @property
    def user(self) -> Path:
        """The user's own home."""
        return self.root / "user"

    @property
    def policy(self) -> WorkspaceWrite:
        """The project may be written, and nothing else."""
        return WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir=True)

    def build(self) -> None:
        """Make it, with something in every place."""
        files = {
            "home/keys/access": SECRET, "home/keys/sketch.key": SECRET, "home/state.sqlite": SECRET,
            "home/state.sqlite-wal": SECRET, "home/journal.jsonl": SECRET,
            "home/config.toml": SECRET, "home/memories/MEMORY.md": SECRET,
            "home/memories_v3/projects/own/summary.md": "what this project knows",
            "home/memories_v3/projects/other/summary.md": SECRET,
            "home/sessions/rollout.jsonl": SECRET, "user/.ssh/id_ed25519": SECRET,
            "user/.ssh/authorized_keys": "", "user/.codex/auth.json": SECRET,
            "user/.bashrc": "", "user/.local/bin/tool": "", "user/notes.txt": "a note",
            "outside/existing": "stays", "work/.git/config": "[core]",
            "work/.git/hooks/readme": "", "work/sub/file.txt": "in the project",
            "work/vendor/lib/.git/config": "[core]", "work/vendor/lib/.git/hooks/readme": "",
            "work/vendor/lib/code.py": "", "work/vendor/lib/.codex/config.toml": "",
            "work/tree/.git": "gitdir: ../vendor/lib/.git/worktrees/tree",
            "work/vendor/lib/.git/worktrees/tree/HEAD": "ref: x",
        }  # fmt: skip
        self._lay(files)
        (self.work / "planted").symlink_to(self.home / "keys" / "access")

    def build_more(self) -> None:
        """A project with all that has to be kept: links, far repositories, the server itself."""
        files = {
            "work/far/.git": "gitdir: ../store/worktrees/far", "work/store/config": "[core]",
            "work/store/worktrees/far/commondir": "../..\n", "work/store/hooks/readme": "",
            "work/linked/code.py": "", "user/linked/config": "[core]",
            "work/program/confine.py": "",
        }  # fmt: skip
        self._lay(files)
        (self.work / "linked" / ".git").symlink_to(self.user / "linked")
        self.programs = (PurePosixPath(self.work / "program"),)

    def _lay(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def places(self) -> Places:
        """As the server would be told."""
        return Places(
            home=PurePosixPath(self.home),
            user_home=PurePosixPath(self.user),
            hidden=(PurePosixPath(self.user / ".codex"),),
            programs=self.programs,
        )

    def sandbox(self) -> Sandbox:
        """A sandbox of that means alone."""
        if self.means is None:
            return Sandbox(self.places(), limits=self.limits, means=())
        ready = proved(self.means)
        assert isinstance(ready, Ready)
        return Sandbox(self.places(), limits=self.limits, proved=ready)

    async def start(
        self,
        argv: list[str],
        *,
        policy: Policy | None = None,
        environment: dict[str, str] | None = None,
        readable: tuple[str, ...] = (),
        terminal: bool = False,
        sink: Callable[[bytes], None] = lambda _: None,
    ) -> Process:
        """Start a command in the project."""
        launch = await self.sandbox().prepare(
            Command(
                argv=argv,
                cwd=str(self.work),
                policy=policy or self.policy,
                environment={"PATH": PATH, "HOME": str(self.user), **(environment or {})},
                readable=readable,
                tty=terminal,
            )
        )
        assert not isinstance(launch, CannotRun), launch.reason
        size = TerminalSize() if terminal else None
        return await start_process(launch, lambda _, data: sink(data), terminal=size)

    async def run(self, argv: list[str], *, seconds: int = 60, **how: object) -> Ran:
        """Run a command in the project to its end."""
        out = bytearray()
        process = await self.start(argv, sink=out.extend, **how)  # type: ignore[arg-type]  # the keywords of start
        try:
            async with asyncio.timeout(seconds):
                await process.ended.wait()
        finally:
            await process.killed()
        return Ran(process.exit_code or 0, out.decode("utf-8", "replace"))

    async def python(self, code: str, **how: object) -> Ran:
        """Run a program of Python there."""
        return await self.run([sys.executable, "-I", "-S", "-c", code], **how)  # type: ignore[arg-type]  # as above

    async def shell(self, text: str, **how: object) -> Ran:
        """Run a line of shell there."""
        return await self.run(["/bin/sh", "-c", text], **how)  # type: ignore[arg-type]  # as above

    def with_limits(self, **limits: int) -> "World":
        """The same world with other bounds."""
        return World(root=self.root, means=self.means, limits=replace(self.limits, **limits))


@dataclass(frozen=True, slots=True)
class Server:
    """Stands in for the server: holds a secret in its environment, memory and a descriptor."""

    process: subprocess.Popen[bytes]
    told: dict[str, object]
    reached: Callable[[], bool]
    """Whether anything came in on one of its sockets."""


@contextmanager
def listening_server(world: World) -> Iterator[Server]:
    """A process and sockets that an attempt must not reach."""
    code = (
        "import sys, time\n"
        f"held = open({str(world.home / 'keys' / 'access')!r})\n"
        "secret = held.read()\nheld.seek(0)\n"
        "print('ready', flush=True)\nsys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"API": SECRET},
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    (world.home / "run").mkdir(exist_ok=True)
    short = f"md-{os.getpid()}"
    shared = Path("/dev/shm") / short
    sockets = [socket.socket(), socket.socket(type=socket.SOCK_DGRAM)]
    sockets += [socket.socket(socket.AF_UNIX) for _ in range(3)]
    sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    tcp, udp, relay, unix, abstract, datagrams = sockets
    # Paths of sockets are short; these are reached from their folder.
    with _short_folder(world) as folder:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        relay.bind(f"{folder}/home/run/relay.sock")
        unix.bind(f"{folder}/outside/agent.sock")
        datagrams.bind(f"{folder}/outside/log.sock")
        abstract.bind(f"\0{short}")
        for one in (tcp, relay, unix, abstract):
            one.listen()
        for one in sockets:
            one.setblocking(False)
        shared.write_text(SECRET)
        segment, messages = _shared_by_number()
        os.mkfifo(world.home / "pipe")
        reader = os.open(world.home / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        told: dict[str, object] = {
            "home": str(world.home), "work": str(world.work), "outside": str(world.outside),
            "user": str(world.user), "pid": process.pid, "secret": SECRET, "shared": short,
            "port": tcp.getsockname()[1], "udp": udp.getsockname()[1], "abstract": short,
            "relay": f"{folder}/home/run/relay.sock", "unix": f"{folder}/outside/agent.sock",
            "datagrams": f"{folder}/outside/log.sock", "nest": str(world.root),
            "hidden_pipe": str(world.home / "pipe"), "segment": segment, "messages": messages,
        }  # fmt: skip
        try:
            yield Server(process, told, lambda: any(_came(one) for one in sockets))
        finally:
            for one in sockets:
                one.close()
            os.close(reader)
            _LIBC.shmctl(segment, _REMOVE, None)
            _LIBC.msgctl(messages, _REMOVE, None)
            shared.unlink(missing_ok=True)
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


def _shared_by_number() -> tuple[int, int]:
    """A segment and a queue of System V that hold the secret."""
    segment = _LIBC.shmget(0, 4_096, 0o600)
    _LIBC.shmat.restype = ctypes.c_void_p
    at = _LIBC.shmat(segment, None, 0)
    ctypes.memmove(at, SECRET.encode(), len(SECRET))
    _LIBC.shmdt(ctypes.c_void_p(at))
    messages = _LIBC.msgget(0, 0o600)
    held = struct.pack("l", 1) + SECRET.encode()
    assert _LIBC.msgsnd(messages, held, len(SECRET), 0) == 0
    return segment, messages


@contextmanager
def _short_folder(world: World) -> Iterator[str]:
    link = Path("/tmp") / f"md-{os.getpid()}-{id(world):x}"
    link.symlink_to(world.root)
    try:
        yield str(link)
    finally:
        link.unlink()


def _came(one: socket.socket) -> bool:
    try:
        if one.type == socket.SOCK_DGRAM:
            return bool(one.recv(64))
        connection, _ = one.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True
