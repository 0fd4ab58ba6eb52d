"""The test that comes before any cost: did the user say anything that could be worth keeping?

Pure. It only sorts out sessions without a word of the user and those that are greetings and thanks
alone; whatever else is said is judged by the extraction. When in doubt a session passes.
"""

import re
from typing import Literal

from state.rollouts.items import Transcript

WORDS_MAX = 12
"""A message with more words than this is never taken for a greeting."""

_WORD = re.compile(r"\w+", re.UNICODE)
_SMALL_TALK = frozenset(
    """
    hi hello hey heya hiya yo howdy greetings welcome hallo servus moin bonjour salut hola ciao
    good morning afternoon evening night day guten morgen tag abend
    how are you doing is it going what s up sup whats everything all well fine great i m im am nice
    to meet there again everyone friend assistant codex claude bot agent
    thanks thank thx ty cheers merci danke gracias much so very a lot many appreciated for your help
    ok okay k yes yep yeah no nope sure cool perfect awesome lovely got understood
    bye goodbye later see soon cya have
    test testing ping pong are still alive works working can hear me
    please just saying
    """.split()
)


def why_not_worth_hearing(transcript: Transcript) -> Literal["nothing_typed", "small_talk"] | None:
    """Why there is nothing to learn from a session; None where it must be heard."""
    typed = [item.text for item in transcript.items if item.kind == "user" and item.text.strip()]
    if not typed:
        return "nothing_typed"
    return "small_talk" if all(_is_small_talk(text) for text in typed) else None


def _is_small_talk(text: str) -> bool:
    words = _WORD.findall(text.lower())
    return len(words) <= WORDS_MAX and all(word in _SMALL_TALK for word in words)
