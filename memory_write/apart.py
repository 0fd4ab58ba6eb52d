"""Rules that compute for long, in a process of their own, so that nobody waits for the interpreter.

Threads of one process take turns at the interpreter, and a pattern that searches a long text gives
no turn until it is done: clients would wait tens of milliseconds at each step of a request while a
backlog is learned. Here one piece of work at a time goes to a child that runs at lower priority and
ends when it has had nothing to do, or when this process ends, however it ends: its input closes.
Invariant: a piece of work is answered or `ModelFailed`; a child that dies or takes too long takes
nothing else with it, and the next piece gets a new one.
"""

import atexit
import logging
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from memory_write.ports import ModelFailed
from memory_write.quiet import quietly

P = ParamSpec("P")
T = TypeVar("T")

IDLE_SECONDS = 30.0
"""A child that had nothing to do for so long is ended: it holds some 40 MiB."""
WORK_SECONDS_MAX = 300.0
"""Longer than any session takes; a pattern that never ends is stopped here."""
NICENESS = 5
_log = logging.getLogger(__name__)


async def apart(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` answers, computed in the child; all of it must be picklable.

    Raises: ModelFailed (transient) when the child died or took too long; what `work` raises.
    """
    return await quietly(_CHILD.answer, work, given, named)


class _Child:
    """The one child, started when there is work; asked by one thread at a time."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: threading.Timer | None = None

    def answer(self, work: Callable[..., T], given: tuple[Any, ...], named: dict[str, Any]) -> T:
        """Blocks until the work is done.

        Raises: as `apart`.
        """
        with self._one_at_a_time:
            self._stop_waiting()
            process = self._running()
            if process is None:
                return work(*given, **named)
            result, error = self._exchange(process, pickle.dumps((work, given, named)))
            self._wait_for_more()
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def _running(self) -> subprocess.Popen[bytes] | None:
        """The child, or None where no process can be started: then the work is done here."""
        if self._process is not None and self._process.poll() is not None:
            self._end(self._process)
        if self._process is None:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, "-P", "-m", __name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=_environment(),
                    cwd="/",
                    # Ctrl-C goes to all of a terminal's group; this process says when it ends.
                    start_new_session=True,
                )
            except OSError as error:
                _log.warning("learning works inside the server, no process starts: %s", error)
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], asked: bytes) -> tuple[Any, Any]:
        assert process.stdin is not None and process.stdout is not None
        alarm = threading.Timer(WORK_SECONDS_MAX, process.kill)
        alarm.start()
        try:
            process.stdin.write(asked)
            process.stdin.flush()
            return pickle.load(process.stdout)  # type: ignore[no-any-return]  # noqa: S301 - our child
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._end(process)
            raise ModelFailed("the process that learns by rules ended", transient=True) from error
        finally:
            alarm.cancel()

    def _wait_for_more(self) -> None:
        self._idle = threading.Timer(IDLE_SECONDS, self._end_if_idle)
        self._idle.daemon = True
        self._idle.start()

    def _stop_waiting(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end_if_idle(self) -> None:
        if self._one_at_a_time.acquire(blocking=False):
            try:
                if self._process is not None:
                    self._end(self._process)
            finally:
                self._one_at_a_time.release()

    def close(self) -> None:
        """End the child, if there is one; new work starts another."""
        with self._one_at_a_time:
            self._stop_waiting()
            if self._process is not None:
                self._end(self._process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        self._process = None


def _environment() -> dict[str, str]:
    """Where this code lies, and nothing of ours: no key and no token goes along."""
    return {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONUTF8": "1"}


def _serve() -> None:
    """The child: one request after the other until its input closes."""
    os.nice(NICENESS)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what work prints is no reply
    while True:
        try:
            work, given, named = pickle.load(requests)  # noqa: S301 - our own parent
        except EOFError:
            return
        reply: tuple[Any, Exception | None]
        try:
            reply = (work(*given, **named), None)
        except Exception as error:
            reply = (
                None,
                RuntimeError(f"{type(error).__name__} in {work.__name__}, {_where(error)}"),
            )
        try:
            pickle.dump(reply, replies)
            replies.flush()
        except BrokenPipeError:
            return


def _where(error: Exception) -> str:
    """The place in the code; the error's own words may hold what was typed."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


_CHILD = _Child()
atexit.register(_CHILD.close)

if __name__ == "__main__":
    _serve()
