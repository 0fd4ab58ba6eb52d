"""The start of the command; installed as the top-level module `memoryd`.

Our packages have plain names, so a user's PYTHONPATH could hold a `server` or `state` of its own
and win. This module stands outside them, takes those paths away, and only then imports ours.
"""

import io
import os
import sys


def main() -> None:
    """Run the command line."""
    foreign = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    sys.path[:] = [p for p in sys.path if p and os.path.abspath(p) not in foreign]
    os.umask(0o077)
    _open_what_is_closed()
    try:
        from server.cli.main import main as run

        status = run([_readable(argument) for argument in sys.argv[1:]])
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def _open_what_is_closed() -> None:
    """A stream that the caller closed becomes nothing, and no text is too odd for a terminal."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    for stream, errors in (
        (sys.stdin, "replace"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _readable(argument: str) -> str:
    """Bytes that are no UTF-8 cannot be sent; a mark stands for them, and paths say so."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


if __name__ == "__main__":
    main()
