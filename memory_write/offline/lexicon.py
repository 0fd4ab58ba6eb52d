"""The shape of what the judge must know about a language; `languages/` holds one value for each.

All patterns are searched in one statement of bounded length, lower-cased, with quoted and coded
spans masked, so that the words inside a quotation never speak for the user.
"""

import re
from dataclasses import dataclass


def pattern(*alternatives: str) -> re.Pattern[str]:
    """One pattern out of alternatives; blanks in them stand for any white space.

    A blank with a question mark behind it stands for none as well.
    """
    joined = "|".join(f"(?:{one})" for one in alternatives)
    return re.compile(joined.replace(" ?", r"\s*").replace(" ", r"\s+"))


NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lexicon:
    """Patterns of one language. Each says what a statement is, or why it is not kept.

    There is one value for each language, so that it is told from others by identity alone.
    """

    name: str
    common_words: frozenset[str]
    """Function words, by which the language of a statement is told."""
    opener: re.Pattern[str]
    """What may stand before the statement proper: greetings, thanks, `please`, `also`."""
    correction: re.Pattern[str]
    """Openers that contradict what was done or said before."""
    remember: re.Pattern[str]
    """An explicit wish to have the rest remembered."""
    question: re.Pattern[str]
    hypothetical: re.Pattern[str]
    once: re.Pattern[str]
    """Only this time, only for now."""
    others: re.Pattern[str]
    """Said by a page, a log, another person."""
    denied: re.Pattern[str]
    """Says that something is not a wish, or need not be done."""
    deictic: re.Pattern[str]
    """Points at something in front of the two, so that it holds for that thing only."""
    decision: re.Pattern[str]
    profile: re.Pattern[str]
    preference: re.Pattern[str]
    """A wish in words that are always general (`I prefer`)."""
    desire: re.Pattern[str] = NEVER
    """A wish in words that are general only with `generic` (`I want … on every function`)."""
    generic: re.Pattern[str] = NEVER
    rule: re.Pattern[str]
    """What things must be or not be, about a kind of thing."""
    standing: re.Pattern[str]
    """From now on, always, by default."""
    imperative: re.Pattern[str]
    """Begins with a verb that asks for something, openers and `standing` taken off."""
    standing_order: re.Pattern[str] = NEVER
    """A request that is standing by its own form (`use X instead of Y`)."""
    corrected: re.Pattern[str] = NEVER
    """A request that is standing only when it corrects (`no, use pnpm`)."""
    fact: re.Pattern[str] = NEVER
    """How things are done here."""
    status: re.Pattern[str] = NEVER
    """Looks like a fact but tells how things stand today."""
    project: re.Pattern[str] = NEVER
    everywhere: re.Pattern[str] = NEVER
