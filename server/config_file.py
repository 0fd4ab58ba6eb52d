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
    extract_tokens_per_day: int | None = None
    consolidation_tokens_per_day: int | None = None


class FeaturesSection(_Section):
    """`[features]`."""

    memories: bool = True


class ServerSection(_Section):
    """`[server]`: keys of our own."""

    drain_s: int = 10


class ProviderSection(_Section):
    """`[model_providers.NAME]`."""

    name: str | None = None
    base_url: str | None = None
    env_key: str | None = None
    wire_api: Literal["responses", "chat"] = "responses"
    http_headers: dict[str, str] = {}
    requires_openai_auth: bool = False


class ConfigFile(_Section):
    """The whole file, as far as memoryd reads it."""

    model: str | None = None
    model_provider: str | None = None
    model_reasoning_effort: str | None = None
    approval_policy: Literal["untrusted", "on-request", "never"] = "on-request"
    sandbox_mode: Literal["read-only", "workspace-write", "danger-full-access"] = "read-only"
    features: FeaturesSection = FeaturesSection()
    memories: MemoriesSection = MemoriesSection()
    server: ServerSection = ServerSection()
    model_providers: dict[str, ProviderSection] = {}


# Tables that the original reads and a later issue of ours will: no warning for them.
_LATER = frozenset({"mcp_servers", "profiles", "projects", "tui", "history", "shell_snapshot"})


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


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return "", {}
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
            key_path = where[:3] if where[:1] == ("model_providers",) else where[:2]
            warnings.append(
                ConfigWarning(
                    message=f"`{'.'.join(key_path)}` is ignored: {first['msg'].lower()}",
                    path=path,
                    line=line_of(text, key_path),
                )
            )
            pruned = _without(pruned, key_path)


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
