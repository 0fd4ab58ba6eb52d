"""The configuration file and the `-c` overrides: read, merged, checked; no environment here.

A key that is unknown or of the wrong type never stops the server: it is told with file and line,
and the default is used. Only a file that is no TOML at all is refused.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from server.config_sections import (
    NAMED,
    ConfigFile,
    FeaturesSection,
    MemoriesSection,
    ServerSection,
)
from server.errors import ConfigRefused

_ALIASES: Mapping[tuple[str, str], str] = {
    ("memories", "no_memories_if_mcp_or_web_search"): "disable_on_external_context",
    ("features", "memory_tool"): "memories",
}


_WHOLE = frozenset({"approval_policy"})
"""What is of one piece: half of it would be another policy than the one that was meant."""
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
    given: dict[tuple[str, ...], str] = {}
    for override in overrides:
        where, value = _parsed_override(override)
        given[tuple(where)] = override
        for _, message in _strange(_nested(where, value)):
            warnings.append(ConfigWarning(message=f"-c {override}: {message}"))
        merged = _merged(merged, _canonical(_nested(where, value)))
    config, faults = _validated(merged)
    for one in faults:
        ignored = f"`{'.'.join(one.key)}` is ignored: {one.wanted}{_instead(one.pruned)}"
        by = next((said for where, said in given.items() if one.key[: len(where)] == where), None)
        warnings.append(
            ConfigWarning(message=ignored, path=path, line=line_of(text, one.key))
            if by is None
            else ConfigWarning(message=f"-c {by}: {ignored}")
        )
    return ReadConfig(config=config, merged=merged, text=text, warnings=tuple(warnings))


def faults_of(text: str, path: Path) -> tuple[str, ...]:
    """Why values of a text would not count: of the wrong type, or the text is no TOML."""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return (f"not valid TOML: {error}",)
    _, faults = _validated(_canonical(written))
    return tuple(f"`{'.'.join(one.key)}`: {one.wanted}" for one in faults)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """A value of the wrong type."""

    key: tuple[str, ...]
    """Of the value itself, or of the one that is missing."""
    pruned: tuple[str, ...]
    """What does not count because of it."""
    wanted: str


def _validated(merged: dict[str, Any]) -> tuple[ConfigFile, list[_Fault]]:
    """The typed form; a value of the wrong type is left at its default."""
    pruned, faults = merged, list[_Fault]()
    while True:
        try:
            return ConfigFile.model_validate(pruned), faults
        except ValidationError as error:
            fault = _fault(pruned, error)
            faults.append(fault)
            pruned = _without(pruned, fault.pruned)


def _fault(config: Mapping[str, Any], error: ValidationError) -> _Fault:
    """The first value that is wrong, and of several shapes it may have the one that was meant."""
    details = error.errors(include_url=False)
    head = details[0]["loc"][0]
    same = [one for one in details if one["loc"][0] == head]
    telling = [
        one
        for one in same
        if not (one["type"] == "literal_error" and isinstance(one["input"], Mapping))
        and not (one["type"] == "model_type" and len(same) > 1)
    ]
    first = next(iter(telling), same[0])
    key = _key_of(config, first["loc"], missing=first["type"] == "missing")
    pruned = key[:1] if key[0] in _WHOLE else _existing(config, key)
    return _Fault(key=key, pruned=pruned, wanted=_wanted(first["type"], first["msg"]))


def _key_of(
    config: Mapping[str, Any], where: Sequence[int | str], *, missing: bool
) -> tuple[str, ...]:
    """The parts of a place that are keys of the file; the others name shapes or positions."""
    key: list[str] = []
    inner: Any = config
    for part in where:
        if isinstance(inner, Mapping) and part in inner:
            key.append(str(part))
            inner = inner[part]
    if missing:
        key.append(str(where[-1]))
    return tuple(key)


def _wanted(kind: str, message: str) -> str:
    """What a value should have been, in the words of TOML."""
    table = kind in ("dict_type", "model_type", "model_attributes_type")
    return "input should be a table" if table else message.lower()


def _instead(key: tuple[str, ...]) -> str:
    """What is used in its place, where that is one plain value."""
    inner: Any = ConfigFile()
    for depth, part in enumerate(key):
        if depth == 1 and key[0] in NAMED:
            inner = NAMED[key[0]]()
        else:
            inner = getattr(inner, part, None)
    match inner:
        case bool():
            return f"; {str(inner).lower()} is used"
        case str() | int() | float():
            return f"; {inner} is used"
        case _:
            return ""


def _existing(config: Mapping[str, Any], where: tuple[str, ...]) -> tuple[str, ...]:
    """As much of a key as stands in the file."""
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
    """The line that sets a key, or else what is around it.

    The TOML reader of the standard library keeps no places.
    """
    around = (where[:depth] for depth in range(len(where), 0, -1))
    return next((found for key in around if (found := _line_of(text, key)) is not None), None)


def _line_of(text: str, where: tuple[str, ...]) -> int | None:
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
