"""`memoryd app-server`: the protocol on stdin and stdout, for programs that spawn it.

A server that owns the home already is joined by a bridge that imports nothing heavy; otherwise this
process becomes the owner, for its own client and for all that join meanwhile.
"""

from argparse import Namespace

from server._relay import relay
from server.environment import home_from_environment

STDIO = "stdio://"
_STDIN, _STDOUT = 0, 1


def run(arguments: Namespace) -> int:
    """Serve until the client leaves."""
    listen = arguments.listen or [STDIO]
    if listen != [STDIO]:
        from server.cli.serve import run as serve

        return serve(arguments)
    if relay(home_from_environment(arguments.home).root, _STDIN, _STDOUT):
        return 0
    from server.cli.serve import run_stdio

    return run_stdio(arguments)
