"""What a typed statement is: worth keeping and of which kind, or nothing for a later thread.

Pure and deterministic. When in doubt a statement is not kept: a wrong memory costs its user more
than a missing one. Refusals are looked at before kinds, so that no kind can overrule one.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from dataclasses import dataclass, replace
from typing import Literal, get_args

from memory_write.offline.asked_again import kept
from memory_write.offline.elsewhere import elsewhere
from memory_write.offline.languages.chinese import CHINESE
from memory_write.offline.languages.english import ENGLISH
from memory_write.offline.languages.french import FRENCH
from memory_write.offline.languages.german import GERMAN
from memory_write.offline.languages.spanish import SPANISH
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.plainer import plainer
from memory_write.offline.sentences import bare

NOTED_WORDS_MIN = 3
LEAST_CHARS = 3
ASKS = "asks"
"""The refusal of a question: no weight can speak for one."""
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
    r"^(?:can|could|would|will) you (?:please |kindly |also )*(?:never|always|stop \w+ing"
    r"|not \w+ .*(?:every|each) time)\b"
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
NAMES_SOMEBODY = re.compile(
    r"^(?!I\b|We\b|The\b|You\b|My\b|Our\b|Never\b|Always\b|Ich\b|Wir\b|On\b|Je\b|Nous\b|Yo\b)"
    r"[A-ZÀ-Ý][a-zà-ÿ]+(?: (?:from|aus|vom|de|del|von) [\w ]{1,14}?)? "
    r"(?:prefers|likes|loves|hates|thinks|says|said|believes|suggests|insists|swears"
    r"|comenta|opina|dice|cree|prefiere|piensa|meint|findet|sagt|schwört|glaubt|pense|dit|trouve"
    r"|préfère|préconise|estime|croit)\b"
)
"""Somebody's view, by a name and a verb: `Karim prefers XML`."""
_SO_WE = re.compile(
    r"\bso (?!he\b|she\b|they\b|it\b|that\b|far\b|much\b|many\b)\w+"
    r"|\bwe(?:'ve)? (?:all )?(?:decided|agreed)\b"
    r"|\b(?:deshalb|daher|darum|also) (?:bitte|nehmen|nutzen|immer|nie|machen|bleib\w+)\b"
    r"|\b(?:donc|du coup) (?:on|nous|il faut|toujours|jamais|pas de)\b"
    r"|\b(?:así que|por eso) (?:usamos|no|siempre|nunca|hay que|nada)\b|所以(?:我们|统一|都|要|不)"
)
"""What follows from somebody's view is the user's own."""
_PAST = re.compile(
    r"^(?:(?:back then|years ago|in the old days|at first|originally),? )?(?:we|i) used to\b"
    r"|^(?:früher|damals|ursprünglich)\b|^(?:avant|autrefois|à l'époque),? (?:on|nous|je|c'était)\b"
    r"|^(?:antes(?! de)|al principio|en su día)\b|^(?:en|con) \S+ (?:\w+ )?anterior\b"
    r"|^(?:我们|我)?(?:以前|当年|过去|原来)(?!说|定|提|讲|如此).{0,30}(?:过|的|了|用)"
)
_SINCE = re.compile(
    r"\b(?:now|but we|these days|jetzt|heute|inzwischen|seitdem|maintenant|désormais|ahora|desde"
    r"|ya no|always|never|immer|nie|siempre|nunca|toujours|jamais|before|must|muss|hay que"
    r"|il faut|de (?:cada|hacer|los|las|un|subir|lanzar|desplegar|tocar))\b|现在|后来|必须|要先"
)
_ONLY_DENIES = re.compile(
    r"\b(?:it isn't that|it's not that|not that i|i'm not against|i've nothing against"
    r"|nothing against|i don't (?:really )?(?:care|mind)|je ne dis pas qu\w*|ce n'est pas qu\w*"
    r"|je n'ai rien contre|no es que|no digo que|no tengo nada (?:en )?contra"
    r"|ich habe nichts gegen|hab nichts gegen|nicht,? dass ich|ich sage? (?:ja )?nicht)\b"
    r"|不是反对|倒不是|并不是说|不是说不"
)
_CLAUSE_ENDS = re.compile(r"[,，;]")
_PLANS = re.compile(
    r"^(?:(?:hm+|so|well|honestly|originally|first|actually),? )*i(?:'d)? (?:was (?:going|thinking"
    r"|planning|hoping)|(?:had )?planned|thought (?:about|of|we|i))\b"
    r"|\b(?:wollte ich|ich wollte|ich dachte|ich hatte (?:vor|überlegt|gedacht))\b"
    r"|\bje (?:pensais|comptais|songeais|voulais)\b|\bj'aurais (?:bien )?\w+\b"
    r"|\b(?:pensaba|tenía pensado|iba a|había pensado)\b|我(?:本来)?(?:打算|原想)|本来想"
)
"""Thinks aloud; what is decided comes behind it."""
_ORDERS = re.compile(
    r"^(?:\S+ ){0,5}?(?:ask|never|always|don't|do not|no|keep|use|check|tell|warn|must|only|frag\w*"
    r"|nie|immer|keine?|nur|bitte|jamais|toujours|ne|pas|demande|nunca|siempre|no|pregunta\w*)\b"
    r"|别|不要|必须|先问|一律"
)
_BLAMES = re.compile(
    r"(?:why do you (?:always|keep)|why are you always|warum \w+ (?:du|sie) (?:immer"
    r"|ständig|dauernd)"
    r"|por qué (?:me )?\w+s siempre|(?:che, )?por qué me met\w+|pourquoi (?:tu|vous) \w+ toujours"
    r"|when you .{3,40}, (?:would|could) you\b)|你能不能别|为什么你?(?:老|总|每次)"
)
"""A question that asks nothing: it says what shall not be done again."""
_WORKED_ON = re.compile(
    r"^(?:rewrite|rephrase|translate|proofread|correct|shorten|reword|übersetz\w*|formulier\w*"
    r"|korrigier\w*|tradui\w+|reformule\w*|corrige\w*|traduc\w+|reescrib\w+)\b[^:：]{0,40}[:：]"
    r"|^(?:翻译|改写|润色|校对)[^:：]{0,12}[:：]"
)
"""What stands behind the colon is a text to be worked on, not a wish."""
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
    refusal: str = ""
    """Why the forms leave it: the name of what it is instead; empty when they do not."""


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
    """The statement stripped for judging, or None when the forms refuse it."""
    heard = overheard(statement, hint)
    return None if heard is None or heard.refusal else heard


