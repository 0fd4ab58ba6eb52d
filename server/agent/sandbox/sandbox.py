"""Chooses the means that hold commands, proves once that they do, and prepares each command.

Invariant: without a means that passed its probe no confined command is started. The probe runs in
the very sandbox that commands get.
"""

import asyncio
import contextlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import assert_never

from server.agent.sandbox import confine
from server.agent.sandbox.launch import (
    Command,
    Launch,
    Means,
    landlocked,
    program_path,
    unconfined,
    wrapped,
)
from server.agent.sandbox.limits import SandboxLimits, SurveyLimits
from server.agent.sandbox.placeholders import Placeholders
from server.agent.sandbox.policy import (
    Places,
    Policy,
    PolicyRefused,
    Reach,
    Unconfined,
    reach_of,
)
from server.agent.sandbox.probe import probe
from server.agent.sandbox.roots import Moved, Roots
from server.agent.sandbox.survey import survey
from server.agent.sandbox.syscalls import MACHINES

MEANS: tuple[Means, ...] = ("bubblewrap", "landlock")
ADVICE = (
    "install bubblewrap (and allow user namespaces), or choose danger-full-access; "
    "everything but commands works without"
)
LANDLOCK_NOTES = (
    "a folder around a hidden or protected place cannot be listed and nothing new can be made "
    "directly in it, such as at the top of a git repository",
    "in a working folder that holds no such place, `.codex` and `.agents` can be made, so look for "
    "them before another agent works in it",
    "modes, owners and times of files outside the writable folders are not held back",
    "the command lines of other processes can be read",
)
_FORBIDS_NAMESPACES_FROM = (0, 8)
_LOOKS_MAX = 5


@dataclass(frozen=True, slots=True)
class Ready:
    """Commands are confined by this means; the notes say what it lacks."""

    means: Means
    notes: tuple[str, ...] = ()
    forbids_namespaces: bool = False
    """Whether this bubblewrap can forbid namespaces inside."""


@dataclass(frozen=True, slots=True)
class Missing:
    """No means works here; the reason of each."""

    reasons: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        told = "; ".join(f"{means}: {reason}" for means, reason in self.reasons.items())
        return f"sandbox unavailable ({told})"


@dataclass(frozen=True, slots=True)
class CannotRun:
    """The command is not started; the sentence is for the model or the client."""

    reason: str
    sandbox_missing: bool = False


