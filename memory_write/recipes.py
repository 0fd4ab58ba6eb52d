"""All that a memory version does differently, as one value for each version.

A phase asks its recipe and never the version's name, so another version is another value here:
v2 gets its own templates, its reply without a raw memory, and its own artefacts.
"""

import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

_SLOT = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is asked of the models and what must lie in the folder, for one memory version."""

    version: str
    extraction_instructions: str
    """Template of the system prompt of an extraction."""
    extraction_input: str
    """Template of its one user message: slots `rollout_path`, `cwd`, `conversation`."""
    extraction_effort: str
    reply_schema: Mapping[str, Any]
    """Strict JSON Schema of an extraction's reply; `phase1/output.py` parses just that."""
    consolidation_effort: str
    inputs: tuple[str, ...]
    """Files and folders that are made from the stored outputs, exactly."""
    artefacts: tuple[str, ...]
    """Files that a consolidation must leave."""
    summary_file: str
    """The artefact that is injected into prompts."""
    summary_first_line: str
    """What its first line must be."""


_V1_SCHEMA: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "rollout_summary": {"type": "string"},
            "rollout_slug": {"type": ["string", "null"]},
            "raw_memory": {"type": "string"},
        },
        "required": ["rollout_summary", "rollout_slug", "raw_memory"],
        "additionalProperties": False,
    }
)

V1 = Recipe(
    version="v1",
    extraction_instructions="extract_v1_instructions.md",
    extraction_input="extract_v1_input.md",
    extraction_effort="low",
    reply_schema=_V1_SCHEMA,
    consolidation_effort="medium",
    inputs=("raw_memories.md", "rollout_summaries"),
    artefacts=("MEMORY.md", "memory_summary.md"),
    summary_file="memory_summary.md",
    summary_first_line="v1",
)

RECIPES: Mapping[str, Recipe] = MappingProxyType({V1.version: V1})


def recipe_of(version: str) -> Recipe:
    """The recipe of a memory version; the settings let only known ones through.

    Raises: KeyError.
    """
    return RECIPES[version]


@cache
def template(name: str) -> str:
    """The text of a shipped prompt."""
    return importlib.resources.files("memory_write").joinpath("templates", name).read_text("utf-8")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values into the `{{slots}}` of a template, once: what is put in is never filled again.

    Raises: KeyError when a slot has no value.
    """
    return _SLOT.sub(lambda match: values[match[1]], text)
