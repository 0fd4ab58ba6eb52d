"""Reads the argument text of a tool call; the sentences of its refusals are for a model.

Pure. Invariant: a value that is returned has the type its field was declared with.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from state.errors import PathRefused

FieldType = Literal["string", "integer", "boolean", "strings", "object"]
_INTEGER_MAX = 2**53


def parse_arguments(
    text: str, fields: Mapping[str, FieldType], *, required: Sequence[str] = ()
) -> dict[str, Any]:
    """The arguments that were given; null counts as not given.

    Raises: PathRefused.
    """
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise PathRefused(f"invalid arguments: {error}") from error
    if not isinstance(found, dict):
        raise PathRefused(f"invalid type: {_shown(found)}, expected an object")
    for name in found:
        if name not in fields:
            raise PathRefused(f"unknown field `{name}`, expected {_one_of(tuple(fields))}")
    given = {name: value for name, value in found.items() if value is not None}
    for name in required:
        if name not in given:
            raise PathRefused(f"missing field `{name}`")
    for name, value in given.items():
        _check(name, value, fields[name])
    return given


def _check(name: str, value: object, kind: FieldType) -> None:
    match kind:
        case "string":
            fits, wanted = isinstance(value, str), "a string"
        case "boolean":
            fits, wanted = isinstance(value, bool), "a boolean"
        case "object":
            fits, wanted = isinstance(value, dict), "an object"
        case "strings":
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
            wanted = "a list of strings"
        case "integer":
            fits = isinstance(value, int) and not isinstance(value, bool)
            wanted = "an integer"
            if fits and isinstance(value, int) and not 0 <= value <= _INTEGER_MAX:
                raise PathRefused(
                    f"invalid value for `{name}`: expected a number that is not negative"
                )
    if not fits:
        raise PathRefused(f"invalid type for `{name}`: {_shown(value)}, expected {wanted}")


def _one_of(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 2:
        return " or ".join(quoted)
    return "one of " + ", ".join(quoted)


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int() | float():
            return f"number `{value}`"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
