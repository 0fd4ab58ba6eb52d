"""What speaks for and against a statement being meant for later; one value for each language.

The judge's forms know statements that are standing by their shape alone. Most people say it in
looser words, where several weak signs together make it plain: a ban, a `we`, a reason, the name of
the project. Here the signs are words, in `weigh.py` they are added up.

All patterns are searched in one masked, lower-cased statement without its openers.
"""

import re
from dataclasses import dataclass

from memory_write.offline.lexicon import NEVER


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Signals:
    """The signs of one language; one value for each, told from others by identity."""

    lasting: re.Pattern[str]
    """Says by itself that it holds on: always, never, from now on."""
    bans: re.Pattern[str]
    """Forbids: no X, stop doing, nothing but."""
    ruling: re.Pattern[str]
    """Speaks of a rule, a decision, a convention, or of staying with a choice."""
    ours: re.Pattern[str]
    """What we do, use and have."""
    self: re.Pattern[str]
    """What I do and am."""
    likes: re.Pattern[str]
    """What I like and dislike, want and do not want."""
    contrast: re.Pattern[str]
    """One thing and not the other."""
    every: re.Pattern[str]
    """All, each, only, at most."""
    reason: re.Pattern[str]
    """Why, or what happens otherwise."""
    manner: re.Pattern[str]
    """How the assistant is to work and to speak."""
    complaint: re.Pattern[str]
    """What the assistant did wrong, again or unasked."""
    blame: re.Pattern[str] = NEVER
    """What the assistant did this time; says something only with the sentence behind it."""
    must: re.Pattern[str]
    """Must, has to, is required."""
    modal: re.Pattern[str]
    """Is, goes, stays: the weaker words of a rule."""
    general: re.Pattern[str] = NEVER
    """Speaks of a kind and not of one thing: `Structs are …`, `Only Ana …`, `Wrap lines at …`."""
    things: re.Pattern[str]
    """What is made again and again, in general: commits, tests, names."""
    here: re.Pattern[str]
    """In this project."""
    recurs: re.Pattern[str]
    """When, before and after something that happens again and again."""
    imperative: re.Pattern[str]
    """Asks for something to be done."""
    asks: re.Pattern[str]
    """Asks for it to be remembered."""
    endorses: re.Pattern[str] = NEVER
    """Points back: what was just said is a rule (`that goes for every session`)."""
    because: re.Pattern[str] = NEVER
    """Follows as the reason of what was just said (`I review faster with them`)."""
    passing: re.Pattern[str]
    """Tells how things stand, or what happened."""
    task: re.Pattern[str]
    """A piece of work, or something in front of the two."""
    reverses: re.Pattern[str] = NEVER
    """Opens a message that takes something back."""
    retracts: re.Pattern[str] = NEVER
    """Says that something else holds now, so that the last word goes even when nothing names it."""
    purpose: re.Pattern[str] = NEVER
    """Says what a command is for, or in which order commands are run."""
    cause: re.Pattern[str] = NEVER
    """Says what is needed for something to work, or why it failed."""
