"""The start of the command; installed as the top-level module `memoryd`.

Our packages have plain names, so a user's PYTHONPATH could hold a `server` or `state` of its own
and win. This module stands outside them, takes those paths away, and only then imports ours.
"""

import os
import sys


def main() -> None:
    """Run the command line."""
    foreign = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    sys.path[:] = [p for p in sys.path if p and os.path.abspath(p) not in foreign]
    os.umask(0o077)
    from server.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
