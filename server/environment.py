"""The only reader of the environment. Imports nothing heavy: a relaying client asks it too."""

import os
from pathlib import Path

from state.home import Home


def variable(name: str) -> str | None:
    """The value of a variable; None where it is unset or empty."""
    return os.environ.get(name) or None


def inherited() -> dict[str, str]:
    """Every variable of this process; what a command may have of them is decided elsewhere."""
    return dict(os.environ)


def user_home() -> Path:
    """The home of the user; the root of the disk where there is none."""
    try:
        return Path("~").expanduser()
    except RuntimeError:
        return Path("/")


def temporary_folder() -> Path | None:
    """What TMPDIR names."""
    named = variable("TMPDIR")
    return Path(named) if named and os.path.isabs(named) else None


def home_from_environment(given: str | None = None) -> Home:
    """The home that `--home` or MEMORYD_HOME names, else `~/.memoryd`."""
    chosen = given or variable("MEMORYD_HOME") or "~/.memoryd"
    # A home behind a link is one home: its lock and sockets must have one path.
    return Home(Path(chosen).expanduser().resolve())


def codex_home_from_environment() -> Path:
    """The original's home, for import only."""
    return Path(variable("CODEX_HOME") or "~/.codex").expanduser().absolute()


def claude_home_from_environment() -> Path:
    """The home of Claude Code, for import only."""
    return Path(variable("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser().absolute()


def terminal_name() -> str:
    """The terminal this process runs in, for the user agent."""
    return variable("TERM_PROGRAM") or variable("TERM") or "unknown"
