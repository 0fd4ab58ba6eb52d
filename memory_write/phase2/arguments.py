"""Argument texts of tool calls, read strictly: the model is told what it got wrong.

Invariant: a value that comes out has the type that was asked for; nothing is guessed.
"""

import json
from collections.abc import Mapping, Sequence

from state.errors import PathRefused

ARGUMENT_BYTES_MAX = 8 * 1_048_576


class Arguments:
    """The named values of one call; null counts as absent."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """A string that must be there.

        Raises: PathRefused.
        """
        value = self.optional_text(name)
        if value is None:
            raise PathRefused(f"missing field `{name}`")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string.

        Raises: PathRefused.
        """
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise PathRefused(f"field `{name}` must be a string")
        return value

    def number(self, name: str) -> int | None:
        """A whole number that is not negative.

        Raises: PathRefused.
        """
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise PathRefused(f"field `{name}` must be a non-negative integer")
        return value

    def flag(self, name: str) -> bool | None:
        """True or false.

        Raises: PathRefused.
        """
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise PathRefused(f"field `{name}` must be a boolean")
        return value

    def texts(self, name: str) -> Sequence[str]:
        """A list of strings that must be there.

        Raises: PathRefused.
        """
        value = self._values.get(name)
        if value is None:
            raise PathRefused(f"missing field `{name}`")
        if not isinstance(value, list):
            raise PathRefused(f"field `{name}` must be a list of strings")
        found: list[str] = []
        for item in value:
            if not isinstance(item, str):
                raise PathRefused(f"field `{name}` must be a list of strings")
            found.append(item)
        return found

    def object(self, name: str) -> Mapping[str, object] | None:
        """An object.

        Raises: PathRefused.
        """
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise PathRefused(f"field `{name}` must be an object")
        return value


def parse(arguments: str, known: Sequence[str]) -> Arguments:
    """Read the text of a call; empty text has no arguments.

    Raises: PathRefused.
    """
    if len(arguments) > ARGUMENT_BYTES_MAX:
        raise PathRefused(f"arguments are longer than {ARGUMENT_BYTES_MAX} bytes")
    if not arguments.strip():
        return Arguments({})
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise PathRefused(f"arguments are no valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise PathRefused("arguments must be a JSON object")
    for name in values:
        if name not in known:
            names = ", ".join(f"`{one}`" for one in known)
            raise PathRefused(f"unknown field `{name}`, expected one of {names}")
    return Arguments(values)
