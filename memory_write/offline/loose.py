"""What a loosely worded statement is, from its own signs and from what stands around it.

Pure. Looks only at statements that the judge's forms left aside without refusing them.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from dataclasses import dataclass, replace

from memory_write.offline.evidence import Cure, Run, told_of, worked_of
from memory_write.offline.judge import Hearing, Judged, Kind, Scope, hearing, masked, overheard
from memory_write.offline.languages.chinese_signals import CHINESE_SIGNALS
from memory_write.offline.languages.cues import CUES
from memory_write.offline.languages.english_signals import ENGLISH_SIGNALS
from memory_write.offline.languages.french_signals import FRENCH_SIGNALS
from memory_write.offline.languages.german_signals import GERMAN_SIGNALS
from memory_write.offline.languages.spanish_signals import SPANISH_SIGNALS
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.sentences import bare
from memory_write.offline.signals import Signals
from memory_write.offline.weigh import Weighed, weigh

AFTER_CONTRADICTION = 1.0
AFTER_REVERSAL = 1.0
BEFORE_REASON = 1.0
BESIDE_WORDS_MIN = 3
"""A word or two beside a blame only name what was touched."""
AFTER_COMPLAINT = 1.0
BESIDE_BLAME = 2.0
"""What was done wrong stands beside what is right."""
CORRECTING = 1.0
REFUSING = 1.5
CORRECTING_TEXT = 2.0
DENIAL_CHARS_MAX = 10
DENIED = 0.0
"""Below this the signs outweigh a form that a statement happens to have."""
JOINED_CHARS_MAX = 300
_SIGNALS = {
    "english": ENGLISH_SIGNALS,
    "german": GERMAN_SIGNALS,
    "spanish": SPANISH_SIGNALS,
    "french": FRENCH_SIGNALS,
    "chinese": CHINESE_SIGNALS,
}
_NAME_CHARS_MIN = 3
_PART_CHARS_MIN = 4
_EQUATION = re.compile(r"\w (?:=|=>|->|→|⇒|＝) [\w`]")
"""Such an error means such a command."""
_ANY_PART = frozenset(
    "site code test tests tool tools docs main data blog work shop repo next".split()
)
_INSIDE = (
    r"\b(?:im|in der|in dem|auf der|in the|in|throughout the|across the|inside the|dans l[ea]"
    r"|dans|en el|en la|del|de la) "
)
SHOWN_WORDS_MIN = 5
# `my publisher is British` gives a reason, `I` speaks of the one who types.
_I = re.compile(
    r"\bthat's my\b|\b(?:i|i'm|i'd|i've|me|ich|mir|mich|yo|je|moi)\b|\b[jm]'|我(?!们)|\bme\b"
)
_BETWEEN_US = re.compile(
    r"\b(?:you|your|(?<!but )me|du|dir|mir|mich|dein\w*|tu|te|toi|moi|vous|ton|tes|tus|conmigo)\b"
    r"|-moi\b|\bno me \w+[ae]s\b"
    r"|\w(?:me|melo|mela)\b|你|我(?!们)"
)
"""Speaks to the assistant of the one who types."""
_OF_TEXT = re.compile(
    r"\b(?:chatty|wordy|verbose|long-winded|geschwätzig|geschwafel|wortreich|bavard|verbeux|charla"
    r"|palabrería|text|prose|words|talk|chatter|prosa|gerede|worte|blabla|bla|texto|palabras"
    r"|rollo|texte"
    r"|mots|récap|réponses?|antworten|respuestas|answers?|replies)\b|字|话|啰嗦"
)
_SORRY = re.compile(
    r"^(?:(?:oh|ah|ups|uy|hm+|no|non|nein|ach|aïe|啊|哦|mm+|hang on|so|and|bon|ok)[,. ]*){0,2}"
    r"(?:sorry|pardon\b|excuse[zs]-moi|perdón|perdona|disculp\w+|entschuldigung|i must apologi[sz]e"
    r"|my mistake|my bad|i'd forgotten|on reflection|on tranche autrement|je confonds"
    r"|me confundí|不好意思|抱歉|说错了|更正)"
)
"""Opens a message that puts right what its writer said before."""
_MINE = re.compile(r"\b(?:my|mein\w*|mis|mes)\b|我的")
_ARTICLES = "a an the my der die das den dem ein eine el la un una le les une".split()
_PERSONAL = frozenset({"likes", "complaint"})
_MEANT = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known around a statement."""

    hint: Lexicon
    """The language that the user types in."""
    project: re.Pattern[str] | None
    """Names the project."""
    ran: tuple[Run, ...] = ()
    cures: tuple[Cure, ...] = ()
    """Those that the message may speak of."""
    answered: bool = False
    """The message follows an answer."""
    reversing: bool = False
    """The message takes something back."""


def signals_of(lexicon: Lexicon) -> Signals:
    """The signs of a language."""
    return _SIGNALS[lexicon.name]


