"""A started command: its streams, its end, and its certain death.

Invariant: whatever a command left running dies with it, with `kill`, and with this process. Reading
never starves the loop: one command's output is read in bounded shares, and the command waits.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from server.agent.sandbox.crowd import until_crowded
from server.agent.sandbox.launch import Launch

Stream = Literal["stdout", "stderr"]
Sink = Callable[[Stream, bytes], None]
"""Called on the event loop for each piece of output, in the order it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Bounds of one started command."""

    read_bytes: int = 65_536
    share_bytes: int = 1_048_576
    """Read of one stream before the loop goes on to others."""
    share_pause_s: float = 0.02
    close_wait_s: float = 2.0
    """Wait for the end of the streams after the command ended."""
    kill_wait_s: float = 5.0
    crowd_look_s: float = 0.2
    """Between two looks at how many processes it has, where the kernel does not count them."""
    stdin_bytes_max: int = 1_048_576
    """Written and not yet taken by the command."""


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """In character cells."""

    rows: int = 24
    columns: int = 80


class Process:
    """One running command; used on the event loop only."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        launch: Launch,
        *,
        readers: "list[_Reader]",
        stdin: int | None,
        is_terminal: bool,
        limits: ProcessLimits,
        sink: Sink,
    ) -> None:
        self._process = process
        self._control = launch.control
        self._launch_ended = launch.ended
        self._readers = readers
        self._stdin = stdin
        self._unwritten = bytearray()
        self._closing_stdin = False
        self._limits = limits
        self.is_terminal = is_terminal
        self.confined_by = launch.confined_by
        self.exit_code: int | None = None
        """None while it runs; 128 and the signal's number for one that a signal ended."""
        self.ended = asyncio.Event()
        """Set when it ended and everything it printed was read."""
        self._deadline: asyncio.TimerHandle | None = None
        self._sink = sink
        self._crowd: asyncio.Task[None] | None = None
        if launch.processes_max is not None:
            guard = self._end_crowded(launch.processes_max)
            self._crowd = asyncio.create_task(guard, name=f"processes of {process.pid}")
        self._task = asyncio.create_task(self._wait(), name=f"process {process.pid}")

    @property
    def pid(self) -> int:
        """Of the process that we started."""
        return self._process.pid

    @property
    def takes_input(self) -> bool:
        """Whether something can be written to it."""
        return self._stdin is not None and not self._closing_stdin

    def end_after(self, seconds: float) -> None:
        """Kill it when it still runs then."""
        self._deadline = asyncio.get_running_loop().call_later(seconds, self.kill)

    def kill(self) -> None:
        """End it and everything it started; `ended` tells when."""
        if self._control is not None:
            os.close(self._control)
            self._control = None
        elif self._process.returncode is None and self.confined_by == "bubblewrap":
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def killed(self) -> None:
        """Kill it and wait for its end, bounded."""
        self.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.kill_wait_s):
                await self.ended.wait()

    def write(self, data: bytes) -> bool:
        """Give it something to read; false when it takes nothing or has too much waiting."""
        stdin = self._stdin
        room = self._limits.stdin_bytes_max - len(self._unwritten)
        if stdin is None or self._closing_stdin or len(data) > room:
            return False
        waiting = bool(self._unwritten)
        self._unwritten += data
        if not waiting and data:
            asyncio.get_running_loop().add_writer(stdin, self._write_some)
        return True

    def close_stdin(self) -> None:
        """Tell it that nothing more comes, after what waits was written."""
        self._closing_stdin = True
        if not self._unwritten:
            self._drop_stdin()

    def resize(self, size: TerminalSize) -> bool:
        """Change the size of its terminal; false where it has none."""
        if not self.is_terminal or self._stdin is None:
            return False
        _set_size(self._stdin, size)
        return True

    def _write_some(self) -> None:
        stdin = self._stdin
        if stdin is None:
            return
        try:
            written = os.write(stdin, self._unwritten[: self._limits.read_bytes])
        except BlockingIOError:
            return
        except OSError:  # it closed its input
            self._drop_stdin()
            return
        del self._unwritten[:written]
        if not self._unwritten:
            asyncio.get_running_loop().remove_writer(stdin)
            if self._closing_stdin:
                self._drop_stdin()

    def _drop_stdin(self) -> None:
        stdin, self._stdin = self._stdin, None
        self._unwritten.clear()
        if stdin is None:
            return
        asyncio.get_running_loop().remove_writer(stdin)
        os.close(stdin)

    async def _end_crowded(self, processes_max: int) -> None:
        pid, look_s = self._process.pid, self._limits.crowd_look_s
        await until_crowded(pid, processes_max=processes_max, look_s=look_s)
        told = f"memoryd: the command was ended: it had more than {processes_max} processes\n"
        self._sink("stderr", told.encode())
        self.kill()

    async def _wait(self) -> None:
        code = await self._process.wait()
        if self._crowd is not None:
            self._crowd.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.close_wait_s):
                for reader in self._readers:
                    await reader.done.wait()
        for reader in self._readers:
            reader.close()
        if self._deadline is not None:
            self._deadline.cancel()
        self.kill()
        self._drop_stdin()
        self._launch_ended()
        self.exit_code = code if code >= 0 else 128 - code
        self.ended.set()


