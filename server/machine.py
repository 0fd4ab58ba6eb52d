"""This machine, as far as agents may use it: the sandbox, what runs in it, the tools on top.

Joined once from the settings and the environment; nothing is started or tried before the first
command.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from server.agent.command_rules import CommandRules
from server.agent.inputs import ThreadSettings
from server.agent.sandbox.environment import EnvironmentPolicy
from server.agent.sandbox.policy import Places
from server.agent.sandbox.sandbox import Sandbox
from server.agent.tools.shell import ExecCommand
from server.agent.tools.shell_run import ShellParts
from server.agent.tools.stage import StagedTool
from server.agent.tools.terminals import Terminals
from server.agent.tools.write_stdin import WriteStdin
from server.environment import (
    claude_home_from_environment,
    codex_home_from_environment,
    inherited,
    temporary_folder,
)
from server.settings import Settings
from state.clock import Clock
from state.home import Home
from state.ids import ThreadId
from state.stores.withheld import Withheld
from state.workspace.layout import HANDBOOK, RECAPS, SKILLS, SUMMARY

_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What commands run with, and what runs."""

    shell: ShellParts

    @property
    def sandbox(self) -> Sandbox:
        """Holds commands where they belong."""
        return self.shell.sandbox

    @property
    def terminals(self) -> Terminals:
        """Commands that run on in the background."""
        return self.shell.terminals

    def tools(self, rules: CommandRules) -> tuple[StagedTool, ...]:
        """The tools that need a machine."""
        return ExecCommand(self.shell, rules), WriteStdin(self.shell)

    async def release(self, thread_id: ThreadId) -> None:
        """End everything that a thread left running."""
        await self.terminals.end_all(thread_id)

    async def close(self) -> None:
        """End everything."""
        await self.terminals.close()


def machine_of(
    settings: Settings,
    clock: Clock,
    settings_of: Callable[[ThreadId], ThreadSettings | None],
    withheld: Withheld,
) -> Machine:
    """The machine of a server with these settings; `settings_of` finds those of a loaded thread."""
    return Machine(
        shell=ShellParts(
            sandbox=Sandbox(places_of(settings.home)),
            terminals=Terminals(),
            clock=clock,
            inherited=inherited,
            environment=_environment(settings.shell_environment),
            readable=lambda thread_id: memory_places(
                settings.home, settings_of(thread_id), withheld
            ),
            shell=next((one for one in _SHELLS if os.access(one, os.X_OK)), "/bin/sh"),
        )
    )


def memory_places(
    home: Home, settings: ThreadSettings | None, withheld: Withheld
) -> tuple[str, ...]:
    """What a thread without memory tools reads of memory by commands: what is published, no more.

    Nothing while somebody's words are withheld, since no code stands between a command and a file.
    A link in its place leads elsewhere and is not shown.
    """
    if settings is None or not settings.use_memories or settings.dedicated_tools:
        return ()
    if withheld.of(settings.memory_version):
        return ()
    folder = os.path.realpath(home.memories(settings.memory_version))
    places = (os.path.join(folder, name) for name in (SUMMARY, HANDBOOK, RECAPS, SKILLS))
    return tuple(one for one in places if os.path.realpath(one) == one)


def places_of(home: Home) -> Places:
    """Where our home, the user's home and those of other agents are."""
    claude = claude_home_from_environment()
    user_home, tmpdir = Path.home(), temporary_folder()
    secrets = (
        codex_home_from_environment(),
        claude / ".credentials.json",
        user_home / ".claude.json",
    )
    return Places(
        home=_real(home.root),
        user_home=_real(user_home),
        hidden=tuple(_real(one) for one in secrets),
        tmpdir=None if tmpdir is None else _real(tmpdir),
        programs=tuple(dict.fromkeys(_real(Path(one)) for one in installed_in())),
    )


def installed_in() -> tuple[str, ...]:
    """The folders of the interpreter and of our own packages."""
    beside = Path(__file__).parents[1]
    names = ("server", "state", "protocol", "memory_read", "memory_write")
    return (sys.prefix, *(str(beside / name) for name in names))


def _real(path: Path) -> PurePosixPath:
    return PurePosixPath(os.path.realpath(path))


def _environment(written: Mapping[str, Any]) -> EnvironmentPolicy:
    return EnvironmentPolicy(
        inherit=written["inherit"],
        ignore_default_excludes=written["ignore_default_excludes"],
        exclude=tuple(written["exclude"]),
        include_only=tuple(written["include_only"]),
        values=written["set"],
    )
