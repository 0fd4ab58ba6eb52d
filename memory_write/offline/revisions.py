"""Which earlier statement of a session a later message revises: the same thing, said otherwise.

Pure. A message has to say that it revises (`scratch that`, `doch lieber`, `finalement`), or give
the same thing another number; what it revises is told by the words both have.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re
from collections.abc import Sequence

from memory_write.offline.asked_again import kept
from memory_write.offline.judge import masked
from memory_write.offline.languages.english import ENGLISH
from memory_write.offline.languages.french import FRENCH
from memory_write.offline.languages.german import GERMAN
from memory_write.offline.languages.spanish import SPANISH
from memory_write.offline.merging import Entry

SHARED_MIN = 2
FEW_WORDS = 3
"""A statement of so few words is about the one that is shared."""
NUMBERED_SHARE_MIN = 0.5
STEM_CHARS = 5
WORD_CHARS_MIN = 3
_REVISES = re.compile(
    # English
    r"\bscra(?:tch|p) (?:that|this|it|the|what)\b|\b(?:change of plans?|changed (?:my|our) minds?"
    r"|on second thou?ghts?|after all|no longer|correction|what i said|said (?:earlier|before)"
    r"|(?:earlier|before) i said|i take (?:that|it|this) back|forget (?:what|that|the|about)"
    r"|new rule|strike that|i was wrong|reconsidered|actually|make (?:that|it) .{1,30}? instead"
    r"|let's .{1,40}? instead|used to|from now on .* instead)\b"
    r"|\b(?:not|don't|doesn't|isn't|aren't|won't)\b.{0,60}\bany ?more\b|^(?:no )?wait\b"
    r"|\b(?:is|are|it's|make it|to) \S+ now\b|\bnow (?:it's|we|is|are|use)\b|^update\b"
    r"|\b(?:switch(?:ed|ing)?|mov(?:ed?|ing)|chang(?:ed?|ing)) (?:\w+ ){0,3}?(?:to|from)\b"
    # German
    r"|\bdoch (?:lieber|nicht|wieder|besser|kein\w*|erst|bei|zu|auf|mit|\w+en)\b|\blieber doch\b"
    r"|\bnicht mehr\b|\bkeine?n? \w+ mehr\b"
    r"|\b(?:korrektur|planänderung|kommando zurück|umentschieden|anders überlegt|vergiss"
    r"|nehme? (?:das |es )?zurück|nochmal überlegt|vorhin|neue regel|gilt nicht mehr|stattdessen"
    r"|ich korrigiere|quatsch|jetzt doch)\b|\b(?:ist|sind|jetzt|nun) (?:jetzt|nun) \S+"
    # French
    r"|\b(?:finalement|au final|réflexion faite|tout compte fait|changement de (?:plan|programme)"
    r"|changé d'avis|je reviens sur|oublie[zr]?|rectification|correction|je corrige|je me corrige"
    r"|en fait|nouvelle règle|à la réflexion|plus tôt|tout à l'heure)\b"
    r"|\bn(?:e |')\S+ plus\b|^(?:et )?plus de? \w|\bmaintenant c'est\b"
    # Spanish
    r"|\b(?:mejor|al final|ya no|cambio de (?:planes|idea|opinión)|cambi(?:é|ado|amos) de"
    r"|pensándolo|corrijo|corrección|rectifico|olvida\w*|en realidad|retiro lo|nueva regla"
    r"|me retracto|lo de antes|dije|me equivoqué|ahora (?:es|son|va|van|usamos))\b"
    # Chinese
    r"|改(?:成|为|用|一下|主意|回|口|到)|不再|还是.{1,14}[吧好]|换成|换回|算了|说错|更正|收回|重新定"
    r"|(?:之前|刚才|前面|上面|先前)(?:说|定|讲|提)|其实|不用.{0,8}了|取消|纠正|现在(?:是|用|改)|作废"
)
_TURNS = re.compile(
    r"\b(?:after all|changed my mind|scratch that|on second thou?ghts?|my mistake|i was wrong"
    r"|take (?:that|it) back|correction|no wait|wait,? no|strike that|fair point|you're right"
    r"|doch lieber|lieber doch|umentschieden|korrektur|vertan|stimmt|überzeugt|hast du recht"
    r"|haben sie recht|finalement|réflexion faite|trompée?|changé d'avis|vous avez raison"
    r"|tu as raison|ah non|mejor|al final|cambi\w+ de idea|me equivoqué|cierto|tienes razón"
    r"|descartad[oa]|pensándolo|pardon|excuse[zs]-moi|perdón|entschuldigung|i must apologi[sz]e"
    r"|on tranche autrement|je confonds|me confundí|pasa a ser|on reflection|i'd forgotten)\b"
    r"|不好意思|抱歉|说错|改主意|还是|搞错|算了|不对|也是|有道理"
)
"""Says plainly that the last word changes."""
NEAR_MESSAGES = 3
_ADDS = re.compile(
    r"\b(?:also|too|as well|additionally|on top|auch|zusätzlich|außerdem|aussi|également|en plus"
    r"|también|además|por cierto)\b|另外|还要|也(?:要|得|用)"
)
_WORD = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+(?:[.'-]\w+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_EMPTY = (
    ENGLISH.common_words | GERMAN.common_words | FRENCH.common_words | SPANISH.common_words
) | frozenset(
    "user user's project repo everything always never please now each every toujours jamais siempre"
    " nunca immer nie finalement mejor doch lieber actually instead anymore wait correction forget"
    " said earlier longer still change changed new back sind sein être sont sera son está es van va"
    " use uses using used utilise utiliser usa usar usamos nutze nutzen verwende verwenden keep"
    " write put make toutes todas todos tous alle alles".split()
)
_EMPTY_SIGNS = re.compile(r"[我你们的了是在要用都也就还不再改成换吧以后统一现把写]")


def revises(text: str) -> bool:
    """Whether a message says that something holds otherwise than before."""
    return bool(_REVISES.search(masked(text)))


def revised(
    earlier: Sequence[Entry], new: Entry, *, message: str, near: Sequence[bool]
) -> int | None:
    """Which of the earlier entries the new one takes the place of, if any.

    `near` tells which of them were said just before.
    """
    turns = bool(_TURNS.search(masked(message)))
    told = revises(message) and not _ADDS.search(masked(new.text))
    subject = _subject(new.text)
    best: tuple[int, int] | None = None
    for at, old in enumerate(earlier):
        before = _subject(old.text)
        shared = len(before & subject)
        enough = turns and near[at] and shared
        enough = enough or (
            told and (shared >= SHARED_MIN or (shared and len(before) <= FEW_WORDS))
        )
        if (enough or _renumbered(old.text, new.text)) and (best is None or shared >= best[0]):
            best = shared, at
    return None if best is None else best[1]


def _renumbered(old: str, new: str) -> bool:
    """Whether both say the same with another number."""
    before, after = _NUMBER.findall(old), _NUMBER.findall(new)
    if len(before) != 1 or len(after) != 1 or before == after:
        return False
    a, b = _subject(old), _subject(new)
    return bool(a) and bool(b) and len(a & b) / len(a | b) >= NUMBERED_SHARE_MIN


@kept
def _subject(text: str) -> frozenset[str]:
    """What a statement speaks of: its words but the common ones, as beginnings."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower().replace("’", "'")):
        if word[0] >= "\u3400":
            for piece in _EMPTY_SIGNS.split(word):
                found.update(piece[n : n + 2] for n in range(len(piece) - 1))
        elif word not in _EMPTY and len(word) >= WORD_CHARS_MIN and not word[0].isdigit():
            found.add(word[:STEM_CHARS])
    return frozenset(found)
