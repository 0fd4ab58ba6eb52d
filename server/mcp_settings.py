"""`[mcp_servers.NAME]`: from what is written to what a connection is made of.

A server whose table cannot be used is told and left out; the others go on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from server.config_file import McpServerSection
from server.environment import variable

Approval = Literal["auto", "prompt", "approve"]


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


def mcp_servers(
    sections: Mapping[str, McpServerSection], warn: Callable[[str, str], None]
) -> tuple[McpServerSettings, ...]:
    """The servers that are enabled and can be reached; `warn` hears a message and the server."""
    made = (_server(name, one, warn) for name, one in sections.items() if one.enabled)
    return tuple(one for one in made if one is not None)


def _server(
    name: str, section: McpServerSection, warn: Callable[[str, str], None]
) -> McpServerSettings | None:
    if (section.command is None) == (section.url is None):
        warn(
            f"`mcp_servers.{name}` needs either `command` or `url`, and not both; it is left out",
            name,
        )
        return None
    headers, token = dict(section.http_headers), None
    for header, source in section.env_http_headers.items():
        if (value := variable(source)) is not None:
            headers[header] = value
    if section.bearer_token_env_var is not None:
        token = variable(section.bearer_token_env_var)
        if token is None:
            warn(
                f"`mcp_servers.{name}`: the variable {section.bearer_token_env_var} is not set; "
                "the server is asked without a token",
                name,
            )
        else:
            headers["Authorization"] = f"Bearer {token}"
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
        has_token=token is not None,
        required=section.required,
        startup_seconds_max=min(max(section.startup_timeout_sec, 0.1), 600.0),
        tool_seconds_max=min(max(section.tool_timeout_sec, 0.1), 86_400.0),
        enabled_tools=None if enabled is None else frozenset(enabled),
        disabled_tools=frozenset(section.disabled_tools),
        approval=section.default_tools_approval_mode,
    )
