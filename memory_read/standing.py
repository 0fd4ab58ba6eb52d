"""Which lines of memory stand: a corrected one gives way, a forgotten or withdrawn one goes.

Pure. A correction names the line it corrects, so the line is known by its words; a note that asks
to forget something takes every line that has all the meaningful words of the request, of which
there must be two at least. A later note that says the words again lifts it. Of withdrawn threads
`withheld.py` tells what is left. All of it holds wherever memory is read, and by code alone; what
the files hold is the next consolidation's work.
"""

import copy
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

from memory_read.statements import folded, statement_of
from memory_read.withheld import WITHDRAWN, Left
from state.ids import ThreadId
from state.policy.corrections import read_correction

CORRECTED = "[corrected by the user: see the corrections, or the note that names this line]"
FORGOTTEN = "[withheld: the user asked to forget this]"
WORDS_MIN = 2
OLD_PREFIX = "Forget: "
"""How a correction quotes what no longer holds; nobody is shown that line."""
CONTAINED_CHARS_MIN = 12
"""A shorter statement is found only where it is the whole line."""
MARKS = frozenset({CORRECTED, FORGOTTEN, WITHDRAWN})
"""What stands in place of a line."""

_FORGET = re.compile(
    r"^(?:[-*]\s+)?(?:please\s+)?(?:forget|unlearn|vergiss|olvida|oublie)\b(?:\s+about|\s+that|,|:)?"
    r"\s+(?P<what>\S.*)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
# Words that say nothing of what is meant; without them "forget that I live in X" is about X.
_EMPTY = frozenset(
    "a an and any anything about all also am are as at be been but by did do does for from had has "
    "have he her his how i in is it its know like me mine my note of on or our please remember "
    "said say says she so that the their them they thing this to told use used user was we were "
    "what when where which who will with you your fact everything every".split()
)


@dataclass(frozen=True, slots=True)
class _Forgotten:
    words: frozenset[str]
    path: str


class Standing:
    """What the notes of a memory say of its other lines, and what was withdrawn from it."""

    def __init__(self, notes: Iterable[tuple[str, str]], *, worked_in: Container[str] = ()) -> None:
        """The notes are (path, text) in the order in which they were made.

        Of those that are worked in, corrections gave way to the memory that was made with them;
        what a note asks to forget holds as long as it stands.
        """
        self._worked_in = worked_in
        self._quoting: set[str] = set()
        self._corrected: dict[str, tuple[str, str]] = {}
        """By the words that were corrected: the note that did, and what it says instead."""
        self._forgotten: list[_Forgotten] = []
        self._corrections: dict[str, tuple[str, ...]] = {}
        self._left: Left | None = None
        for path, text in notes:
            self._take(path, text)
        self._outdone = frozenset(filter(self._is_outdone, self._corrections))

    @property
    def says_nothing(self) -> bool:
        """Whether every line stands as it is."""
        return self._left is None and not (self._corrected or self._forgotten or self._quoting)

    @property
    def gone(self) -> frozenset[ThreadId]:
        """The threads that were withdrawn."""
        return frozenset() if self._left is None else self._left.threads

    def within(self, left: Left | None) -> "Standing":
        """The same of a memory from which threads were withdrawn; itself where none were."""
        if left is None:
            return self
        narrowed = copy.copy(self)
        narrowed._left = left
        return narrowed

    def _take(self, path: str, text: str) -> None:
        correction = read_correction(text)
        if correction is not None:
            self._quoting.add(path)
            self._lift(correction.new)
            if path in self._worked_in:
                return
            self._corrections[path] = olds = tuple(filter(None, map(folded, correction.old)))
            for old in olds:
                self._corrected[old] = (path, folded(correction.new))
            self._corrected.pop(folded(correction.new), None)
            return
        for line in text.split("\n"):
            asked = _FORGET.match(line.strip())
            if asked is None:
                self._lift(line)
                self._corrected.pop(folded(line), None)
                continue
            words = words_of(asked["what"])
            if len(words) >= WORDS_MIN:
                self._forgotten.append(_Forgotten(words, path))

    def _lift(self, text: str) -> None:
        """Saying it again makes it stand again."""
        if self._forgotten:
            said = words_of(text)
            self._forgotten = [one for one in self._forgotten if not one.words <= said]

    def _is_outdone(self, path: str) -> bool:
        """Whether later corrections put right all that this one did."""
        found = [self._corrected.get(old, (path, ""))[0] for old in self._corrections[path]]
        return bool(found) and path not in found

    def instead_of(self, line: str, *, path: str) -> str | None:
        """What stands in place of a line of that file; None when the line stands."""
        if self.says_nothing or not line.strip() or line in MARKS:
            return None
        if self._left is not None and not self._left.stands(line, path=path):
            return WITHDRAWN
        if self._forgotten:
            words = words_of(line)
            if any(one.words <= words for one in self._forgotten):
                return FORGOTTEN
        if path in self._quoting and line.startswith(OLD_PREFIX):
            return CORRECTED
        if path in self._outdone:
            return CORRECTED
        said = folded(line)
        for old, (note, new) in self._corrected.items():
            if note == path or (new and new in said):
                continue  # the note itself, or a line that was put right already
            if said == old or (len(old) >= CONTAINED_CHARS_MIN and old in said):
                return CORRECTED
        return None

    def hides(self, path: str) -> bool:
        """Whether a file is one that was withdrawn, or its very name says what is forgotten."""
        if self._left is not None and self._left.hides(path):
            return True
        if not self._forgotten:
            return False
        words = words_of(path.rpartition("/")[2].removesuffix(".md").replace("-", " "))
        return any(one.words <= words for one in self._forgotten)

    def shown(self, text: str, *, path: str) -> str | None:
        """A piece of a file as it may be found; None when nothing of it stands."""
        if self.says_nothing:
            return text
        cleaned = None if self.hides(path) else self.cleaned(text, path=path)
        return cleaned if cleaned and any(map(_stands, cleaned.split("\n"))) else None

    def cleaned(self, text: str, *, path: str) -> str:
        """A text with each line that no longer stands replaced; line numbers stay."""
        if self.says_nothing:
            return text
        lines = text.split("\n")
        return "\n".join(
            line if (other := self.instead_of(line, path=path)) is None else other for line in lines
        )


def _stands(line: str) -> bool:
    return bool(line.strip()) and line.strip() not in MARKS


def asks_to_forget(text: str) -> bool:
    """Whether a line of a note asks to forget something."""
    return any(_FORGET.match(line.strip()) for line in text.split("\n"))


def changes_others(text: str) -> bool:
    """Whether a note is about what others say: it corrects or forgets."""
    return read_correction(text) is not None or asks_to_forget(text)


def words_of(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning, without plural endings."""
    found = (_stem(word.casefold()) for word in _WORD.findall(statement_of(text) or text))
    return frozenset(word for word in found if word not in _EMPTY and len(word) > 1)


def _stem(word: str) -> str:
    word = word.replace("\u2019", "'").removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
