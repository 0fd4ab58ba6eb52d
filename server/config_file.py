"""The configuration file and the `-c` overrides: read, merged, checked; no environment here.

A key that is unknown or of the wrong type never stops the server: it is told with file and line,
and the default is used. Only a file that is no TOML at all is refused.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from server.errors import ConfigRefused

# The bounds of the original, `memory-write.md` section 2.1: key -> (lowest, highest).
CLAMPS: Mapping[str, tuple[int, int]] = {
    "max_raw_memories_for_consolidation": (1, 4096),
    "max_unused_days": (0, 365),
    "max_rollout_age_days": (0, 90),
    "max_rollouts_per_startup": (1, 128),
    "min_rollout_idle_hours": (1, 48),
    "min_rate_limit_remaining_percent": (0, 100),
    "max_concurrent_extractions": (1, 64),
}
_ALIASES: Mapping[tuple[str, str], str] = {
    ("memories", "no_memories_if_mcp_or_web_search"): "disable_on_external_context",
    ("features", "memory_tool"): "memories",
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class MemoriesSection(_Section):
    """`[memories]`, unclamped and as written."""

    version: Literal["v1", "v2", "v3"] = "v1"
    dual_write: bool | list[str] = False
    generate_memories: bool = True
    use_memories: bool = True
    dedicated_tools: bool = True
    disable_on_external_context: bool = False
    max_raw_memories_for_consolidation: int = 256
    max_unused_days: int = 30
    max_rollout_age_days: int = 10
    max_rollouts_per_startup: int = 2
    max_concurrent_extractions: int = 8
    min_rollout_idle_hours: int = 6
    min_rate_limit_remaining_percent: int = 25
    extract_model: str | None = None
    consolidation_model: str | None = None
    consolidation_service_tier: str | None = None
    extract_tokens_per_day: int | None = None
    consolidation_tokens_per_day: int | None = None


class FeaturesSection(_Section):
    """`[features]`."""

    memories: bool = True


class WebSearchSection(_Section):
    """`[tools.web_search]`; its details are the provider's business."""


class GranularParts(_Section):
    """Which questions may come at all."""

    sandbox_approval: bool
    rules: bool
    mcp_elicitations: bool
    request_permissions: bool = False
    skill_approval: bool = False


class GranularSection(_Section):
    """`approval_policy = { granular = { … } }`."""

    granular: GranularParts


class ToolsSection(_Section):
    """`[tools]`."""

    web_search: bool | WebSearchSection | None = None


class WorkspaceWriteSection(_Section):
    """`[sandbox_workspace_write]`."""

    writable_roots: list[str] = []
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class ShellEnvironmentSection(_Section):
    """`[shell_environment_policy]`: which variables a command gets."""

    inherit: Literal["all", "core", "none"] = "all"
    ignore_default_excludes: bool = False
    exclude: list[str] = []
    include_only: list[str] = []
    set: dict[str, str] = {}


class ServerSection(_Section):
    """`[server]`: keys of our own."""

    drain_s: int = 10
    thread_idle_s: int = 1_800
    """After that time without listeners and turns a thread is unloaded; 0 keeps all."""


class ProviderSection(_Section):
    """`[model_providers.NAME]`."""

    name: str | None = None
    base_url: str | None = None
    env_key: str | None = None
    wire_api: Literal["responses", "chat"] = "responses"
    http_headers: dict[str, str] = {}
    requires_openai_auth: bool = False


