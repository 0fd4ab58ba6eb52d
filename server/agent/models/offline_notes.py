"""The offline provider's notes on a conversation: what was asked and answered, in short.

Pure and deterministic. It repeats and cuts; it judges nothing, and says so.
"""

from collections.abc import Mapping, Sequence

from server.agent.models.base import Item
from state.policy.budget import truncate_middle
from state.rollouts.fragments import PartKind, kinds_of_parts

TURNS_MAX = 40
TURN_TOKENS_MAX = 120
_HEAD = "These notes repeat what was said, cut by rules; no language model wrote them."


def notes_on(items: Sequence[Item]) -> str:
    """What the user asked, each with the beginning of its answer; the oldest are left out."""
    pairs: list[tuple[str, str]] = []
    for item in items:
        if item.get("type") != "message":
            continue
        if item.get("role") == "user":
            parts = kinds_of_parts(item)
            typed = " ".join(text for kind, text, _ in parts if kind is PartKind.TYPED).strip()
            if typed:
                pairs.append((typed, ""))
        elif item.get("role") == "assistant" and pairs:
            pairs[-1] = (pairs[-1][0], _text(item))
    left_out = max(0, len(pairs) - TURNS_MAX)
    lines = [_HEAD]
    if left_out:
        lines.append(f"- {left_out} earlier requests are left out.")
    for asked, answered in pairs[left_out:]:
        lines.append(f"- Asked: {_short(asked)}")
        if answered:
            lines.append(f"  Answered: {_short(answered)}")
    return "\n".join(lines)


def _short(text: str) -> str:
    return truncate_middle(" ".join(text.split()), tokens_max=TURN_TOKENS_MAX)


def _text(item: Item) -> str:
    parts = item.get("content") or ()
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
