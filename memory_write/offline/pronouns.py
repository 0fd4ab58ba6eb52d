"""Which statements only point with a pronoun: `Don't use them.` says nothing without its noun.

Pure. `Keep it short` is whole: what it points at is whatever the assistant makes.
"""

# ruff: noqa: RUF001  quotes and dashes of other scripts are meant

import re

from memory_write.offline.languages.english_words import VERBS

_LEAD = (
    r"^(?:(?:no|nah|nope|hey|please|and|so|but|also|just|always|never|ever|again|from now on"
    r"|in future|instead"
    r"|i|we|the user|you|do|should|must|really|only|better|nie|niemals|immer|bitte|nein|also|ab"
    r" jetzt|künftig)\b[\s,:;–—-]*|(?:do not|don't|dont|does not|doesn't|should not|shouldn't"
    r"|must not"
    r"|mustn't|will not|won't|can't|cannot|ever)\s+)*"
)
_MADE = re.compile(
    rf"{_LEAD}(?:(?:keep|make|mach\w*|halt\w*|lass\w*|write|say|schreib\w*)\s+(?:it|them|es|sie)\s+"
    r"(?:short|brief|simple|concise|small|clear|clean|plain|formal|informal|casual|friendly|tight"
    r"|readable|consistent|crisp|professional|to\b|under\b|below\b|within\b|in\b|at\b|kurz|knapp"
    r"|einfach|klar|schlicht|unter\b|auf\b|\w+er\b|less\b|more\b))",
    re.IGNORECASE,
)
_POINTS = re.compile(
    rf"{_LEAD}(?:(?:{VERBS}|want|like|need|hate|see|do|touch|change|avoid|edit|break|load|trust)s?"
    r"(?: (?:up|out|off|in|on|with|to|for|from|without))?\s+"
    r"(?:(?:it(?: (?:with|via|through) \S+)?|them(?: (?:in|for|on) [\w-]+(?: [\w-]+)?)?)"
    r"(?:[.,!]*$|, (?:we|it|that|they|the|i) )"
    r"|(?:those|these|this|that)[.,!]*$)"
    r"|(?:i'd|i would) (?:rather|prefer it if) you (?:didn't|wouldn't|stopped)\b"
    r"|(?:benutz\w*|verwend\w*|nutz\w*|nimm|nehm\w*|mach\w*|schreib\w*|lösch\w*|änder\w*|lass\w*"
    r"|setz\w*|teste?|starte?|vermeid\w*)\s+(?:sie|es|ihn|das|die|diese|dies)"
    r"(?:[.!]*$| (?:nie\w*|nicht|immer|bitte|auch|nur|überall|hier|künftig)\b))",
    re.IGNORECASE,
)


def dangles(text: str) -> bool:
    """Whether a statement has a pronoun where its noun should be."""
    plain = text.replace("’", "'").strip()
    if _MADE.match(plain):
        return False
    return bool(_POINTS.match(plain))
