"""Reads the arguments of the shell tools, and describes them to the model. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.agent.tools.output import clamped


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellLimits:
    """Bounds of the shell tools."""

    command_characters_max: int = 65_536
    yield_ms_default: int = 10_000
    yield_ms_min: int = 250
    yield_ms_max: int = 30_000
    poll_ms_min: int = 5_000
    poll_ms_max: int = 300_000
    write_yield_ms_default: int = 250
    output_tokens_default: int = 10_000
    output_tokens_max: int = 10_000
    delta_bytes_max: int = 1_048_576
    """Of output told while a command runs; the rest stands in the completed item."""
    delta_piece_bytes_max: int = 8_192
    delta_pause_s: float = 0.02
    """What comes within it is told together."""
    seconds_max: int = 6 * 3_600
    """A command that runs longer is ended, also in the background."""


def tokens_of(given: Mapping[str, Any], limits: ShellLimits) -> int:
    """How much of the output the model gets."""
    return clamped(
        numeral(given.get("max_output_tokens")),
        default=limits.output_tokens_default,
        lowest=1,
        highest=limits.output_tokens_max,
    )


def numeral(value: Any) -> float | None:
    """A number, where it is one that can be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e12 else None


def nonempty(value: Any) -> str | None:
    """A text that says something."""
    return value if isinstance(value, str) and value.strip() else None


def words_of(value: Any) -> tuple[str, ...] | None:
    """A list of words, if it is nothing else."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    words = tuple(one for one in value if isinstance(one, str) and one)
    return words if words and len(words) == len(value) else None


def text_field(description: str) -> dict[str, Any]:
    """A text among the parameters."""
    return {"type": "string", "description": description}


def number_field(description: str) -> dict[str, Any]:
    """A number among the parameters."""
    return {"type": "number", "description": description}


def function(
    name: str, description: str, properties: Mapping[str, Any], *, required: Sequence[str]
) -> dict[str, Any]:
    """A function as the Responses API takes it."""
    return {
        "type": "function",
        "name": name,
        "description": description,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": dict(properties),
            "required": list(required),
            "additionalProperties": False,
        },
    }
