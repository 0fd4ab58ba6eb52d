"""What a typed statement is: worth keeping and of which kind, or nothing for a later thread.

Pure and deterministic. When in doubt a statement is not kept: a wrong memory costs its user more
than a missing one. Refusals are looked at before kinds, so that no kind can overrule one.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from dataclasses import dataclass
from typing import Literal, get_args

from memory_write.offline.languages.chinese import CHINESE
from memory_write.offline.languages.english import ENGLISH
from memory_write.offline.languages.french import FRENCH
from memory_write.offline.languages.german import GERMAN
from memory_write.offline.languages.spanish import SPANISH
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.sentences import bare

NOTED_WORDS_MIN = 3
Kind = Literal["profile", "preference", "rule", "decision", "procedure", "pitfall", "noted"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KNOWLEDGE: tuple[Kind, ...] = ("decision", "procedure", "pitfall")
"""Kinds that are about the work; the others are about the one who does it."""
Scope = Literal["everywhere", "project", "as stated"]

_QUOTED = re.compile(
    r"\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“”]{1,200}[“”]|«[^»]{1,200}»|「[^」]{1,200}」"
    r"|(?<!\w)'[^']{1,120}'(?!\w)|(?<!\w)‘[^’]{1,120}’(?!\w)"
)
_CODED = re.compile(r"`[^`]{1,200}`")
_CHINESE_SIGN = re.compile(r"[\u3400-\u9fff]")
_SECRET = re.compile(
    r"redacted_secret|\b(?:pass ?words?|passwd|passphrase|api[_ -]?keys?|secret key|access key"
    r"|private key|credentials?|auth token|access token|bearer|pin code|passwort|contraseña"
    r"|mot de passe)\b.{0,20}(?:\bis\b|=|:|\bist\b|\best\b|\bes\b)|密码(?:是|:)"
    r"|\bmy (?:\w+ )?(?:key|token|secret|password|pin) (?:is|=)|\b(?:sk|pk|ghp|xox[bp])[-_]\w{6}"
)
_STRONG = re.compile(
    r"\b(?:from now on|from here on|going forward|henceforth|until further notice|ab jetzt"
    r"|ab sofort"
    r"|von nun an|a partir de ahora|de ahora en adelante|désormais|dorénavant"
    r"|à partir de maintenant)\b|从现在(?:开始|起)|今后|(?:(?<![\u4e00-\u9fff])"
    r"|(?<=[我你们那请都并的]))以后"
)
_CONTRACTED = re.compile(r"(?<=[a-z])'(?:s|t|d|m|ll|re|ve)\b")
_POLITE_QUESTION = re.compile(r"^(?:can|could|would|will) you (?:please |kindly |also )*")
_POLITE_ORDER = re.compile(
    r"^(?:can|could|would|will) you (?:please |kindly |also )*(?:never|always|stop \w+ing)\b"
)
_INTRODUCED = re.compile(r"^(?P<front>[^:：]{4,60})\s?[:：] ?(?:\S+ ){0,2}\S")
_DOCUMENT = re.compile(
    r"^(?!.*\b(?:i|we|my|our|ich|wir|unser\w*|mein\w*|je|nous|nos|notre|on|yo|nuestr\w+|mi)\b)"
    r"(?:in |from |im |in |dans |en |de )?(?:the |their |his |her |its |den |der |dem "
    r"|ihre[rmn]? |leur |la |le |el |su )?"
    r"(?:\w+ )?(?:docs?|documentation|guidelines|manual|readme|wiki|article|blog|forum|datasheet"
    r"|app note|doku|dokumentation|handbuch|leitfaden|artikel|datenblatt|notice|manuel"
    r"|documentación"
    r"|guía|artículo|hoja de datos|文档|手册|论坛|论文)(?: (?:of|von|de|für|from) [\w.-]+)?$"
)
_THREE_PERSONS = re.compile(r"^(?:the )?user\b|^in \S+,? the user\b")
_LANGUAGES = (ENGLISH, GERMAN, SPANISH, FRENCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A statement to keep."""

    text: str
    """The statement as typed, without label, openers and asides."""
    kind: Kind
    scope: Scope
    correction: bool
    explicit: bool
    """The user asked for it to be remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """A statement stripped for judging."""

    text: str
    """As typed, without what was taken off its front."""
    core: str
    """The same masked, for patterns to be looked for in."""
    lexicon: Lexicon
    correction: bool
    explicit: bool


def judge(statement: str, hint: Lexicon | None = None) -> Judged | None:
    """The statement as something to keep, or None when it leaves nothing.

    `hint` is the language that the user types in, where the statement alone does not tell.
    """
    heard = hearing(statement, hint)
    if heard is None:
        return None
    kind = _kind(heard, heard.lexicon)
    if kind is None:
        return None
    return Judged(
        text=heard.text,
        kind=kind,
        scope=_scope(heard.core, kind, heard.lexicon),
        correction=heard.correction,
        explicit=heard.explicit,
    )


def hearing(statement: str, hint: Lexicon | None = None) -> Hearing | None:
    """The statement stripped for judging, or None when it must never be kept."""
    typed = bare(statement)
    if len(typed) < 4 and not _CHINESE_SIGN.search(typed):
        return None
    heard = _hear(typed, language(typed, hint))
    return None if _refused(heard, heard.lexicon) else heard


def language(text: str, hint: Lexicon | None = None) -> Lexicon:
    """The language whose function words the text uses most; the hint, or English, in doubt."""
    if _CHINESE_SIGN.search(text):
        return CHINESE
    # `what's` and `don't` are not the French `s` and `t`.
    plain = _CONTRACTED.sub("", text.lower().replace("’", "'"))
    words = re.findall(r"[^\W_]+", plain)
    return max(
        _LANGUAGES,
        key=lambda lexicon: (
            sum(word in lexicon.common_words for word in words) + 1.5 * (lexicon is hint)
        ),
    )


def is_secret(text: str) -> bool:
    """Whether the text speaks of a credential's value."""
    return bool(_SECRET.search(text.lower()))


