"""All that a memory version does differently, as one value for each version.

A phase asks its recipe and never the version's name, so another version is another value here.
"""

import hashlib
import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from state.workspace.layout import (
    HANDBOOK,
    RAW_MEMORIES,
    RECAPS,
    SKILLS,
    SUMMARY,
    SUMMARY_FIRST_LINE,
)

EXTRACTION_RULES = "2"
"""Raised when code hears otherwise than before; the prompts count by themselves."""
_SLOT = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is asked of the models and what must lie in the folder, for one memory version."""

    version: str
    extraction_instructions: str
    """Template of the system prompt of an extraction."""
    extraction_input: str
    """Template of its user text: slots `rollout_path`, `cwd`, `git_branch`, `conversation`."""
    extraction_effort: str
    tiered_input: bool
    """Whether the conversation is given by tiers of who speaks, else as one JSON array."""
    message_bytes_max: int | None
    """The user text is sent in messages of at most so many bytes; None is one message."""
    has_raw_memory: bool
    """Whether a reply has a raw memory beside the recap, and the folder a file of them all."""
    recap_bytes_max: int | None
    """A longer recap is cut in its middle before it is stored; None is no cut."""
    reply_schema: Mapping[str, Any]
    """Strict JSON Schema of an extraction's reply; `phase1/output.py` parses just that."""
    consolidation_effort: str
    consolidation_instructions: str
    """Template of the system prompt of a consolidation."""
    consolidation_task: str
    """Template of what one run is about: slots `mode`, `diff_file`, `unsound`, `extensions`."""
    consolidation_extensions: str
    """Template of what is said where there are extensions."""
    consolidation_repair: str
    """Template of what is said when the result is unsound: slot `findings`."""
    inputs: tuple[str, ...]
    """Files and folders that are made from the stored outputs, exactly."""
    artefacts: tuple[str, ...]
    """Files that a consolidation must leave."""
    artefact_folders: tuple[str, ...]
    """Folders below which a consolidation may leave what it likes."""
    summary_file: str
    """The artefact that is injected into prompts."""
    summary_first_line: str
    """What its first line must be."""
    summary_bytes_max: int | None
    """How large the summary may be at most; None where only a reader cuts it."""

    def writable(self, path: str) -> bool:
        """Whether a consolidation may change this path; all else in the folder is input."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if "/".join(parts) in self.artefacts:
            return True
        return len(parts) > 1 and parts[0] in self.artefact_folders


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

_V2_SCHEMA: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "rollout_summary": {"type": "string"},
            "rollout_slug": {"type": "string"},
        },
        "required": ["rollout_summary", "rollout_slug"],
        "additionalProperties": False,
    }
)

V1 = Recipe(
    version="v1",
    extraction_instructions="extract_v1_instructions.md",
    extraction_input="extract_v1_input.md",
    extraction_effort="low",
    tiered_input=False,
    message_bytes_max=None,
    has_raw_memory=True,
    recap_bytes_max=None,
    reply_schema=_V1_SCHEMA,
    consolidation_effort="medium",
    consolidation_instructions="consolidate_v1_instructions.md",
    consolidation_task="consolidate_v1_task.md",
    consolidation_extensions="consolidate_v1_extensions.md",
    consolidation_repair="consolidate_v1_repair.md",
    inputs=(RAW_MEMORIES, RECAPS),
    artefacts=(HANDBOOK, SUMMARY),
    artefact_folders=(SKILLS,),
    summary_file=SUMMARY,
    summary_first_line=SUMMARY_FIRST_LINE,
    summary_bytes_max=None,
)

V2 = Recipe(
    version="v2",
    extraction_instructions="extract_v2_instructions.md",
    extraction_input="extract_v2_input.md",
    extraction_effort="low",
    tiered_input=True,
    message_bytes_max=8_900,
    has_raw_memory=False,
    recap_bytes_max=9_000,
    reply_schema=_V2_SCHEMA,
    consolidation_effort="medium",
    consolidation_instructions="consolidate_v2_instructions.md",
    consolidation_task="consolidate_v2_task.md",
    # Extensions mean the same in both, and so does what an unsound result is answered.
    consolidation_extensions="consolidate_v1_extensions.md",
    consolidation_repair="consolidate_v1_repair.md",
    inputs=(RECAPS,),
    artefacts=(SUMMARY,),
    artefact_folders=(),
    summary_file=SUMMARY,
    # The second version kept the mark of the first.
    summary_first_line=SUMMARY_FIRST_LINE,
    summary_bytes_max=9_999,
)

RECIPES: Mapping[str, Recipe] = MappingProxyType({one.version: one for one in (V1, V2)})


@cache
def extraction_rules(version: str) -> str:
    """One value for all that decides how sessions are heard; another one after an upgrade."""
    recipe = recipe_of(version)
    texts = (template(recipe.extraction_instructions), template(recipe.extraction_input))
    return hashlib.sha256("\0".join((EXTRACTION_RULES, *texts)).encode()).hexdigest()[:16]


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
