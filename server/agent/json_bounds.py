"""What of a JSON value of somebody else's can be kept and told. Pure."""

from typing import Any

import orjson

_LEVELS_AROUND = 64
"""More than what stands around a value wherever it is shown or kept."""


def why_not_writable(value: Any) -> str | None:
    """Why nobody could write the value as JSON again, such as for its nesting; None if all can."""
    around = value
    for _ in range(_LEVELS_AROUND):
        around = [around]
    try:
        orjson.dumps(around)
    except TypeError as error:
        return str(error)
    return None
