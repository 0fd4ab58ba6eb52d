"""`[mcp_servers.NAME]`: from what is written to what a connection is made of.

A server whose table cannot be used is told and left out; the others go on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from server.config_checks import Warn, is_http, seconds_within
from server.config_sections import McpServerSection
from server.environment import variable

Approval = Literal["auto", "prompt", "approve"]
UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
STARTUP_SECONDS, TOOL_SECONDS = (0.1, 600.0), (0.1, 86_400.0)
_DEFAULTS = McpServerSection()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """One `[mcp_servers.NAME]`; a command to start, or an address to call."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the child gets beside a few harmless variables of ours; may hold secrets."""
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_token: bool = False
    """Whether a bearer token is among the headers."""
    required: bool = False
    """Whether a turn must not run without it."""
    startup_seconds_max: float = 30.0
    tool_seconds_max: float = 120.0
    enabled_tools: frozenset[str] | None = None
    disabled_tools: frozenset[str] = frozenset()
    approval: Approval = "auto"
    """`auto` goes by the tools' hints, `prompt` asks for each, `approve` for none."""

    def offers(self, tool: str) -> bool:
        """Whether the settings let the model see a tool of that name."""
        if tool in self.disabled_tools:
            return False
        return self.enabled_tools is None or tool in self.enabled_tools


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLeftOut:
    """A server that is wanted and cannot be reached as it is written."""

    name: str
    reason: str
    required: bool


def mcp_servers(
    sections: Mapping[str, McpServerSection], warn: Warn
) -> tuple[tuple[McpServerSettings, ...], tuple[McpLeftOut, ...]]:
    """The servers that are enabled and can be reached, and those that cannot."""
    made: dict[str, McpServerSettings] = {}
    left_out: list[McpLeftOut] = []
    for name, section in sections.items():
        if not section.enabled:
            continue
        fault = _fault(name, section, made)
        if fault is not None:
            key, reason = fault
            warn(f"`{'.'.join(key)}` {reason}; the server is left out", key)
            left_out.append(McpLeftOut(name=name, reason=reason, required=section.required))
            continue
        _tell_odd(name, warn)
        made[fit_name(name)] = _server(name, section, warn)
    return tuple(made.values()), tuple(left_out)


def fit_name(name: str) -> str:
    """The name with what providers do not take replaced."""
    return UNFIT.sub("_", name)


def _fault(
    name: str, section: McpServerSection, made: Mapping[str, McpServerSettings]
) -> tuple[tuple[str, ...], str] | None:
    """Why it cannot be reached, or not be told from another one; with the key at fault."""
    key, fit = ("mcp_servers", name), fit_name(name)
    if (section.command is None) == (section.url is None):
        return key, "needs either `command` or `url`, and not both"
    if section.url is not None and not is_http(section.url):
        return (*key, "url"), "is no http or https address"
    if section.command is not None and not section.command.strip():
        return (*key, "command"), "is empty"
    if fit in made:
        return key, f"would be called `{fit}` by models, as `{made[fit].name}` is: rename one"
    return None


def _tell_odd(name: str, warn: Warn) -> None:
    if (fit := fit_name(name)) != name or not name:
        warn(
            f"`mcp_servers.{name}` has a name that models cannot use (letters, digits, `_` and "
            f"`-` are fine); its tools are called `mcp__{fit}`",
            ("mcp_servers", name),
        )


def _server(name: str, section: McpServerSection, warn: Warn) -> McpServerSettings:
    key = ("mcp_servers", name)
    headers, has_token = _headers(section, key, warn)
    handed = {one: value for one in section.env_vars if (value := variable(one)) is not None}
    enabled = section.enabled_tools
    return McpServerSettings(
        name=name,
        command=section.command,
        args=tuple(section.args),
        env={**handed, **section.env},
        cwd=section.cwd,
        url=section.url,
        headers=headers,
        has_token=has_token,
        required=section.required,
        startup_seconds_max=seconds_within(
            section.startup_timeout_sec,
            STARTUP_SECONDS,
            default=_DEFAULTS.startup_timeout_sec,
            key=(*key, "startup_timeout_sec"),
            warn=warn,
        ),
        tool_seconds_max=seconds_within(
            section.tool_timeout_sec,
            TOOL_SECONDS,
            default=_DEFAULTS.tool_timeout_sec,
            key=(*key, "tool_timeout_sec"),
            warn=warn,
        ),
        enabled_tools=None if enabled is None else frozenset(enabled),
        disabled_tools=frozenset(section.disabled_tools),
        approval=section.default_tools_approval_mode,
    )


def _headers(
    section: McpServerSection, key: tuple[str, ...], warn: Warn
) -> tuple[Mapping[str, str], bool]:
    """The headers of each call, and whether a token is among them."""
    headers = dict(section.http_headers)
    for header, source in section.env_http_headers.items():
        if (value := variable(source)) is not None:
            headers[header] = value
    if section.bearer_token_env_var is None:
        return headers, False
    token = variable(section.bearer_token_env_var)
    if token is None:
        warn(
            f"`{'.'.join(key)}`: the variable {section.bearer_token_env_var} is not set; "
            "the server is asked without a token",
            key,
        )
        return headers, False
    return {**headers, "Authorization": f"Bearer {token}"}, True