def name_of(cwd: str) -> re.Pattern[str] | None:
    """A pattern for the project's name, which is its folder's."""
    name = cwd.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].lower()
    if len(name) < _NAME_CHARS_MIN:
        return None
    # `the crawler` is a thing that is worked on, `in crawler` is the project.
    articles = "".join(rf"(?<!\b{one}[ ])" for one in _ARTICLES)
    parts = [one for one in re.split(r"[-_.]", name) if len(one) >= _PART_CHARS_MIN]
    inside = "|".join(re.escape(one) for one in parts if one not in _ANY_PART) or "(?!)"
    return re.compile(
        rf"{articles}(?<![\w/]){re.escape(name)}(?![\w/])|{_INSIDE}(?:{inside})(?![\w/-])"
    )


def endorses(statement: str, hint: Lexicon) -> bool:
    """Whether a statement only says that the one before it is a rule."""
    heard = hearing(statement, hint)
    return heard is not None and bool(signals_of(heard.lexicon).endorses.search(heard.core))


def retracts(message: str, hint: Lexicon) -> bool:
    """Whether a message that takes something back says that something else holds now."""
    return bool(signals_of(hint).retracts.search(masked(message)[:300]))


def reverses(message: str, hint: Lexicon) -> bool:
    """Whether a message begins by taking something back."""
    opening = masked(message)[:120]
    return bool(signals_of(hint).reverses.search(opening) or _SORRY.search(opening))


def loosely(
    statement: str,
    around: Around,
    *,
    before: str | None,
    left: bool,
    following: str | None,
    endorsed: bool,
) -> Judged | None:
    """A statement that the forms do not know, as something to keep, or None.

    `before` is the statement in front of it, which was `left` out or kept; `following` is the one
    behind.
    """
    heard = hearing(statement, around.hint)
    if heard is None:
        return None
    signals = signals_of(heard.lexicon)
    shown = shown_of(heard, around)
    if shown is not None:
        return _judged(heard, heard.text, shown, _SHOWN_SCOPE)
    backed = following is not None and is_reason(following, around.hint)
    denied = before is not None and len(before) <= DENIAL_CHARS_MAX and _denies(before, around.hint)
    more = AFTER_CONTRADICTION * (heard.correction or denied)
    more += AFTER_REVERSAL * around.reversing
    more += BEFORE_REASON * backed
    blamed = before is not None and is_complaint(before, around.hint)
    blames = following is not None and is_complaint(following, around.hint)
    enough = len(heard.core.split()) >= BESIDE_WORDS_MIN or heard.lexicon.name == "chinese"
    faulted = enough and around.answered and _faulted(before, following, around.hint)
    more += BESIDE_BLAME if faulted else AFTER_COMPLAINT * (blamed or blames)
    if around.answered and before is None and _OF_TEXT.search(heard.core):
        more += CORRECTING_TEXT * bool(signals.complaint.search(heard.core))
    refusing = signals.bans.search(heard.core) and signals.imperative.search(heard.core)
    if around.answered and (signals.contrast.search(heard.core) or refusing):
        more += (REFUSING if refusing else CORRECTING) * (before is None)
    weighed = weigh(heard.core, signals, heard.lexicon, project=around.project, more=more)
    if not weighed.enough and around.answered and (rest := _behind_blame(heard.core, signals)):
        more += BESIDE_BLAME
        heard = replace(heard, core=rest)
        weighed = weigh(rest, signals, heard.lexicon, project=around.project, more=more)
    if not weighed.enough and not (endorsed and "task" not in weighed.signs):
        return None
    text = heard.text
    if blamed and left and before and len(text) + len(before) < JOINED_CHARS_MAX:
        text = f"{bare(before)} {text}"
    if (backed or endorsed) and following and len(text) + len(following) < JOINED_CHARS_MAX:
        text = f"{text} {bare(following)}"
        heard = replace(heard, core=masked(text))
        weighed = weigh(heard.core, signals, heard.lexicon, project=around.project)
    kind = _kind(weighed, heard)
    scope = _scope(weighed, heard)
    if faulted or not (blamed or blames):
        scope = _narrowed(scope, kind, weighed, heard)
    return _judged(heard, text, kind, scope)


def leaned(statement: str, around: Around) -> Judged | None:
    """A statement that its marks speak for, with the kind and the scope of its signs."""
    heard = overheard(statement, around.hint)
    if heard is None:
        return None
    weighed = weigh(heard.core, signals_of(heard.lexicon), heard.lexicon, project=around.project)
    kind = _kind(weighed, heard)
    return _judged(heard, heard.text, kind, _narrowed(_scope(weighed, heard), kind, weighed, heard))


