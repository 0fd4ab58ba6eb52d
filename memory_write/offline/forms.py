"""What the forms and the signs find in a statement, before its marks are weighed; pure."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from memory_write.offline.at_hand import about_later
from memory_write.offline.bare_rules import bare_rule
from memory_write.offline.judge import Judged, judge
from memory_write.offline.languages.english_words import VERBS
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.loose import endorses, loosely, settled
from memory_write.offline.moments import Moment

Form = Literal["judged", "loose", "bare", "none"]
_ORDER = rf" and (?=(?:also |always |never |do not |don't )?{VERBS} )"
_JOINED_ORDERS = re.compile(f",?{_ORDER}", re.IGNORECASE)
_AFTER_COMMA = re.compile(f",{_ORDER}", re.IGNORECASE)
# In `I live here and use that` the second verb has the subject of the first.
_OF_SELF = re.compile(r"(?:.{1,30}, )?(?:i|we|the user)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Formed:
    """What was found in a statement, and how."""

    verdicts: list[Judged]
    form: Form
    """The judge knew it, its signs were enough, it is a convention without a verb, or none."""


def by_form(moment: Moment, at: int, *, left: bool) -> Formed:
    """What the forms and the signs find in a statement; `left` when the one before was left out."""
    said, around, hint = moment.said, moment.around, moment.around.hint
    statement, following = said[at], said[at + 1] if at + 1 < len(said) else None
    judged = _verdicts(statement, hint)
    verdicts = [one for one in (settled(each, around) for each in judged) if one]
    form: Form = "judged" if judged else "none"
    if not judged:
        loose = loosely(
            statement,
            around,
            before=said[at - 1] if at else None,
            left=left,
            following=following,
            endorsed=following is not None and endorses(following, hint),
        )
        verdicts = [loose] if loose is not None else bare_rule(statement, hint)
        if verdicts:
            form = "bare" if loose is None else "loose"
    passing = bool(verdicts) and not about_later(verdicts, statement, hint, opening=moment.opening)
    return Formed(verdicts=[] if passing else verdicts, form=form)


def _verdicts(statement: str, hint: Lexicon) -> list[Judged]:
    """A statement, or the several that it joins: `always do this, and keep that short`."""
    whole = judge(statement, hint)
    if whole is None:
        return []
    first, *more = (_AFTER_COMMA if _OF_SELF.match(whole.text) else _JOINED_ORDERS).split(
        whole.text
    )
    head = judge(first, hint)
    if head is None or not more:
        return [whole]
    parts = [replace(whole, text=first.strip())]
    for part in more:
        # How long the first half holds is said once and meant for both.
        tail = judge(part, hint) or judge(f"from now on {part}")
        if tail is None:
            return [whole]
        parts.append(replace(whole, text=part.strip(), kind=tail.kind))
    return parts
