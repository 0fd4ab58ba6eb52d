"""Duplicates become one entry, and what a later statement replaces goes; pure and order-stable.

Two statements are compared by their meaningful words, their polarity, and a few families of rival
choices (tabs or spaces, British or American). A statement never replaces one with a wider or
different condition: it takes the same words, or a form that names what it retires.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from memory_write.offline.judge import Kind, Scope
from memory_write.offline.switches import Switch, retires, switch_of
from memory_write.offline.terms import stem, terms
from state.policy.portable import may_mean

NOTE_TAG = "[ad-hoc note]"
SAME_SHARE_MIN = 0.8
RIVAL_SHARE_MIN = 0.5
NUMBER_SHARE_MIN = 0.7
# Above this the oldest are left out: every pair that shares a word is compared.
ENTRIES_MAX = 3_000

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
_PERMITS = re.compile(
    r"^(?:(?:actually|now|from now on|ab jetzt|ab sofort),? )?"
    r"(?:(?:you (?:can|may|are allowed to|are free to)|feel free to|(?:du |sie )?(?:darfst|dürfen)"
    r"|(?:ya )?puedes|tu peux)\b|你?可以)\s?(.{2,60}?)(?=[,.;，。；]|$)"
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
    disputed: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())
    """Of a note: what a model made of sessions that says otherwise, each with its sources."""

    @property
    def is_note(self) -> bool:
        """Whether the user asked in plain words to have it remembered."""
        return self.text.endswith(NOTE_TAG)

    @property
    def is_inferred(self) -> bool:
        """Whether no word of the user stands behind it, only what a model made of a session."""
        return not self.quote and not self.is_note


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What is compared of an entry, worked out once."""

    words: frozenset[str]
    numbers: frozenset[str]
    negative: bool
    slots: frozenset[str]
    families: frozenset[str]
    retired: frozenset[str]
    permitted: frozenset[str]
    """What may be done by the statement, as `you can push now` says of a ban on it."""
    switch: Switch

    @property
    def marks(self) -> frozenset[str]:
        """Two entries without a mark in common have nothing to do with each other."""
        return self.words | self.slots | self.families


class _Standing:
    """The entries that stand, found by the words they hold."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Entry, _View]] = {}
        self._by_mark: dict[str, set[int]] = {}
        self._next = 0

    def entries(self) -> tuple[Entry, ...]:
        """In the order in which they were first said."""
        return tuple(self._entries[number][0] for number in sorted(self._entries))

    def take(self, new: Entry) -> None:
        """Let a later entry join its duplicates and put away what it replaces."""
        view = _view(new)
        kept: int | None = None
        for number in self._near(view):
            old, old_view = self._entries[number]
            comparable = _comparable(old, new)
            if not (comparable or _may_be_of_one_project(old, new)):
                continue
            if old.text == new.text or _same(old_view, view):
                if kept is None:
                    kept = number
                    self._put(number, _joined(old, new))
                else:
                    self._put(kept, _joined(self._entries[kept][0], old))
                    self._drop(number)
            elif not comparable:
                continue
            elif _replaces(old_view, view) or (
                old.cwd == new.cwd
                and not old_view.negative
                and retires(view.switch, old_view.switch)
            ):
                if old.is_note and new.is_inferred:
                    # The user's word stands, however sure a model was; both are told.
                    self._put(number, _disputed(old, new))
                    return
                if new.is_note and old.is_inferred:
                    new = _disputed(new, old)
                self._drop(number)
        if kept is None:
            self._put(self._next, new)
            self._next += 1

    def _near(self, view: _View) -> list[int]:
        return sorted({one for mark in view.marks for one in self._by_mark.get(mark, ())})

    def _put(self, number: int, entry: Entry) -> None:
        self._drop(number)
        view = _view(entry)
        self._entries[number] = (entry, view)
        for mark in view.marks:
            self._by_mark.setdefault(mark, set()).add(number)

    def _drop(self, number: int) -> None:
        gone = self._entries.pop(number, None)
        for mark in gone[1].marks if gone else ():
            self._by_mark[mark].discard(number)


def merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What still stands, each once, in the order in which it was first said."""
    standing = _Standing()
    ordered = sorted(entries, key=lambda one: (one.said_at, one.place, one.text))
    for entry in ordered[-ENTRIES_MAX:]:
        standing.take(entry)
    return standing.entries()


