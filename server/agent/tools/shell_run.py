"""One command on a stage: started in its sandbox, shown while it prints, completed when it ends.

Invariant: an item that was opened is completed once, by the call, by the watcher of a terminal that
runs on, or by the stage; what it tells of output is in the order it came.
"""

import asyncio
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from server.agent.inputs import ThreadSettings
from server.agent.sandbox.environment import EnvironmentPolicy, child_environment
from server.agent.sandbox.launch import Command
from server.agent.sandbox.policy import FullAccess, Policy, policy_of
from server.agent.sandbox.sandbox import CannotRun, Sandbox
from server.agent.tools.commands import actions
from server.agent.tools.output import Deltas, Telling
from server.agent.tools.processes import Process, Stream, TerminalSize, start_process
from server.agent.tools.shell_arguments import ShellLimits
from server.agent.tools.shell_text import report
from server.agent.tools.stage import ToolResult
from server.agent.tools.terminals import Terminal, Terminals
from state.clock import Clock
from state.ids import ThreadId


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellParts:
    """What commands are run with; joined once by the assembly."""

    sandbox: Sandbox
    terminals: Terminals
    clock: Clock
    inherited: Callable[[], Mapping[str, str]]
    """The server's own environment, of which a command gets what is no secret."""
    environment: EnvironmentPolicy = EnvironmentPolicy()
    shell: str = "/bin/bash"
    readable: Callable[[ThreadId], tuple[str, ...]] = lambda _: ()
    """Folders of our home that a thread may read."""
    limits: ShellLimits = ShellLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A command as the model or a person asked for it."""

    argv: tuple[str, ...]
    text: str
    """The line itself, without the shell around it."""
    cwd: str
    root: str | None = None
    """The folder that its policy is about, where that is another one: the model chooses `cwd`."""
    tty: bool = False

    @property
    def shown(self) -> str:
        """As clients see it."""
        return shlex.join(self.argv)


def item_body(
    asked: Asked,
    *,
    source: str,
    status: str = "inProgress",
    process_id: str | None = None,
    output: str | None = None,
    exit_code: int | None = None,
    duration_ms: int | None = None,
) -> dict[str, Any]:
    """The item of a command, with every key that clients get."""
    return {
        "pluginId": None,
        "scriptPath": None,
        "command": asked.shown,
        "cwd": asked.cwd,
        "processId": process_id,
        "source": source,
        "status": status,
        "commandActions": actions(asked.text, asked.cwd),
        "aggregatedOutput": output,
        "exitCode": exit_code,
        "durationMs": duration_ms,
    }


def ended_body(asked: Asked, terminal: Terminal, *, source: str, now_ms: int) -> dict[str, Any]:
    """The item of a command that ended."""
    terminal.finish()
    code = terminal.exit_code
    return item_body(
        asked,
        source=source,
        status="completed" if code == 0 else "failed",
        process_id=str(terminal.session_id) if source.startswith("unified") else None,
        output=terminal.kept.text(),
        exit_code=code,
        duration_ms=max(0, now_ms - terminal.started_at_ms),
    )


def sandbox_of(settings: ThreadSettings, *, is_sandboxed: bool) -> Policy:
    """The policy that a command runs under; outside the sandbox only where that was decided."""
    if not is_sandboxed:
        return FullAccess()
    return policy_of(settings.sandbox_policy, settings.workspace_roots)


async def start(
    parts: ShellParts,
    asked: Asked,
    terminal: Terminal,
    policy: Policy,
    tell: Callable[[str], None],
) -> Process | CannotRun:
    """Start it; its output goes to the terminal, and as pieces of text to `tell`."""
    network = isinstance(policy, FullAccess) or policy.network
    launch = await parts.sandbox.prepare(
        Command(
            argv=asked.argv,
            cwd=asked.cwd,
            root=asked.root,
            policy=policy,
            environment=child_environment(
                parts.inherited(),
                parts.environment,
                network=network,
                marks={"CODEX_THREAD_ID": terminal.thread_id},
            ),
            readable=parts.readable(terminal.thread_id),
            tty=asked.tty,
        )
    )
    if isinstance(launch, CannotRun):
        return launch
    limits = parts.limits
    piece_max = limits.delta_piece_bytes_max
    telling = Telling(
        Deltas(bytes_max=limits.delta_bytes_max, piece_bytes_max=piece_max),
        tell,
        pause_s=limits.delta_pause_s,
        piece_max=piece_max,
    )
    terminal.finish = telling.finish

    def sink(_: Stream, data: bytes) -> None:
        terminal.unread.add(data)
        terminal.kept.add(data)
        terminal.arrived.set()
        telling.add(data)

    try:
        process = await start_process(launch, sink, terminal=TerminalSize() if asked.tty else None)
    except (OSError, ValueError) as error:
        return CannotRun(f"the command could not be started: {error}")
    terminal.process = process
    process.end_after(limits.seconds_max)
    return process


async def waited(process: Process, *, milliseconds: int) -> bool:
    """Whether it ended within that time."""
    try:
        async with asyncio.timeout(milliseconds / 1_000):
            await process.ended.wait()
    except TimeoutError:
        return False
    return True


def reported(terminal: Terminal, parts: ShellParts, *, tokens_max: int) -> ToolResult:
    """What came since the last look, for the model."""
    taken = terminal.unread.take()
    seconds = max(0, parts.clock.now_ms() - terminal.started_at_ms) / 1_000
    text = report(
        taken.text(),
        seconds=seconds,
        exit_code=None if terminal.is_running else terminal.exit_code,
        session_id=terminal.session_id,
        tokens_max=tokens_max,
    )
    return ToolResult(content=text, is_fitted=True)