@kept
def overheard(statement: str, hint: Lexicon | None = None) -> Hearing | None:
    """The same with what the forms refuse, or None when it must never be kept."""
    typed = bare(statement)
    if len(typed) < 4 and not _CHINESE_SIGN.search(typed):
        return None
    heard = _hear(typed, language(typed, hint))
    if len(heard.core) < LEAST_CHARS or is_secret(heard.text) or _WORKED_ON.match(heard.core):
        return None
    return replace(heard, refusal=_refusal(heard, heard.lexicon))


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


@kept
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
    core = plainer(core) or core
    return Hearing(
        text=text.strip(), core=core, lexicon=lexicon, correction=correction, explicit=explicit
    )


def _without_words(text: str, matched: re.Match[str] | None) -> str:
    """Cut what matched at the front of the masked text off the typed one; openers quote nothing."""
    if matched is None:
        return text
    return re.sub(r"\s+", " ", text).strip()[matched.end() :].strip()


def _refusal(heard: Hearing, lexicon: Lexicon) -> str:
    """What a statement is that no form may keep; empty when there is nothing against it."""
    core = heard.core
    if heard.text.rstrip(" \"')").endswith(("?", "？")):
        orders = _STRONG.search(core) and lexicon.imperative.match(_rest(core, lexicon))
        return "" if orders or _BLAMES.match(core) else ASKS
    if _hands_on(core, lexicon):
        return "hands on"
    if lexicon.question.search(core):
        return "question"
    if _supposes(core, lexicon):
        return "supposes"
    others = lexicon.others.search(core) or NAMES_SOMEBODY.match(heard.text)
    if others and not _speaks_of_the_user(core) and not _SO_WE.search(core):
        return "others"
    if _PAST.search(core) and not _SINCE.search(core):
        return "past"
    if _ONLY_DENIES.search(core):
        return "only denies"
    if _PLANS.search(core) and not _SO_WE.search(core):
        return "plans"
    if not heard.explicit and elsewhere(core, heard.text):
        return "elsewhere"
    if lexicon.once.search(core):
        return "once"
    return "denied" if lexicon.denied.search(core) else ""


def _supposes(core: str, lexicon: Lexicon) -> bool:
    """Whether a statement is a hypothesis; what may happen is the reason of an order before it."""
    found = lexicon.hypothetical.search(core)
    if found is None:
        return False
    asked = core[: found.start()]
    return not (_CLAUSE_ENDS.search(asked) and _ORDERS.search(asked))


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