class Sandbox:
    """The sandbox of this server; used on the event loop only."""

    def __init__(
        self,
        places: Places,
        *,
        limits: SandboxLimits = SandboxLimits(),
        means: Sequence[Means] = MEANS,
        proved: Ready | None = None,
    ) -> None:
        """With `proved`, what an earlier probe on this machine found is not looked for again."""
        self._places = places
        self._limits = limits
        self._survey = SurveyLimits()
        self._wanted = tuple(means)
        self._status: Ready | Missing | None = proved
        self._probing = asyncio.Lock()
        self._placeholders = Placeholders()
        self._roots = Roots()

    @property
    def roots(self) -> Roots:
        """Where the folders of threads lead."""
        return self._roots

    @property
    def places(self) -> Places:
        """Where things are on this machine."""
        return self._places

    async def status(self) -> Ready | Missing:
        """Which means holds commands here; proved at the first call."""
        async with self._probing:
            if self._status is None:
                self._status = await self._choose()
        return self._status

    def reach(
        self, policy: Policy, cwd: str, *, readable: Sequence[str] = ()
    ) -> Reach | Unconfined | PolicyRefused:
        """What a command there may read and write."""
        grounded = self._roots.grounded(policy, cwd)
        if isinstance(grounded, Moved):
            return PolicyRefused(
                f"the folder {grounded.folder} leads elsewhere now than when it was first used "
                "here; see who made it a link, then restart the server or begin a thread where it "
                "leads to"
            )
        return reach_of(
            grounded[0],
            PurePosixPath(grounded[1]),
            self._places,
            readable=tuple(PurePosixPath(os.path.realpath(one)) for one in readable),
        )

    async def prepare(self, command: Command) -> Launch | CannotRun:
        """What to start for a command, or why it is not started."""
        if not _is_folder(command.cwd):
            return CannotRun(f"the working folder {command.cwd} does not exist")
        root = command.cwd if command.root is None else command.root
        reach = self.reach(command.policy, root, readable=command.readable)
        match reach:
            case PolicyRefused(reason):
                return CannotRun(reason)
            case Unconfined():
                return unconfined(command, command.cwd)
            case Reach():
                status = await self.status()
                if isinstance(status, Missing):
                    return CannotRun(f"{status}; {ADVICE}", sandbox_missing=True)
                return await self._made(command, reach, status)
            case _:
                assert_never(reach)

    async def _made(self, command: Command, reach: Reach, by: Ready) -> Launch | CannotRun:
        """Made aside, since it looks at files; nothing stays open when the caller leaves."""
        making = asyncio.ensure_future(asyncio.to_thread(self._settled, command, reach, by))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_abandon)
            raise
        except OSError as error:
            return CannotRun(f"the command could not be prepared: {error}")

    async def _choose(self) -> Ready | Missing:
        if sys.platform != "linux" or platform.machine() not in MACHINES:
            return Missing({"system": f"{sys.platform} on {platform.machine()} is not supported"})
        reasons: dict[str, str] = {}
        for means in self._wanted:
            found = await self._tried(means)
            if isinstance(found, Ready):
                return found
            reasons[means] = found
        return Missing(reasons)

    async def _tried(self, means: Means) -> Ready | str:
        """This means, or why it cannot be used."""
        ready = Ready(means, LANDLOCK_NOTES)
        if means == "bubblewrap":
            bwrap = program_path("bwrap")
            if bwrap is None:
                return "bwrap is not installed"
            if b"--bind-fd" not in await _told_by(bwrap, "--help"):
                return "bwrap is too old to bind folders that were opened before (--bind-fd)"
            forbids = await _version(bwrap) >= _FORBIDS_NAMESPACES_FROM
            ready = Ready(means, forbids_namespaces=forbids)
        elif (abi := confine.landlock_abi()) < confine.LANDLOCK_ABI_MIN:
            needed = confine.LANDLOCK_ABI_MIN
            return f"version {needed} of Landlock is needed, this kernel has {max(abi, 0)}"
        fault = await probe(
            lambda command, reach: self._confined(command, reach, ready),
            self._places,
            shares_processes=means == "landlock",
        )
        return ready if fault is None else fault

    def _settled(self, command: Command, reach: Reach, by: Ready) -> Launch:
        """Looks again where a folder was moved meanwhile, as by a command that still runs."""
        for _ in range(_LOOKS_MAX - 1):
            with contextlib.suppress(OSError):
                return self._confined(command, reach, by)
        return self._confined(command, reach, by)

    def _confined(self, command: Command, reach: Reach, by: Ready) -> Launch:
        """Looks at files: not on the event loop."""
        ground, machine = survey(reach, self._survey), MACHINES[platform.machine()]
        ground = replace(ground, cwd=os.path.realpath(command.cwd))
        if by.means == "landlock":
            return landlocked(command, ground, machine, limits=self._limits)
        bwrap = program_path("bwrap")
        if bwrap is None:  # removed since it was found
            raise FileNotFoundError("bwrap is not installed")
        held = self._placeholders.hold(ground.kept_free)
        try:
            return wrapped(
                command,
                replace(ground, protected=(*ground.protected, *held)),
                machine,
                bwrap=bwrap,
                limits=self._limits,
                can_forbid_namespaces=by.forbids_namespaces,
                ended=lambda: self._placeholders.let_go(held),
            )
        except OSError:
            self._placeholders.let_go(held)
            raise


def _abandon(making: "asyncio.Future[Launch]") -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().abandon()


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)


async def _version(bwrap: str) -> tuple[int, ...]:
    out = await _told_by(bwrap, "--version")
    digits = out.decode("ascii", "replace").split()[-1:]
    return tuple(int(one) for one in ".".join(digits).split(".") if one.isdigit())


async def _told_by(bwrap: str, option: str) -> bytes:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        bwrap, option, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    return out + err
