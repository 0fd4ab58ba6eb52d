"""Duplicates become one entry, and what a later statement replaces goes; pure and order-stable.

Two statements are compared by their meaningful words, their polarity, and a few families of rival
choices (tabs or spaces, British or American). A statement never replaces one with a wider or
different condition: it takes the same words, or a form that names what it retires.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from memory_write.offline.judge import Kind, Scope
from memory_write.offline.terms import stem, terms

SAME_SHARE_MIN = 0.8
RIVAL_SHARE_MIN = 0.5
NUMBER_SHARE_MIN = 0.7

_RIVALS: tuple[frozenset[str], ...] = tuple(
    frozenset(stem(word) for word in family.split())
    for family in (
        "tab space",
        "british american australian",
        "celsius fahrenheit kelvin",
        "metric imperial",
        "npm pnpm yarn bun",
        "pip uv poetry pipenv conda",
        "single double",
        "short long brief detailed concise verbose",
        "small big large huge",
        "postgres mysql sqlite mongodb mariadb",
        "dark light",
        "vim emacs vscode neovim nano",
        "black ruff yapf",
        "pytest unittest nose",
        "jest vitest mocha",
        "rebase merge",
        "english german french spanish italian chinese",
        "camelcase snake_case",
        "trunk main master develop",
    )
)
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|don't|doesn't|do not|without|avoid|mustn't|shouldn't|cannot|can't|stop"
    r"|hate|hates|dislike|dislikes|no longer|nicht|kein|keine|nie|nunca|jamás|sans|jamais|pas)\b"
    r"|不|别"
)
_RETIRES = re.compile(
    r"\b(?:instead of|rather than|no longer(?: \w+)?|not any ?more|don't \w+|do not \w+"
    r"|doesn't \w+|, not|switched from|moved (?:away )?from|anstelle von|statt|en lugar de"
    r"|en vez de|au lieu d[e'])\s+(.{2,60}?)(?=[,.;]| any ?more| to | but |$)|而不是(.{1,20})"
)
_SLOTS = tuple(
    re.compile(form)
    for form in (
        r"\b(?:live[sd]?|living|based|resides?|moved|relocated|located) (?:in|to|at|near)\b"
        r"|\b(?:wohne|lebe) in\b|\bvivo en\b|\bj'habite\b|住在",
        r"\b(?:name is|call me|mein name ist|me llamo|je m'appelle)\b|我叫",
        r"\bworks? (?:at|for)\b",
        r"\btime ?zone\b",
        r"\beditor is\b",
        r"\b(?:test runner|test command|tests? (?:are |is )?(?:run|executed|started)"
        r" (?:with|by|via|through)|to run (?:the |all )?tests|run (?:the |all )?tests"
        r" (?:with|via|using)|test with|runs the tests|we run the tests)\b",
        r"\bpackage manager\b",
        r"\b(?:default|main) branch\b",
        r"\bport (?:is|of .{1,20} is)\b",
    )
)
"""Questions that have one answer at a time: where somebody lives, what runs the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One statement with where it was said."""

    text: str
    quote: str
    kind: Kind
    scope: Scope
    cwd: str
    said_at: str
    """RFC 3339; entries are compared in the order of this and of `place`."""
    place: int
    sources: tuple[str, ...] = field(default=())
    """Thread ids, oldest first."""


def merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What still stands, each once, in the order in which it was first said."""
    standing: list[Entry] = []
    for entry in sorted(entries, key=lambda one: (one.said_at, one.place, one.text)):
        _take(standing, entry)
    return tuple(standing)


def _take(standing: list[Entry], new: Entry) -> None:
    survivors: list[Entry] = []
    place: int | None = None
    for old in standing:
        if not _comparable(old, new):
            survivors.append(old)
        elif _same(old, new):
            if place is None:
                place = len(survivors)
                survivors.append(old)
            sources = dict.fromkeys((*survivors[place].sources, *old.sources, *new.sources))
            survivors[place] = replace(_wider(survivors[place], new), sources=tuple(sources))
        elif not _replaces(old, new):
            survivors.append(old)
    if place is None:
        survivors.append(new)
    standing[:] = survivors


def _wider(old: Entry, new: Entry) -> Entry:
    """Of two wordings the later, unless it says less; the scope that was stated wins."""
    said_more = len(terms(old.text)) > len(terms(new.text))
    kept = old if said_more else replace(new, said_at=old.said_at, place=old.place)
    scope = new.scope if new.scope != "as stated" else old.scope
    return replace(kept, scope=scope, cwd=old.cwd)


def _comparable(old: Entry, new: Entry) -> bool:
    if old.cwd == new.cwd:
        return True
    return old.scope != "project" and new.scope != "project"


def _same(old: Entry, new: Entry) -> bool:
    if old.text == new.text:
        return True
    a, b = terms(old.text), terms(new.text)
    if not a or not b or _negative(old) != _negative(new):
        return False
    return _share(a, b) >= SAME_SHARE_MIN or (len(min(a, b, key=len)) >= 2 and (a <= b or b <= a))


def _replaces(old: Entry, new: Entry) -> bool:
    a, b = terms(old.text), terms(new.text)
    if _share(a, b) >= SAME_SHARE_MIN:
        return True  # the same words with the other polarity
    if _same_slot(old.text.lower(), new.text.lower()):
        return True
    retired = _retired(new.text)
    if retired and not _negative(old) and retired <= a and (a - retired) <= b:
        return True
    for family in _RIVALS:
        mine, theirs = a & family, b & family
        if mine and theirs and not mine & theirs:
            rest_a, rest_b = a - family, b - family
            if rest_a == rest_b or _share(rest_a, rest_b) >= RIVAL_SHARE_MIN:
                return True
    return _other_number(a, b)


def _other_number(a: frozenset[str], b: frozenset[str]) -> bool:
    numbers_a, numbers_b = _numbers(a), _numbers(b)
    if not numbers_a or not numbers_b or numbers_a == numbers_b:
        return False
    return _share(a - numbers_a, b - numbers_b) >= NUMBER_SHARE_MIN


def _same_slot(old: str, new: str) -> bool:
    return any(form.search(old) and form.search(new) for form in _SLOTS)


def _retired(text: str) -> frozenset[str]:
    found: set[str] = set()
    for retiring in _RETIRES.finditer(text.lower()):
        found.update(terms(retiring.group(1) or retiring.group(2) or ""))
    return frozenset(found)


def _negative(entry: Entry) -> bool:
    return bool(_NEGATIVE.search(entry.text.lower().replace("’", "'")))


def _numbers(found: Iterable[str]) -> frozenset[str]:
    return frozenset(one for one in found if one.replace(".", "").isdigit())


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0


def by_source(entries: Sequence[Entry], thread_id: str) -> tuple[Entry, ...]:
    """The entries that a thread supports."""
    return tuple(entry for entry in entries if thread_id in entry.sources)
