"""What is noticed about a statement: its words, its signs, and where it was said; pure.

The marks are what `leaning.py` has weights for. Invariant: the same words at the same place have
the same marks, here and where the weights are learned.
"""

import re
from itertools import pairwise

from memory_write.offline.judge import ASKS, masked, overheard
from memory_write.offline.languages.at_hand import AT_HAND
from memory_write.offline.languages.cues import CUES, cues
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.loose import Around, shown_of, signals_of
from memory_write.offline.moments import Moment
from memory_write.offline.outline import outline, stems
from memory_write.offline.sentences import bare
from memory_write.offline.taken_up import taken_up
from memory_write.offline.terms import terms
from memory_write.offline.weigh import SIGNS, signs_in

BESIDE_WORDS = 3
"""How many words of the sentences in front and behind are looked at."""
BESIDE = 0.5
"""What such a word counts for beside the statement's own."""
ANSWER_CHARS_MAX = 600
LONG_WORDS = 40
SHORT_WORDS = 4
REFUSED_MARK = "sign refused "
_SIGNS_MANY = 5
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+(?:'[a-z]+)?|[?!:;,.]")
_FORMS = (
    "question",
    "hypothetical",
    "once",
    "others",
    "denied",
    "deictic",
    "standing",
    "status",
    "decision",
    "preference",
    "rule",
)
_AT_HAND = ("stands", "bounded", "trouble", "told", "wants", "spec", "lasts")


def marks(moment: Moment, at: int) -> dict[str, float] | None:
    """The marks of a statement of a message, or None when it must never be kept."""
    statement, around = moment.said[at], moment.around
    heard = overheard(statement, around.hint)
    if heard is None or heard.refusal == ASKS:
        return None
    found: dict[str, float] = {}
    tokens = ["^", *_tokens(masked(bare(statement))), "$"]
    found |= {f"w {one}": 1.0 for one in tokens}
    found |= {f"w {one} {two}": 1.0 for one, two in pairwise(tokens)}
    signs = _signs(heard.core, heard.lexicon, around)
    signs += [f"cue {one}" for one in cues(bare(statement), masked(bare(statement)))]
    if heard.correction:
        signs.append("correction")
    if heard.refusal:
        signs.append(f"refused {heard.refusal}")
    if (shown := shown_of(heard, around)) is not None:
        signs.append(f"shown {shown}")
    found |= {f"sign {one}": 1.0 for one in signs}
    found["signs"] = len(signs) / _SIGNS_MANY
    if moment.opening:
        found |= {f"opening sign {one}": 1.0 for one in signs}
    words = len(tokens) - 2
    found |= stems(tokens)
    found |= outline(bare(statement), moment.item.text, words=words, statements=len(moment.said))
    found |= taken_up(statement, words=words, answer=moment.asked, typed_before=moment.typed_before)
    return found | _place(moment, at, words) | {heard.lexicon.name: 1.0}


def _tokens(core: str) -> list[str]:
    """The words of a masked statement; a number stands for all of them."""
    return ["0" if one.isdigit() else one for one in _TOKEN.findall(core)]


def _signs(core: str, lexicon: Lexicon, around: Around) -> list[str]:
    told = signs_in(core, signals_of(lexicon))
    signs = [name for name in SIGNS if name in told]
    signs += [f"form {name}" for name in _FORMS if getattr(lexicon, name).search(core)]
    words = AT_HAND[lexicon.name]
    signs += [f"at hand {name}" for name in _AT_HAND if getattr(words, name).search(core)]
    if around.project is not None and around.project.search(core):
        signs.append("project")
    return signs


def _place(moment: Moment, at: int, count: int) -> dict[str, float]:
    said, around = moment.said, moment.around
    told = {
        "opening": moment.opening,
        "answered": around.answered,
        "reversing": around.reversing,
        "cured": bool(around.cures),
        "asked": _asks(moment.asked),
        "touches": _touches(said[at], moment.asked),
        "accepting": bool(said and CUES["accepts"].search(masked(said[0]))) and at > 0,
        "first": at == 0,
        "alone": len(said) == 1,
        "among many": len(said) > 2,
        "last": at + 1 == len(said),
        "short": count <= SHORT_WORDS,
    }
    found = {name: 1.0 for name, holds in told.items() if holds}
    found["long"] = min(count, LONG_WORDS) / LONG_WORDS * 2
    for name, beside in (("before", at - 1), ("after", at + 1)):
        if 0 <= beside < len(said):
            words = _tokens(masked(said[beside]))[:BESIDE_WORDS]
            found |= {f"{name} {one}": BESIDE for one in words}
    return found


def _touches(statement: str, answer: str) -> bool:
    """Whether a statement takes up a word of the answer before it."""
    return bool(terms(statement) & terms(answer[-ANSWER_CHARS_MAX:]))


def _asks(answer: str) -> bool:
    """Whether the answer before ends with a question."""
    return answer.rstrip().endswith(("?", "\uff1f"))