def _view(entry: Entry) -> _View:
    text = entry.text.removesuffix(NOTE_TAG)
    lower = text.lower().replace("’", "'")
    words = terms(text) or frozenset((lower,))
    return _View(
        words=words,
        numbers=frozenset(one for one in words if one.replace(".", "").isdigit()),
        negative=bool(_NEGATIVE.search(lower)),
        slots=frozenset(f"slot {n}" for n, form in enumerate(_SLOTS) if form.search(lower)),
        families=frozenset(f"family {n}" for n, one in enumerate(_RIVALS) if words & one),
        retired=_retired(lower),
        permitted=_permitted(lower),
        switch=switch_of(lower),
    )


def _disputed(note: Entry, other: Entry) -> Entry:
    return replace(note, disputed=(*note.disputed, (other.text, other.sources)))


def _joined(old: Entry, new: Entry) -> Entry:
    """Of two wordings the later, unless it says less; the scope that was stated wins."""
    said_more = len(terms(old.text)) > len(terms(new.text))
    kept = old if said_more else replace(new, said_at=old.said_at, place=old.place)
    return replace(
        kept,
        scope=new.scope if new.scope != "as stated" else old.scope,
        cwd=new.cwd if may_mean(old.cwd, new.cwd) else old.cwd,
        sources=tuple(dict.fromkeys((*old.sources, *new.sources))),
    )


def _comparable(old: Entry, new: Entry) -> bool:
    if old.cwd == new.cwd:
        return True
    return old.scope != "project" and new.scope != "project"


def _may_be_of_one_project(old: Entry, new: Entry) -> bool:
    """Whether one was restored from a folder that is called like that of the other.

    It is enough for the same statement to be told once. What differs may be of two projects.
    """
    return may_mean(old.cwd, new.cwd) or may_mean(new.cwd, old.cwd)


def _same(old: _View, new: _View) -> bool:
    a, b = old.words, new.words
    if old.negative != new.negative:
        return False
    return _share(a, b) >= SAME_SHARE_MIN or (min(len(a), len(b)) >= 2 and (a <= b or b <= a))


def _replaces(old: _View, new: _View) -> bool:
    a, b = old.words, new.words
    if _share(a, b) >= SAME_SHARE_MIN:
        return True  # the same words with the other polarity
    if old.slots & new.slots:
        return True
    if old.negative and new.permitted and _share(a, new.permitted) >= SAME_SHARE_MIN:
        return True
    if new.negative and old.permitted and _share(old.permitted, b) >= SAME_SHARE_MIN:
        return True
    if new.retired and not old.negative and new.retired <= a and (a - new.retired) <= b:
        return True
    for number, family in enumerate(_RIVALS):
        if f"family {number}" in old.families & new.families and not a & b & family:
            rest_a, rest_b = a - family, b - family
            if rest_a == rest_b or _share(rest_a, rest_b) >= RIVAL_SHARE_MIN:
                return True
    if not old.numbers or not new.numbers or old.numbers == new.numbers:
        return False
    return _share(a - old.numbers, b - new.numbers) >= NUMBER_SHARE_MIN


def _retired(lower: str) -> frozenset[str]:
    found: set[str] = set()
    for retiring in _RETIRES.finditer(lower):
        found.update(terms(retiring.group(1) or retiring.group(2) or ""))
    return frozenset(found)


def _permitted(lower: str) -> frozenset[str]:
    found = _PERMITS.search(lower)
    return terms(found[1]) if found and not _NEGATIVE.search(found[0]) else frozenset()


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0


def by_source(entries: Sequence[Entry], thread_id: str) -> tuple[Entry, ...]:
    """The entries that a thread supports."""
    return tuple(entry for entry in entries if thread_id in entry.sources)