def is_lasting(text: str) -> bool:
    """Whether the text says in so many words that it holds from now on."""
    return bool(_STRONG.search(masked(text)))


def masked(text: str) -> str:
    """Lower case, plain blanks and apostrophes, with quoted and coded spans replaced."""
    text = _QUOTED.sub("qq", _CODED.sub("cc", text))
    return re.sub(r"\s+", " ", text.replace("’", "'")).strip().lower()


def _hear(typed: str, lexicon: Lexicon) -> Hearing:
    """Take openers off, and note what they said."""
    text, correction, explicit = typed, False, False
    for _ in range(6):
        core = masked(text)
        if _POLITE_ORDER.match(core) or (_POLITE_QUESTION.match(core) and _STRONG.search(core)):
            text = text.rstrip().removesuffix("?")
            text = _without_words(text, _POLITE_QUESTION.match(core))
        elif not explicit and (wish := lexicon.remember.match(core)):
            rest = _without_words(text, wish)
            if len(rest.split()) < 2 and lexicon.name != "chinese":
                break
            explicit = "forget" not in wish.group() or correction
            text = rest
        elif opened := lexicon.opener.match(core):
            text = _without_words(text, opened)
        elif contradicted := lexicon.correction.match(core):
            rest = _without_words(text, contradicted)
            if not rest:
                break
            if contradicted.group().startswith("stop"):
                break  # the verb itself carries the wish
            correction, text = True, rest
        else:
            break
    core = masked(text).rstrip(".!… ")
    return Hearing(
        text=text.strip(), core=core, lexicon=lexicon, correction=correction, explicit=explicit
    )


def _without_words(text: str, matched: re.Match[str] | None) -> str:
    """Cut what matched at the front of the masked text off the typed one; openers quote nothing."""
    if matched is None:
        return text
    return re.sub(r"\s+", " ", text).strip()[matched.end() :].strip()


def _refused(heard: Hearing, lexicon: Lexicon) -> bool:
    core = heard.core
    if not core or len(core) < 3 or is_secret(heard.text):
        return True
    if heard.text.rstrip(" \"')").endswith(("?", "？")):
        return not (_STRONG.search(core) and lexicon.imperative.match(_rest(core, lexicon)))
    if _hands_on(core, lexicon):
        return True
    if lexicon.question.search(core) or lexicon.hypothetical.search(core):
        return True
    if lexicon.others.search(core) and not _speaks_of_the_user(core):
        return True
    return bool(lexicon.once.search(core) or lexicon.denied.search(core))


def _hands_on(core: str, lexicon: Lexicon) -> bool:
    """Whether the words are somebody else's, by what introduces them before a colon."""
    introduced = _INTRODUCED.match(core)
    if introduced is None:
        return False
    front = introduced["front"]
    return bool(_DOCUMENT.search(front)) or any(
        one.others.search(front) for one in (lexicon, language(front))
    )


def _speaks_of_the_user(core: str) -> bool:
    """`the user prefers …` is said about the one who types, unless it is a story of a product."""
    return bool(_THREE_PERSONS.search(core)) and not ENGLISH.others.search(
        core.replace("the user", "we")
    )


def _rest(core: str, lexicon: Lexicon) -> str:
    """The core without what says how long it holds and where."""
    without = lexicon.standing.sub(" ", core)
    without = lexicon.everywhere.sub(" ", lexicon.project.sub(" ", without))
    without = re.sub(r"\s+", " ", without).strip(" ,.:;，、-")
    opened = lexicon.opener.match(without)
    while opened and opened.end():
        without = without[opened.end() :]
        opened = lexicon.opener.match(without)
    return without


def _kind(heard: Hearing, lexicon: Lexicon) -> Kind | None:
    """The first kind whose form the statement has."""
    core = heard.core
    rest = _rest(core, lexicon)
    pointing = bool(lexicon.deictic.search(rest))
    standing = bool(lexicon.standing.search(core))
    passing = bool(lexicon.status.search(core))
    if heard.explicit:
        if lexicon.profile.search(core):
            return "profile"
        enough = len(core.split()) >= NOTED_WORDS_MIN or lexicon.name == "chinese"
        return "noted" if enough else None
    if pointing or (passing and not _STRONG.search(core)):
        return None
    if lexicon.decision.search(core):
        return "decision"
    if lexicon.profile.search(core):
        return "profile"
    if lexicon.preference.search(core):
        return "preference"
    if lexicon.desire.search(core) and lexicon.generic.search(core):
        return "preference"
    if lexicon.fact.search(rest) or lexicon.fact.search(core):
        return "procedure"
    if lexicon.rule.search(rest) or lexicon.rule.search(core):
        return "rule"
    if standing and (lexicon.imperative.match(rest) or _STRONG.search(core)):
        return "rule"
    if lexicon.standing_order.search(rest) or lexicon.standing_order.search(core):
        return "rule"
    if heard.correction and lexicon.corrected.match(rest):
        return "rule"
    return None


def _scope(core: str, kind: Kind, lexicon: Lexicon) -> Scope:
    if lexicon.everywhere.search(core):
        return "everywhere"
    if lexicon.project.search(core) or kind in ("decision", "procedure"):
        return "project"
    if kind == "profile":
        return "everywhere"
    return "as stated"
