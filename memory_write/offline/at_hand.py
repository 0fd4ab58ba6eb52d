"""Which statements are about the work at hand: what is wanted now, what is wrong, what happened.

Pure. Such a statement may have the form of a rule (`it has to react while typing`, `it never comes
back`) and still holds for nothing later. The message that opens a session is full of them, so there
a wish needs a sign that it lasts.
"""

from dataclasses import dataclass

from memory_write.offline.judge import Judged, hearing
from memory_write.offline.languages.at_hand import AT_HAND
from memory_write.offline.lexicon import Lexicon


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What speaks of the work at hand in one statement."""

    passing: bool
    wanted: bool


def about_later(verdicts: list[Judged], statement: str, hint: Lexicon, *, opening: bool) -> bool:
    """Whether what was found in a statement may be kept, by what the statement speaks of.

    What the commands of the session showed stays, unless it stands in the opening message.
    """
    if any(one.explicit for one in verdicts):
        return True
    found = _found(statement, hint)
    if found is None:
        return True
    shown = all(one.kind in ("pitfall", "procedure") for one in verdicts)
    if found.passing and (opening or not shown):
        return False
    return not (opening and found.wanted)


def _found(statement: str, hint: Lexicon) -> _Found | None:
    heard = hearing(statement, hint)
    if heard is None:
        return None
    words, core = AT_HAND[heard.lexicon.name], heard.core
    if words.stands.search(core):
        return None
    settled = bool(heard.lexicon.decision.search(core))
    passing = bool(words.bounded.search(core) or words.trouble.search(core)) or (
        bool(words.told.search(core)) and not settled
    )
    wanted = bool(words.spec.search(core)) or (
        bool(words.wants.search(core)) and not words.lasts.search(core)
    )
    return _Found(passing=passing, wanted=wanted)
