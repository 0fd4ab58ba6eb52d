"""One command for a client: `command/exec` under the sandbox, with its streams.

A command belongs to the connection that asked for it and ends with it.
"""

import asyncio
import base64
import binascii
import itertools
from dataclasses import dataclass, field

from protocol import methods
from protocol.base import EmptyResult
from protocol.errors import draining, failed, refused
from protocol.messages.commands import (
    CommandExecOutputDelta,
    CommandExecParams,
    CommandExecProcessParams,
    CommandExecResizeParams,
    CommandExecResult,
    CommandExecWriteParams,
)
from server.agent.sandbox.environment import child_environment
from server.agent.sandbox.launch import Command
from server.agent.sandbox.policy import FullAccess, policy_of
from server.agent.sandbox.sandbox import CannotRun
from server.agent.tools.processes import Process, Sink, Stream, TerminalSize, start_process
from server.handlers.services import Services
from server.handlers.threads import absolute
from server.wire.dispatch import Call
from server.wire.peer import Peer

TIMED_OUT = 124


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecLimits:
    """Bounds of commands of clients."""

    timeout_ms_default: int = 10_000
    bytes_cap_default: int = 20 * 1_024
    """Of each stream; with it a reply stays within what every client can read."""
    bytes_cap_max: int = 16 * 1_048_576
    delta_bytes_max: int = 16_384
    per_peer_max: int = 32
    words_max: int = 4_096


LIMITS = ExecLimits()


@dataclass(slots=True)
class _Captured:
    """What one stream gave, up to its cap."""

    left: int
    data: bytearray = field(default_factory=bytearray)
    is_full: bool = False

    def take(self, data: bytes) -> bytes:
        """The part of it that is within the cap."""
        kept = data[: self.left]
        self.left -= len(kept)
        self.is_full = self.is_full or len(kept) < len(data)
        return kept