def settled(verdict: Judged, around: Around) -> Judged | None:
    """A verdict of the forms with what the transcript adds, or None where its words deny it.

    What is added is what its commands showed, and where it holds.
    """
    heard = hearing(verdict.text, around.hint)
    if heard is None:
        return verdict
    signals = signals_of(heard.lexicon)
    shown = shown_of(heard, around)
    if shown is not None:
        return replace(verdict, kind=shown, scope="project")
    if verdict.kind in ("profile", "noted"):
        return verdict
    weighed = weigh(heard.core, signals, heard.lexicon, project=around.project)
    if weighed.total < DENIED and weighed.signs & {"passing", "task"}:
        return None
    if verdict.scope != "as stated":
        return verdict
    scope = _scope(weighed, heard)
    if {"must", "things"} <= weighed.signs:
        scope = _narrowed(scope, verdict.kind, weighed, heard)
    return replace(verdict, scope=scope)


_SHOWN_SCOPE: Scope = "project"


def shown_of(heard: Hearing, around: Around) -> Kind | None:
    """What the transcript's commands make of a statement."""
    signals = signals_of(heard.lexicon)
    plain = heard.text.lower()
    enough = len(_MEANT.findall(plain)) >= SHOWN_WORDS_MIN
    if (
        enough
        and (
            signals.cause.search(plain)
            or CUES["otherwise"].search(plain)
            or CUES["needs"].search(plain)
            or _EQUATION.search(plain)
        )
        and any(told_of(cure, plain) for cure in around.cures)
    ):
        return "pitfall"
    if signals.purpose.search(plain) and worked_of(around.ran, plain):
        return "procedure"
    return None


def _denies(statement: str, hint: Lexicon) -> bool:
    """Whether a statement is no more than `No!`."""
    return bool(hint.correction.match(f"{masked(statement).rstrip('.!。！ ')},"))


def is_complaint(statement: str, hint: Lexicon) -> bool:
    """Whether a statement blames the assistant for how it worked."""
    heard = hearing(statement, hint)
    if heard is None:
        return False
    signals = signals_of(heard.lexicon)
    return bool(signals.complaint.search(heard.core) or signals.blame.search(heard.core))


def _faulted(before: str | None, following: str | None, hint: Lexicon) -> bool:
    """Whether the statement in front or behind says what the assistant just did, and no more."""
    for beside in (before, following):
        heard = hearing(beside, hint) if beside is not None else None
        if heard is None:
            continue
        signals = signals_of(heard.lexicon)
        if signals.blame.search(heard.core) and not signals.complaint.search(heard.core):
            return True
    return False


def _behind_blame(core: str, signals: Signals) -> str | None:
    """What follows the clause that says what the assistant just did, in the same sentence."""
    first, _, rest = re.sub("[，；;]", ",", core).partition(",")
    if not rest or not signals.blame.search(first) or signals.blame.search(rest):
        return None
    return rest.removeprefix("这个不行,").strip()


def is_reason(following: str, hint: Lexicon) -> bool:
    heard = hearing(following, hint)
    return heard is not None and bool(signals_of(heard.lexicon).because.search(heard.core))


def _judged(heard: Hearing, text: str, kind: Kind, scope: Scope) -> Judged:
    return Judged(
        text=text, kind=kind, scope=scope, correction=heard.correction, explicit=heard.explicit
    )


def _narrowed(scope: Scope, kind: Kind, weighed: Weighed, heard: Hearing) -> Scope:
    """A rule about the work, said at this work, is read for this work alone."""
    of_self = "self" in weighed.signs and bool(_I.search(heard.core))
    of_self = of_self or heard.core.startswith("my ")
    personal = (
        of_self
        or _to_assistant(weighed, heard)
        or bool(weighed.signs & _PERSONAL)
        or bool(_BETWEEN_US.search(heard.core))
    )
    about_work = kind in ("rule", "decision", "procedure", "pitfall")
    return "project" if scope == "as stated" and about_work and not personal else scope


def _to_assistant(weighed: Weighed, heard: Hearing) -> bool:
    """Whether a statement is about how the assistant works, and not about what it makes."""
    if "manner" not in weighed.signs:
        return False
    about_things = bool(weighed.signs & {"general", "things", "must", "ruling", "ours"})
    return "imperative" in weighed.signs or bool(_BETWEEN_US.search(heard.core)) or not about_things


def _kind(weighed: Weighed, heard: Hearing) -> Kind:
    if _to_assistant(weighed, heard) or weighed.signs & {"complaint", "likes"}:
        return "preference"
    return "decision" if weighed.signs & {"ruling", "ours"} else "rule"


def _scope(weighed: Weighed, heard: Hearing) -> Scope:
    if heard.lexicon.everywhere.search(heard.core):
        told_of_things = "general" in weighed.signs and not weighed.signs & {"likes", "manner"}
        told_of_things = told_of_things and not _MINE.search(heard.core)
        return "project" if told_of_things else "everywhere"
    if "here" in weighed.signs or heard.lexicon.project.search(heard.core):
        return "project"
    of_self = "self" in weighed.signs and _I.search(heard.core)
    if "complaint" in weighed.signs and "ours" in weighed.signs and "manner" not in weighed.signs:
        return "project"
    if of_self or weighed.signs & {"complaint", "likes"}:
        return "as stated"
    if _to_assistant(weighed, heard):
        return "as stated"
    return "project" if weighed.signs & {"ruling", "ours"} else "as stated"
