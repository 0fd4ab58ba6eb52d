"""The installed command, run as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

MEMORYD = Path(sys.executable).with_name("memoryd")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A small environment with this home and no keys of the user."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home.parent), "MEMORYD_HOME": str(home), **more}


def memoryd(
    *arguments: str, home: Path, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [MEMORYD, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=110,
        env={**environment(home), **(env or {})},
        check=False,
    )


def started(arguments: Sequence[str], *, home: Path) -> subprocess.Popen[str]:
    """Start a command that serves; the caller ends it."""
    return subprocess.Popen(
        [MEMORYD, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
    )
