"""How a statement takes up what was said before it, as marks: `traefik then` decides; pure.

What the assistant said is never kept. It only says whether a few words of the user pick one of the
things that were on offer.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

from memory_write.offline.terms import terms

END_CHARS = 600
"""Of an answer its end is looked at: there it offers and asks."""
BEGINNING_CHARS = 300
SHARED_MAX = 3
EDGE = 0.5
SHORT_WORDS, MIDDLE_WORDS = 4, 10
_ASKS = ("?", "？")
_OR = re.compile(r"\b(?:or|oder|ou|o|entweder)\b|还是|或者?")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+(?:'[a-z]+)?|[?!:;,.]")


def taken_up(statement: str, *, words: int, answer: str, typed_before: str) -> dict[str, float]:
    """The marks of a statement of so many words after an answer and the message before that."""
    if not answer:
        return {"a none": 1.0}
    size = "short" if words <= SHORT_WORDS else "middle" if words <= MIDDLE_WORDS else "long"
    own = terms(statement)
    shared = own & terms(answer[-END_CHARS:])
    asks = answer.rstrip().endswith(_ASKS)
    chooses = _OR.search(answer.lower()) is not None
    told = {
        f"a shares {min(len(shared), SHARED_MAX)}": True,
        "a half": bool(own) and len(shared) >= len(own) / 2,
        "a asks": asks,
        "a asks, shares": asks and bool(shared),
        "a or": chooses,
        "a or, shares": chooses and bool(shared),
    }
    if typed_before:
        again = bool(own & terms(typed_before))
        told |= {
            "b asks": typed_before.rstrip().endswith(_ASKS),
            "b shares": again,
            "b or, shares": again and _OR.search(typed_before.lower()) is not None,
        }
    found = {f"{name} {size}": 1.0 for name, holds in told.items() if holds}
    if tokens := _TOKEN.findall(answer[:BEGINNING_CHARS].lower()):
        found |= {f"a ^ {tokens[0]}": EDGE, f"a $ {tokens[-1]}": EDGE}
    return found
