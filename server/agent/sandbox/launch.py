"""From a command and its ground to what is really started: programs, arguments, descriptors."""

import marshal
import os
import resource
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from server.agent.sandbox import bubblewrap
from server.agent.sandbox.confine import open_plain
from server.agent.sandbox.filter import program
from server.agent.sandbox.limits import SandboxLimits
from server.agent.sandbox.policy import Policy
from server.agent.sandbox.survey import Ground
from server.agent.sandbox.syscalls import Machine

Means = Literal["bubblewrap", "landlock"]
Rules = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...], bool]
"""Writable, protected, hidden and shown places; whether the network is allowed."""
_CONFINE = str(Path(__file__).with_name("confine.py"))
_TRUSTED_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Never the server's own PATH, which may name a folder that commands can write."""
_BARE_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
"""Of the programs that build a sandbox: the variables of a command must not reach them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command as it is asked for."""

    argv: Sequence[str]
    cwd: str
    policy: Policy
    environment: Mapping[str, str]
    root: str | None = None
    """The folder that the policy is about, where the command starts in another one."""
    readable: tuple[str, ...] = ()
    """Folders of our home that this thread may read."""
    tty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start, once.

    `fds` go to the child under their numbers and are closed with `release` afterwards. `control`
    stays open as long as the command may live: its end kills everything of the command. Where
    there is none, killing the started process does.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    fds: tuple[int, ...]
    control: int | None
    confined_by: Means | None
    ended: Callable[[], None] = lambda: None
    """Called once, when the command has ended or was not started."""
    processes_max: int | None = None
    """Whoever started it ends it beyond that; None where the kernel or the helper counts."""

    def release(self) -> None:
        """Close what only the child needs."""
        for descriptor in self.fds:
            os.close(descriptor)

    def abandon(self) -> None:
        """Close everything: it was not started."""
        self.release()
        if self.control is not None:
            os.close(self.control)
        self.ended()


def program_path(name: str) -> str | None:
    """A program of the system, by its absolute path."""
    beside = Path(sys.executable).with_name(name)  # a wheel brings bubblewrap, for one
    found = shutil.which(name, path=":".join(_TRUSTED_FOLDERS))
    return found or (str(beside) if os.access(beside, os.X_OK) else None)


def wrapped(
    command: Command,
    ground: Ground,
    machine: Machine,
    *,
    bwrap: str,
    limits: SandboxLimits,
    can_forbid_namespaces: bool,
    ended: Callable[[], None],
) -> Launch:
    """The command inside bubblewrap, which dies with the server and takes everything along.

    Raises: OSError (a folder became a link, or vanished, since it was looked at).
    """
    inner = bubblewrap.with_limits(command.argv, _possible(limits), prlimit=program_path("prlimit"))
    if command.tty and (setsid := program_path("setsid")):
        inner = [setsid, "-c", *inner]
    opened = _opened(bubblewrap.bound(ground))
    filter_fd = _file_of(program(machine, network=ground.network, namespaces=True))
    given = bubblewrap.arguments(
        ground,
        command.environment,
        opened=opened,
        user_id=os.geteuid(),
        group_id=os.getegid(),
        filter_fd=filter_fd,
        can_forbid_namespaces=can_forbid_namespaces,
    )
    args_fd = _file_of(b"".join(os.fsencode(one) + b"\0" for one in given))
    return Launch(
        argv=(bwrap, "--args", str(args_fd), "--", *inner),
        environment=_BARE_ENVIRONMENT,
        fds=(args_fd, filter_fd, *opened.values()),
        control=None,
        confined_by="bubblewrap",
        ended=ended,
        processes_max=limits.processes_max if os.geteuid() == 0 else None,
    )


def _opened(paths: Sequence[str]) -> dict[str, int]:
    opened: dict[str, int] = {}
    try:
        for path in paths:
            opened[path] = open_plain(path, os.O_PATH)
    except OSError:
        for descriptor in opened.values():
            os.close(descriptor)
        raise
    return opened


def landlocked(
    command: Command, ground: Ground, machine: Machine, *, limits: SandboxLimits
) -> Launch:
    """The command confined by the kernel's file rules and the filter, under a reaper of ours."""
    rules = (ground.writable, ground.protected, ground.hidden, ground.shown, ground.network)
    return _supervised(
        command,
        ground.cwd,
        confined_by="landlock",
        limits=_possible(limits),
        rules=rules,
        loaded=program(machine, network=ground.network, namespaces=False),
    )


def unconfined(command: Command, cwd: str) -> Launch:
    """The command with the server's own rights, under a reaper of ours."""
    return _supervised(command, cwd, confined_by=None)


def _supervised(
    command: Command,
    cwd: str,
    *,
    confined_by: Means | None,
    limits: Mapping[str, int] | None = None,
    rules: Rules | None = None,
    loaded: bytes = b"",
) -> Launch:
    spec = (
        list(command.argv),
        dict(command.environment),
        cwd,
        command.tty,
        dict(limits or {}),
        rules,
        loaded,
    )
    spec_fd = _file_of(marshal.dumps(spec))
    watched, control = os.pipe()
    return Launch(
        argv=(sys.executable, "-I", "-S", _CONFINE, str(spec_fd), str(watched)),
        environment=_BARE_ENVIRONMENT,
        fds=(spec_fd, watched),
        control=control,
        confined_by=confined_by,
    )


def _possible(limits: SandboxLimits) -> dict[str, int]:
    """The limits, none above what this process may set."""
    possible = {}
    for name, value in limits.as_rlimits().items():
        _, hard = resource.getrlimit(getattr(resource, name))
        possible[name] = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return possible


def _file_of(data: bytes) -> int:
    """A nameless file in memory with that content, to be read from its start."""
    descriptor = os.memfd_create("memoryd")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
