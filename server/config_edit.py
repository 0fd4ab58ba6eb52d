"""Changes in the text of the configuration file, which keep everything else as a person wrote it.

Pure; the only owner of the style-preserving TOML library.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError

from server.errors import ConfigEditRefused

PATH_PARTS_MAX = 8
PATH_CHARACTERS_MAX = 512
NESTING_MAX = 16
_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A value for a key; None takes the key away."""

    path: tuple[str, ...]
    value: Any
    strategy: Literal["replace", "upsert"] = "replace"
    """Whether a table replaces the one that is there, or is laid over it."""


def parse_path(text: str) -> tuple[str, ...]:
    """The parts of a dotted key, quoted ones without their quotes.

    Raises: ConfigEditRefused.
    """
    if len(text) > PATH_CHARACTERS_MAX:
        raise ConfigEditRefused(
            "configValidationError", f"the key path is longer than {PATH_CHARACTERS_MAX} characters"
        )
    parts: list[str] = []
    at = 0
    while at <= len(text):
        found = _PART.match(text, at)
        if found is None:
            break
        double, single, bare = found.groups()
        parts.append(
            re.sub(r"\\(.)", r"\1", double) if double is not None else single or bare or ""
        )
        at = found.end()
        if at == len(text):
            if len(parts) > PATH_PARTS_MAX:
                break
            return tuple(parts)
        if text[at] != ".":
            break
        at += 1
    raise ConfigEditRefused("configValidationError", f"`{text[:100]}` is no key path")


class ConfigText:
    """Changes texts; keeps the last one parsed, since parsing is by far the slowest part."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._document = tomlkit.document()

    def edited(self, text: str, edits: Sequence[Edit]) -> str:
        """The text with these changes made in order.

        Raises: ConfigEditRefused.
        """
        if text != self._text:
            self._document = _parsed(text)
        # Until all went well, what is kept belongs to no text.
        self._text = None
        for edit in edits:
            _apply(self._document, edit)
        self._text = tomlkit.dumps(self._document)
        return self._text


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigEditRefused(
            "configValidationError", f"the file is not valid TOML and was not changed: {error}"
        ) from error


def _apply(document: Any, edit: Edit) -> None:
    table: Any = document
    for depth, part in enumerate(edit.path[:-1], start=1):
        if part not in table:
            if edit.value is None:
                return
            table[part] = tomlkit.table(is_super_table=depth < len(edit.path) - 1)
        table = table[part]
        if not isinstance(table, Mapping):
            place = ".".join(edit.path[:depth])
            raise ConfigEditRefused(
                "configValidationError", f"`{place}` is a value and holds no keys"
            )
    key = edit.path[-1]
    if edit.value is None:
        if key in table:
            del table[key]
        return
    value = _plain(edit.value, ".".join(edit.path))
    old = table.get(key)
    if edit.strategy == "upsert" and isinstance(value, dict) and isinstance(old, Mapping):
        for inner, part in value.items():
            _apply(table, Edit(path=(key, inner), value=part, strategy="upsert"))
        return
    table[key] = value


def _plain(value: Any, place: str, depth: int = 0) -> Any:
    """The value, if TOML can hold it; keys without a value are left out of tables."""
    if depth > NESTING_MAX:
        raise ConfigEditRefused("configValidationError", f"`{place}` is nested too deeply")
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list):
        return [_plain(one, place, depth + 1) for one in value]
    if isinstance(value, dict):
        return {
            str(key): _plain(one, place, depth + 1) for key, one in value.items() if one is not None
        }
    raise ConfigEditRefused("configValidationError", f"`{place}`: TOML has no value for null")
