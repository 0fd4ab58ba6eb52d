"""Strict reading of a model's reply: the one shape of the recipe, or nothing.

Pure. A reply that is not exactly the shape is refused as a whole; nothing of it is repaired,
since text that was guessed back together would be stored as if the session had said it.
"""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from memory_write.errors import BadOutput, BadOutputKind


class ReplyV1(BaseModel):
    """The reply of an extraction for version v1; the keys are those of its schema."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rollout_summary: str
    rollout_slug: str | None
    raw_memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a reply says, not yet redacted."""

    rollout_summary: str
    rollout_slug: str | None
    raw_memory: str

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing worth keeping: one of the two texts says nothing."""
        return not self.rollout_summary.strip() or not self.raw_memory.strip()


def parse_v1(text: str, *, bytes_max: int) -> Extracted:
    """The three fields of a reply.

    Raises: BadOutput.
    """
    # Characters first: a reply far over the bound need not be encoded to be refused.
    if len(text) > bytes_max or len(text.encode("utf-8", "surrogatepass")) > bytes_max:
        raise BadOutput("too_large")
    if not text.strip():
        raise BadOutput("nothing")
    try:
        reply = ReplyV1.model_validate_json(text)
    except ValidationError as error:
        raise BadOutput(_kind(text, error)) from None
    return Extracted(
        rollout_summary=reply.rollout_summary,
        rollout_slug=reply.rollout_slug,
        raw_memory=reply.raw_memory,
    )


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