class McpServerSection(_Section):
    """`[mcp_servers.NAME]`."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    env_vars: list[str] = []
    cwd: str | None = None
    url: str | None = None
    bearer_token_env_var: str | None = None
    http_headers: dict[str, str] = {}
    env_http_headers: dict[str, str] = {}
    enabled: bool = True
    required: bool = False
    startup_timeout_sec: float = 30.0
    tool_timeout_sec: float = 120.0
    enabled_tools: list[str] | None = None
    disabled_tools: list[str] = []
    default_tools_approval_mode: Literal["auto", "prompt", "approve"] = "auto"


class ConfigFile(_Section):
    """The whole file, as far as memoryd reads it."""

    model: str | None = None
    model_provider: str | None = None
    model_reasoning_effort: str | None = None
    model_context_window: int | None = None
    model_auto_compact_token_limit: int | None = None
    approval_policy: Literal["untrusted", "on-request", "never"] | GranularSection = "on-request"
    sandbox_mode: Literal["read-only", "workspace-write", "danger-full-access"] = "read-only"
    sandbox_workspace_write: WorkspaceWriteSection = WorkspaceWriteSection()
    shell_environment_policy: ShellEnvironmentSection = ShellEnvironmentSection()
    web_search: Literal["disabled", "cached", "live"] | None = None
    tools: ToolsSection = ToolsSection()
    features: FeaturesSection = FeaturesSection()
    memories: MemoriesSection = MemoriesSection()
    server: ServerSection = ServerSection()
    model_providers: dict[str, ProviderSection] = {}
    instruction_files: bool = True
    project_doc_max_bytes: int = 32_768
    project_doc_fallback_filenames: list[str] = []
    projects: dict[str, Any] = {}
    mcp_servers: dict[str, McpServerSection] = {}


_NAMED = ("model_providers", "mcp_servers")
"""Tables of tables, whose second part is a name."""
# Tables that the original reads and a later issue of ours will: no warning for them.
_LATER = frozenset({"profiles", "tui", "history", "shell_snapshot"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigWarning:
    """Something in the configuration that does not do what its writer may expect."""

    message: str
    path: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.path is None:
            return self.message
        return f"{self.path}:{self.line or 1}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    """What the file and the overrides say together."""

    config: ConfigFile
    merged: Mapping[str, Any]
    """As written, with old spellings put right; for `config/read`."""
    text: str
    warnings: tuple[ConfigWarning, ...]


def read_config(path: Path, overrides: Sequence[str] = ()) -> ReadConfig:
    """Read the file and lay the command line's `key=value` overrides over it.

    Raises: ConfigRefused.
    """
    text, written = _read(path)
    warnings = [
        ConfigWarning(message=message, path=path, line=line_of(text, where))
        for where, message in _strange(written)
    ]
    merged = _canonical(written)
    for override in overrides:
        where, value = _parsed_override(override)
        for _, message in _strange(_nested(where, value)):
            warnings.append(ConfigWarning(message=f"-c {override}: {message}"))
        merged = _merged(merged, _canonical(_nested(where, value)))
    config = _validated(merged, path, text, warnings)
    return ReadConfig(config=config, merged=merged, text=text, warnings=tuple(warnings))


def faults_of(text: str, path: Path) -> tuple[str, ...]:
    """Why values of a text would not count: of the wrong type, or the text is no TOML."""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return (f"not valid TOML: {error}",)
    warnings: list[ConfigWarning] = []
    _validated(_canonical(written), path, text, warnings)
    return tuple(warning.message for warning in warnings)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return "", {}
    except NotADirectoryError as error:
        raise ConfigRefused(f"{path.parent} is a file, so it cannot be a home") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigRefused(f"{path} cannot be read: {error}") from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigRefused(
            f"{path} is not valid TOML: {error}; correct that line, or move the file away to "
            "start with the defaults"
        ) from error


def _canonical(written: Mapping[str, Any]) -> dict[str, Any]:
    """Old spellings of keys put right; within one layer the canonical spelling wins."""
    result = {
        key: dict(value) if isinstance(value, dict) else value for key, value in written.items()
    }
    for (table, old), new in _ALIASES.items():
        section = result.get(table)
        if isinstance(section, dict) and old in section:
            value = section.pop(old)
            section.setdefault(new, value)
    return result


def _strange(written: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Keys that nothing reads, each with its place and a sentence."""
    known: dict[str, type[BaseModel]] = {
        "features": FeaturesSection,
        "memories": MemoriesSection,
        "server": ServerSection,
    }
    found: list[tuple[tuple[str, ...], str]] = []
    for key, value in _canonical(written).items():
        if key in known and isinstance(value, dict):
            if key == "features":
                continue  # flags of the original that we do not have are common and harmless
            for inner in value.keys() - known[key].model_fields.keys():
                found.append(((key, inner), f"unknown key `{key}.{inner}` has no effect"))
        elif key not in ConfigFile.model_fields and key not in _LATER:
            home = _where_it_belongs(key)
            hint = f"; did you mean `{home}.{key}`?" if home else ""
            found.append(((key,), f"unknown key `{key}` has no effect{hint}"))
    return found


def _where_it_belongs(key: str) -> str | None:
    if key in MemoriesSection.model_fields:
        return "memories"
    return "server" if key in ServerSection.model_fields else None


def _parsed_override(override: str) -> tuple[tuple[str, ...], Any]:
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise ConfigRefused(f"`-c {override}` is not of the form key=value")
    try:
        value: Any = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # as the original: what is no TOML value is a plain string
    return tuple(part.strip() for part in key.split(".")), value


def _nested(where: tuple[str, ...], value: Any) -> dict[str, Any]:
    for part in reversed(where):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            result[key] = _merged(under, value)
        else:
            result[key] = value
    return result


def _validated(
    merged: dict[str, Any], path: Path, text: str, warnings: list[ConfigWarning]
) -> ConfigFile:
    """The typed form; a value of the wrong type is told and left at its default."""
    pruned = merged
    while True:
        try:
            return ConfigFile.model_validate(pruned)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = tuple(str(part) for part in first["loc"])
            key_path = where[:3] if where[0] in _NAMED else where[:2]
            key_path = _existing(pruned, key_path)
            wanted = _wanted(first["type"], first["msg"])
            warnings.append(
                ConfigWarning(
                    message=f"`{'.'.join(key_path)}` is ignored: {wanted}",
                    path=path,
                    line=line_of(text, key_path),
                )
            )
            pruned = _without(pruned, key_path)


def _wanted(kind: str, message: str) -> str:
    """What a value should have been, in the words of TOML."""
    table = kind in ("dict_type", "model_type", "model_attributes_type")
    return "input should be a table" if table else message.lower()


def _existing(config: Mapping[str, Any], where: tuple[str, ...]) -> tuple[str, ...]:
    """As much of a path as stands in the file; the rest names one of several allowed shapes."""
    inner: Any = config
    for depth, part in enumerate(where):
        if not isinstance(inner, Mapping) or part not in inner:
            return where[: max(1, depth)]
        inner = inner[part]
    return where


def _without(config: Mapping[str, Any], where: tuple[str, ...]) -> dict[str, Any]:
    result = dict(config)
    inner = result.get(where[0])
    if len(where) == 1 or not isinstance(inner, dict):
        result.pop(where[0], None)
    else:
        result[where[0]] = _without(inner, where[1:])
    return result


_TABLE = re.compile(r"^\s*\[([^\[\]]+)\]")


def line_of(text: str, where: tuple[str, ...]) -> int | None:
    """The line that sets a key; the TOML reader of the standard library keeps no places."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        if header:
            table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
            if table == where:
                return number
            continue
        key = line.partition("=")[0].strip().strip("\"'")
        if key and (*table, *(part.strip() for part in key.split("."))) == where:
            return number
    return None
