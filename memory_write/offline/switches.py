"""Which tool a statement lets go of and which it takes: `we switched from pnpm to bun`; pure.

Invariant: a switch never retires a statement whose purpose is another than its own.
"""

import re
from dataclasses import dataclass

from memory_write.offline.asked_again import kept
from memory_write.offline.terms import stem, terms

_NAME = r"(?:(?:the|our|den|die|das) )?`?(?P<{0}>[\w.+#-]*\w)`?"
_GONE = re.compile(
    r"\b(?:(?:switch(?:ed|ing)?|mov(?:ed|ing)|migrat(?:ed|ing|e)|chang(?:ed|ing)|went|gone)"
    rf"(?: \w+){{0,2}}? from|instead of|rather than|anstelle von|anstatt|statt) {_NAME.format('a')}"
    rf"|\breplac(?:ed|ing|e) {_NAME.format('b')} (?:with|by)\b"
    rf"|\b(?:dropped|abandoned|ditched) {_NAME.format('c')}"
    rf"|\bvon {_NAME.format('d')} (?:auf|zu) [\w.+#-]+ (?:um\w+|gewechselt|migriert)"
    rf"|\bno longer use {_NAME.format('e')}"
)
_TAKEN = re.compile(
    r"\b(?:use|uses|using|run|runs|prefers?|to|with|by|auf|zu|mit|via|through|keep|verwende\w*"
    rf"|benutze\w*|nutze\w*|nimm|nehme\w*) {_NAME.format('a')}"
)
_REASON = re.compile(r"\b(?:because|since|as it|as they|weil|da es|,).*$")
_PLAIN = frozenset(
    stem(word)
    for word in "switched switching moved migrated changed replaced dropped ditched went "
    "last week month year yesterday today recently finally ago project repo everything "
    "alle alles sind umgestiegen gewechselt "
    "statt verwende verwenden benutze benutzen nutze nutzen run wir".split()
)


_CONFIRMS = re.compile(
    r"^(?:(?:so|and|please|also|bitte|also|und)\b[\s,]*)*(?:use|nutze|benutze|verwende|nimm)\b"
    r".*\b(?:everything|everywhere|always|all|alles|überall|immer)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The tools that a statement names, by what it says of them."""

    gone: frozenset[str]
    taken: frozenset[str]
    purpose: frozenset[str]
    """The other meaningful words: what the tool is for."""


@kept
def switch_of(lower: str) -> Switch:
    """What a lower-cased statement takes and lets go of."""
    gone = _named(_GONE, lower)
    taken = _named(_TAKEN, lower) - gone
    rest = terms(_REASON.sub("", lower)) - gone - taken - _PLAIN
    return Switch(gone=gone, taken=taken, purpose=rest)


def retires(new: Switch, old: Switch) -> bool:
    """Whether the later statement lets go of the tool that the older one takes."""
    if not new.gone & old.taken:
        return False
    return not new.purpose or not old.purpose or bool(new.purpose & old.purpose)


def confirms(switch: str, following: str) -> bool:
    """Whether a sentence only draws the consequence of the switch in front of it."""
    lower = following.lower()
    before = switch_of(switch.lower())
    after = switch_of(lower)
    return bool(
        before.gone and _CONFIRMS.match(lower) and after.taken & before.taken and not after.gone
    )


def _named(form: re.Pattern[str], lower: str) -> frozenset[str]:
    names = (name for found in form.finditer(lower) for name in found.groups() if name)
    return frozenset(term for name in names for term in terms(name))
