"""The one line that stands for a thread in lists."""

from state.policy.redaction import redact

PREVIEW_CHARS_MAX = 200
PRIVATE_PREVIEW = "Private thread"
"""Of a thread that neither sees memory nor becomes it: its words stand in its transcript alone."""
_LOOKED_AT_MAX = 65_536


def preview_of(text: str) -> str:
    """The start of what the user first typed, on one line, without secrets."""
    line = " ".join(redact(text[:_LOOKED_AT_MAX]).split())
    if len(line) <= PREVIEW_CHARS_MAX:
        return line
    return line[: PREVIEW_CHARS_MAX - 1].rstrip() + "…"
