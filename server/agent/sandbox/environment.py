"""The variables a command gets: what it needs, and no secret. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

CORE = frozenset(
    {"HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP", "LANG"}
)
ALWAYS_OUT = (
    "MEMORYD_*", "SSH_AUTH_SOCK", "SSH_AGENT_*", "SSH_ASKPASS", "SSH_CONNECTION", "SSH_CLIENT",
    "SSH_TTY", "GPG_AGENT_INFO", "GPG_TTY", "DBUS_*", "DOCKER_HOST", "CONTAINER_HOST", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "LISTEN_*", "NOTIFY_SOCKET", "TMUX*",
    "STY", "SUDO_*", "VSCODE_*", "LD_PRELOAD", "LD_AUDIT", "KUBECONFIG", "AWS_*", "AZURE_*",
    "OPENAI_*", "ANTHROPIC_*",
)  # fmt: skip
"""Ways to agents, sockets and accounts; a setting cannot bring them back, only set them anew."""
SECRET_NAMES = (
    "*KEY*", "*SECRET*", "*TOKEN*", "*PASSW*", "*PASSPHRASE*", "*CREDENTIAL*", "*_PAT", "*_AUTH",
    "*COOKIE*", "*PRIVATE*",
)  # fmt: skip
_LOGIN_IN_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://[^/\s:@]{0,200}:[^/\s@]{1,200}@")
VARIABLES_MAX = 1_000
VALUE_CHARACTERS_MAX = 65_536

QUIET: Mapping[str, str] = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""So that programs neither ask nor page, as in the original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPolicy:
    """`[shell_environment_policy]`, with the original's keys and meaning."""

    inherit: Literal["all", "core", "none"] = "all"
    ignore_default_excludes: bool = False
    exclude: tuple[str, ...] = ()
    include_only: tuple[str, ...] = ()
    values: Mapping[str, str] | None = None
    """The key `set`."""


def child_environment(
    inherited: Mapping[str, str],
    policy: EnvironmentPolicy = EnvironmentPolicy(),
    *,
    network: bool,
    marks: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of a command, from that of the server."""
    kept = {
        name: value
        for name, value in list(inherited.items())[:VARIABLES_MAX]
        if _is_inherited(name, policy) and not _is_secret(name, value, policy)
    }
    kept = {name: value for name, value in kept.items() if not _matches(name, policy.exclude)}
    kept.update(policy.values or {})
    if policy.include_only:
        kept = {name: value for name, value in kept.items() if _matches(name, policy.include_only)}
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    kept.setdefault("LANG", "C.UTF-8")
    kept.update(QUIET)
    if not network:
        kept["CODEX_SANDBOX_NETWORK_DISABLED"] = "1"
    kept.update(marks or {})
    return {name: value for name, value in kept.items() if _can_be_passed(name, value)}


def _is_inherited(name: str, policy: EnvironmentPolicy) -> bool:
    if policy.inherit == "none":
        return False
    is_core = name.upper() in CORE or name.startswith("LC_")
    return policy.inherit == "all" or is_core


def _is_secret(name: str, value: str, policy: EnvironmentPolicy) -> bool:
    if _matches(name, ALWAYS_OUT):
        return True
    if policy.ignore_default_excludes:
        return False
    return _matches(name, SECRET_NAMES) or _LOGIN_IN_URL.search(value[:4_096]) is not None


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    upper = name.upper()
    return any(fnmatchcase(upper, pattern.upper()) for pattern in patterns)


def _can_be_passed(name: str, value: str) -> bool:
    named = bool(name) and "=" not in name and "\0" not in name
    return named and "\0" not in value and len(value) <= VALUE_CHARACTERS_MAX
