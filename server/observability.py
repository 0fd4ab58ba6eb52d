"""Logs to stderr, never to stdout; with secrets masked whatever is logged.

A log line names files, threads, jobs and codes. It holds no memory text; the filter is the second
line of defence, for texts of libraries and of errors.
"""

import logging
import sys

from state.policy.redaction import redact

# Debug logs of libraries that would say what passes through them.
_NOISY = ("websockets", "httpx2", "httpcore2", "openai", "asyncio", "aiosqlite", "uvicorn.access")
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class _Masked(logging.Formatter):
    """Masks secrets in the finished line, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def log_to_stderr(*, debug: bool, quiet: bool = False) -> None:
    """Send every log of this process to stderr; tracebacks only with `debug`.

    `quiet` leaves warnings out: the command itself says what came of its work.
    """
    handler = logging.StreamHandler(sys.stderr)
    formatter = _Masked(_FORMAT) if debug else _Brief(_FORMAT)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if debug else logging.ERROR if quiet else logging.WARNING)
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)


class _Brief(_Masked):
    """One line a record: the error's type and text instead of its traceback."""

    def formatException(self, ei: object) -> str:
        kind, error = (ei[0], ei[1]) if isinstance(ei, tuple) else (None, None)
        return f"{getattr(kind, '__name__', 'error')}: {error}" if kind else ""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # another handler may have cached the long form
        return super().format(record).replace("\n", " | ")
