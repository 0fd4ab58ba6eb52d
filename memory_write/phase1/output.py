"""Strict reading of a model's reply: the one shape of the recipe, or nothing.

Pure. A reply that is not exactly the shape is refused as a whole; nothing of it is repaired,
since text that was guessed back together would be stored as if the session had said it.
"""

from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from memory_write.errors import BadOutput, BadOutputKind
from memory_write.recipes import Recipe

R = TypeVar("R", bound=BaseModel)


class ReplyV1(BaseModel):
    """The reply of an extraction for version v1; the keys are those of its schema."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rollout_summary: str
    rollout_slug: str | None
    raw_memory: str


class ReplyV2(BaseModel):
    """The reply of an extraction for version v2, which has no raw memory."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rollout_summary: str
    rollout_slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a reply says, not yet redacted."""

    rollout_summary: str
    rollout_slug: str | None
    raw_memory: str | None
    """None where the version has none."""

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing worth keeping: a text that there must be says nothing."""
        if not self.rollout_summary.strip():
            return True
        return self.raw_memory is not None and not self.raw_memory.strip()


def parse_reply(recipe: Recipe, text: str, *, bytes_max: int) -> Extracted:
    """The fields of a reply in the recipe's shape.

    Raises: BadOutput.
    """
    return (parse_v1 if recipe.has_raw_memory else parse_v2)(text, bytes_max=bytes_max)


def parse_v1(text: str, *, bytes_max: int) -> Extracted:
    """The three fields of a reply.

    Raises: BadOutput.
    """
    reply = _parsed(ReplyV1, text, bytes_max)
    return Extracted(
        rollout_summary=reply.rollout_summary,
        rollout_slug=reply.rollout_slug,
        raw_memory=reply.raw_memory,
    )


def parse_v2(text: str, *, bytes_max: int) -> Extracted:
    """The two fields of a reply.

    Raises: BadOutput.
    """
    reply = _parsed(ReplyV2, text, bytes_max)
    return Extracted(
        rollout_summary=reply.rollout_summary, rollout_slug=reply.rollout_slug, raw_memory=None
    )


def _parsed(shape: type[R], text: str, bytes_max: int) -> R:
    # Characters first: a reply far over the bound need not be encoded to be refused.
    if len(text) > bytes_max or len(text.encode("utf-8", "surrogatepass")) > bytes_max:
        raise BadOutput("too_large")
    if not text.strip():
        raise BadOutput("nothing")
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        raise BadOutput(_kind(text, error)) from None


_BY_TYPE: dict[str, BadOutputKind] = {
    "model_type": "not_an_object",
    "extra_forbidden": "extra_keys",
    "missing": "missing_keys",
}


def _kind(text: str, error: ValidationError) -> BadOutputKind:
    # Inputs hold what the model said; only types and the parser's own words are looked at.
    errors = error.errors(include_url=False, include_input=False)
    types = {one["type"] for one in errors}
    if "json_invalid" in types:
        ended_early = str(errors[0].get("ctx", {}).get("error", "")).startswith("EOF")
        return "cut" if ended_early and text.lstrip().startswith("{") else "prose"
    if types == {"missing"} and text.strip().strip("{}").strip() == "":
        return "empty_object"
    for name, kind in _BY_TYPE.items():
        if name in types:
            return kind
    return "wrong_types"