class CommandHandlers:
    """Answers `command/exec` and what follows it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._running: dict[tuple[int, str], asyncio.Future[Process | None]] = {}
        """A command that is about to start counts; who asks for it meanwhile waits."""
        self._own_ids = itertools.count(1)

    async def exec(self, call: Call, params: CommandExecParams) -> CommandExecResult:
        """Run a command to its end; the reply comes after all it printed."""
        _check(params)
        if self._services.draining():
            raise draining()
        key = (call.peer.id, params.process_id or f"\0{next(self._own_ids)}")
        if key in self._running:
            raise refused(f"process id `{key[1][:100]}` is in use on this connection")
        if sum(peer_id == call.peer.id for peer_id, _ in self._running) >= LIMITS.per_peer_max:
            raise refused(f"more than {LIMITS.per_peer_max} commands run on this connection")
        started = self._running[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._exec(call.peer, params, key)
        finally:
            del self._running[key]
            if not started.done():
                started.set_result(None)

    async def write(self, call: Call, params: CommandExecWriteParams) -> EmptyResult:
        """Give it something to read."""
        process = await self._process(call.peer, params.process_id)
        try:
            data = base64.b64decode(params.delta_base64 or "", validate=True)
        except binascii.Error:
            raise refused("deltaBase64 is not base64") from None
        if data and not process.write(data):
            raise refused("stdin is closed, or too much waits to be read")
        if params.close_stdin:
            process.close_stdin()
        return EmptyResult()

    async def resize(self, call: Call, params: CommandExecResizeParams) -> EmptyResult:
        """Change the size of its terminal."""
        size = TerminalSize(rows=params.size.rows, columns=params.size.cols)
        process = await self._process(call.peer, params.process_id)
        if not process.resize(size):
            raise refused("that command has no terminal")
        return EmptyResult()

    async def terminate(self, call: Call, params: CommandExecProcessParams) -> EmptyResult:
        """End it; the reply to its start tells how."""
        (await self._process(call.peer, params.process_id)).kill()
        return EmptyResult()

    async def _process(self, peer: Peer, process_id: str) -> Process:
        started = self._running.get((peer.id, process_id))
        process = None if started is None else await asyncio.shield(started)
        if process is None:
            raise refused(f"no active command/exec for process id `{process_id[:100]}`")
        return process

    async def _exec(
        self, peer: Peer, params: CommandExecParams, key: tuple[int, str]
    ) -> CommandExecResult:
        streams = params.tty or params.stream_stdout_stderr
        cap = _cap(params)
        captured: dict[Stream, _Captured] = {"stdout": _Captured(cap), "stderr": _Captured(cap)}

        def sink(stream: Stream, data: bytes) -> None:
            into = captured[stream]
            was_full = into.is_full
            kept = into.take(data)
            if not streams:
                into.data.extend(kept)
            elif kept or into.is_full != was_full:
                self._tell(peer, key[1], stream, kept, cap_reached=into.is_full)

        process = await self._start(params, sink)
        self._running[key].set_result(process)
        code = await _ended(process, peer, _timeout_s(params))
        return CommandExecResult(
            exit_code=code,
            stdout=captured["stdout"].data.decode("utf-8", "replace"),
            stderr=captured["stderr"].data.decode("utf-8", "replace"),
        )

    async def _start(self, params: CommandExecParams, sink: Sink) -> Process:
        services, shell = self._services, self._services.machine.shell
        given = params.sandbox_policy
        policy = policy_of(services.settings.sandbox_policy if given is None else given.to_wire())
        network = isinstance(policy, FullAccess) or policy.network
        environment = child_environment(shell.inherited(), shell.environment, network=network)
        for name, value in (params.env or {}).items():
            if value is None:
                environment.pop(name, None)
            elif name and not {"=", "\0"} & set(name) and "\0" not in value:
                environment[name] = value
        launch = await shell.sandbox.prepare(
            Command(
                argv=params.command,
                cwd=absolute(params.cwd, services.default_cwd),
                policy=policy,
                environment=environment,
                tty=params.tty,
            )
        )
        if isinstance(launch, CannotRun):
            raise (
                failed(launch.reason, {"kind": "sandboxUnavailable"})
                if (launch.sandbox_missing)
                else refused(launch.reason)
            )
        size = params.size
        terminal = TerminalSize() if size is None else TerminalSize(size.rows, size.cols)
        try:
            return await start_process(
                launch,
                sink,
                terminal=terminal if params.tty else None,
                has_stdin=params.stream_stdin,
                separates=True,
            )
        except OSError as error:
            raise failed(f"the command could not be started: {error.strerror}") from error

    def _tell(
        self, peer: Peer, process_id: str, stream: Stream, data: bytes, *, cap_reached: bool
    ) -> None:
        pieces = [
            data[at : at + LIMITS.delta_bytes_max]
            for at in range(0, len(data), LIMITS.delta_bytes_max)
        ] or [b""]
        for index, piece in enumerate(pieces):
            delta = CommandExecOutputDelta(
                process_id=process_id,
                stream=stream,
                delta_base64=base64.b64encode(piece).decode(),
                cap_reached=cap_reached and index == len(pieces) - 1,
            )
            self._services.hub.tell(peer, methods.COMMAND_EXEC_OUTPUT_DELTA, delta, thread_id=None)


async def _ended(process: Process, peer: Peer, timeout_s: float | None) -> int:
    """Its exit code; it is ended when its time is over or its client has left."""
    ended = asyncio.create_task(process.ended.wait())
    left = asyncio.create_task(peer.closed.wait())
    try:
        await asyncio.wait((ended, left), timeout=timeout_s, return_when="FIRST_COMPLETED")
        in_time = process.ended.is_set()
        if not in_time:
            await process.killed()
        return (process.exit_code or 0) if in_time or peer.closed.is_set() else TIMED_OUT
    finally:
        ended.cancel()
        left.cancel()
        process.kill()


def _check(params: CommandExecParams) -> None:
    """Refuse what cannot be meant.

    Raises: WireError.
    """
    wants_id = params.tty or params.stream_stdin or params.stream_stdout_stderr
    faults = (
        (not params.command or not params.command[0], "command must not be empty"),
        (len(params.command) > LIMITS.words_max, "command has too many words"),
        (any("\0" in one for one in params.command), "command holds a null character"),
        (wants_id and not params.process_id, "tty and streaming need a processId"),
        (params.size is not None and not params.tty, "size needs tty"),
        (
            params.disable_output_cap and params.output_bytes_cap is not None,
            "disableOutputCap cannot be combined with outputBytesCap",
        ),
        (
            params.disable_timeout and params.timeout_ms is not None,
            "disableTimeout cannot be combined with timeoutMs",
        ),
        (params.timeout_ms is not None and params.timeout_ms < 0, "timeoutMs must not be negative"),
        (
            params.permission_profile is not None and params.sandbox_policy is not None,
            "permissionProfile cannot be combined with sandboxPolicy",
        ),
        (params.permission_profile is not None, "permission profiles are not known here"),
    )
    if fault := next((sentence for is_so, sentence in faults if is_so), None):
        raise refused(fault)


def _cap(params: CommandExecParams) -> int:
    if params.disable_output_cap:
        return LIMITS.bytes_cap_max
    if params.output_bytes_cap is None:
        return LIMITS.bytes_cap_default
    return min(params.output_bytes_cap, LIMITS.bytes_cap_max)


def _timeout_s(params: CommandExecParams) -> float | None:
    if params.disable_timeout:
        return None
    given = params.timeout_ms
    return (LIMITS.timeout_ms_default if given is None else given) / 1_000
