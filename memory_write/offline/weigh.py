"""Adds up the signs that a loosely worded statement is meant for later; pure.

Used where the judge's forms find nothing. Invariant: what the judge refuses (a question, a
hypothesis, `just this once`, the words of another) is never kept for these signs.
"""

import re
from dataclasses import dataclass

from memory_write.offline.asked_again import kept
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.signals import Signals

ENOUGH = 3.0
ENOUGH_ALONE = 4.5
"""For a statement that is not directed at later work by any sign."""
SHORT_WORDS = 3
SHORT = -1.0
"""A word or two are said to what just happened."""
STANDING_TODAY = -1.5
CONTRADICTING = 1.0
STANDING_SHARE = 0.5
"""What is left of a sign against in a statement that says how long it holds."""
_STANDING = frozenset({"bans", "asks", "must"})
_DIRECTED = frozenset(
    {"bans", "ruling", "likes", "contrast", "manner", "complaint", "must", "imperative", "asks"}
    | {"things", "here", "general"}
)
"""Without one of these a statement tells how things are, however often it says `always`."""
POINTING = -1.0
_WEIGHTS: tuple[tuple[str, float], ...] = (
    ("lasting", 2.5),
    ("bans", 2.0),
    ("ruling", 2.0),
    ("ours", 1.0),
    ("self", 0.5),
    ("likes", 2.0),
    ("contrast", 2.0),
    ("every", 1.0),
    ("reason", 1.0),
    ("manner", 2.0),
    ("complaint", 2.5),
    ("blame", 0.5),
    ("must", 1.5),
    ("general", 2.0),
    ("modal", 0.5),
    ("things", 1.0),
    ("here", 2.0),
    ("recurs", 1.5),
    ("imperative", 0.5),
    ("asks", 2.5),
    ("passing", -2.5),
    ("task", -2.5),
)
SIGNS = tuple(name for name, _ in _WEIGHTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """The signs found in a statement, and what they come to."""

    signs: frozenset[str]
    total: float
    contradicting: bool
    """Said against something, which gives a plain sentence its direction."""

    @property
    def enough(self) -> bool:
        """Whether the statement is meant for later."""
        directed = self.contradicting or bool(self.signs & _DIRECTED)
        if "passing" in self.signs and not directed:
            return False
        return self.total >= (ENOUGH if directed else ENOUGH_ALONE)


@kept
def signs_in(core: str, signals: Signals) -> frozenset[str]:
    """The signs of a language that stand in a masked statement."""
    return frozenset(name for name in SIGNS if getattr(signals, name).search(core))


def weigh(
    core: str,
    signals: Signals,
    lexicon: Lexicon,
    *,
    project: re.Pattern[str] | None,
    more: float = 0.0,
) -> Weighed:
    """The signs in a masked statement; `project` names the project, `more` comes from around it."""
    signs = set(signs_in(core, signals))
    if project is not None and project.search(core):
        signs.add("here")
    standing = bool(signs & _STANDING) or {"lasting", "imperative"} <= signs
    total = sum(
        weight * (STANDING_SHARE if weight < 0 and standing else 1.0)
        for name, weight in _WEIGHTS
        if name in signs
    )
    total += STANDING_TODAY * (not standing and bool(lexicon.status.search(core)))
    total += POINTING * bool(lexicon.deictic.search(lexicon.project.sub(" ", core)))
    short = len(core.split()) <= SHORT_WORDS and lexicon.name != "chinese"
    total += SHORT * (short and not signs & {"general", "lasting"})
    return Weighed(signs=frozenset(signs), total=total + more, contradicting=more >= CONTRADICTING)