class _Reader:
    """Reads one stream to its end, a share at a time."""

    def __init__(self, descriptor: int, stream: Stream, sink: Sink, limits: ProcessLimits) -> None:
        self._descriptor: int | None = descriptor
        self._stream, self._sink, self._limits = stream, sink, limits
        self._left = limits.share_bytes
        self._pause: asyncio.TimerHandle | None = None
        self.done = asyncio.Event()
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        descriptor = self._descriptor
        if descriptor is None:
            return
        try:
            data = os.read(descriptor, self._limits.read_bytes)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # how the last closing of a terminal is told
                raise
            data = b""
        if not data:
            self.close()
            return
        self._sink(self._stream, data)
        self._left -= len(data)
        if self._left <= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(descriptor)
            self._pause = loop.call_later(self._limits.share_pause_s, self._go_on)

    def _go_on(self) -> None:
        self._left = self._limits.share_bytes
        if self._descriptor is not None:
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if self._pause is not None:
            self._pause.cancel()
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        self.done.set()


async def start_process(
    launch: Launch,
    sink: Sink,
    *,
    terminal: TerminalSize | None = None,
    has_stdin: bool = False,
    separates: bool = False,
    limits: ProcessLimits = ProcessLimits(),
) -> Process:
    """Start what was prepared.

    With `separates` the error stream comes by itself, else both come as one, in order.

    Raises: OSError when it cannot be started.
    """
    ends = _Ends()
    try:
        given = ends.open(terminal, has_stdin=has_stdin, separates=separates)
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            env=dict(launch.environment),
            pass_fds=launch.fds,
            stdin=given[0],
            stdout=given[1],
            stderr=given[2],
            start_new_session=True,
        )
    except BaseException:
        launch.abandon()
        ends.close_all()
        raise
    launch.release()
    ends.close_theirs()
    readers = [_Reader(descriptor, stream, sink, limits) for descriptor, stream in ends.ours]
    return Process(
        process, launch, readers=readers, stdin=ends.stdin, is_terminal=terminal is not None,
        limits=limits, sink=sink,
    )  # fmt: skip


class _Ends:
    """The ends of the streams of one command: those we read and write, and those it gets."""

    def __init__(self) -> None:
        self.ours: list[tuple[int, Stream]] = []
        self.theirs: list[int] = []
        self.stdin: int | None = None

    def open(
        self, terminal: TerminalSize | None, *, has_stdin: bool, separates: bool
    ) -> tuple[int, int, int]:
        """What the command gets as its three streams."""
        if terminal is not None:
            master, slave = os.openpty()
            self.ours.append((master, "stdout"))
            self.theirs.append(slave)
            _set_size(master, terminal)
            self.stdin = os.dup(master)
            os.set_blocking(self.stdin, False)
            return slave, slave, slave
        out = self._pipe("stdout")
        err = self._pipe("stderr") if separates else out
        if has_stdin:
            theirs, self.stdin = os.pipe()
            os.set_blocking(self.stdin, False)
        else:
            theirs = os.open(os.devnull, os.O_RDONLY)
        self.theirs.append(theirs)
        return theirs, out, err

    def close_theirs(self) -> None:
        while self.theirs:
            os.close(self.theirs.pop())

    def close_all(self) -> None:
        self.close_theirs()
        for descriptor, _ in self.ours:
            os.close(descriptor)
        if self.stdin is not None:
            os.close(self.stdin)

    def _pipe(self, stream: Stream) -> int:
        ours, theirs = os.pipe()
        self.ours.append((ours, stream))
        self.theirs.append(theirs)
        return theirs


def signal_name(exit_code: int) -> str | None:
    """The signal that an exit code of a shell stands for."""
    try:
        return signal.Signals(exit_code - 128).name if exit_code > 128 else None
    except ValueError:
        return None


def _set_size(descriptor: int, size: TerminalSize) -> None:
    cells = struct.pack("HHHH", size.rows, size.columns, 0, 0)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, cells)
