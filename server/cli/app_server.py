"""`memoryd app-server`: the protocol on stdin and stdout, for programs that spawn it.

A server that owns the home already is joined by a bridge that imports nothing heavy; otherwise this
process becomes the owner, for its own client and for all that join meanwhile.
"""

import os
import signal
import time
from argparse import Namespace
from types import FrameType

from server._relay import relay
from server._stdout import reserve_stdout
from server.cli.notices import OVERRIDES_WITHOUT_EFFECT, aside
from server.environment import home_from_environment
from server.errors import CommandFailed
from state.errors import HomeBusy

STDIO = "stdio://"
ATTEMPTS = 40
ATTEMPT_GAP_S = 0.25
_STDIN = 0


def run(arguments: Namespace) -> int:
    """Serve until the client leaves."""
    if (arguments.listen or [STDIO]) != [STDIO]:
        from server.cli.serve import run as serve

        return serve(arguments)
    if any(value is not None for name, value in vars(arguments).items() if name.startswith("ws_")):
        from server.cli.serve import checked_flags

        checked_flags(arguments)
    stdout = reserve_stdout()
    home = home_from_environment(arguments.home)
    for _ in range(ATTEMPTS):
        signal.signal(signal.SIGTERM, _leave)
        if relay(home.root, _STDIN, stdout, joined=lambda: _tell_overrides(arguments)):
            return 0
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        from server.cli.serve import run_stdio

        try:
            return run_stdio(arguments, stdout)
        except HomeBusy:
            # Another process is just becoming the owner; its socket is about to appear.
            time.sleep(ATTEMPT_GAP_S)
    raise CommandFailed(
        f"home {home.root} is owned by a process that does not answer; see {home.owner_lock} for "
        "its number, end it and try again"
    )


def _tell_overrides(arguments: Namespace) -> None:
    if arguments.overrides:
        aside(OVERRIDES_WITHOUT_EFFECT)


def _leave(number: int, frame: FrameType | None) -> None:
    """A bridge holds nothing that would have to be saved; SDKs expect status 0."""
    os._exit(0)
