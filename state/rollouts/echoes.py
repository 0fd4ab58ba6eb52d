"""What of a text repeats words that memory said, and the text without it. Pure.

A thread that was told of memory may say it again in a summary of itself, and what is withdrawn
later would come back with that. So the words of memory are kept as marks: runs of words, as
numbers, never as text. Invariant: a sentence of `Marks.cut` holds no marked run, unless somebody
else in the thread said that run too: the user, or a file or command that was looked at.
"""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

RUN_WORDS_MAX = 8
"""So many words in a row are nobody's by chance."""
RUN_WORDS_MIN = 4
"""Fewer are marked only as a whole sentence."""
MARKS_MAX = 65_536
"""Of one thread; the oldest go."""
PENDING_CHARS_MAX = 65_536
"""So much text waits by reference before it is made into marks."""
OWN_CHARS_MAX = 1_048_576
"""So much of what others said is looked through, the newest."""

_WORD = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_VERIFY = re.compile(r" ?\[\d{4}-\d\d-\d\d: verify\]")
# What a search prints before a line: its file and number.
_PLACE = re.compile(r"^(?:[\w./-]+\.\w+)?[:-]?\d+[:\t-] ?")
_FRAME = re.compile(r"^={5,}.*={5,}$")
_CLAUSE = re.compile(
    r"[.;:!?]+(?=\s|$)|[()\[\]|\"“”„«»\u3002\uff1b\uff1a\uff01\uff1f]+|\s(?:—|\u2013|->|→)\s"
)
# Keys of a look-up's answer that hold the question or a place, not what memory said.
_NOT_SAID = frozenset(
    "query queries matched_queries match_mode path next_cursor entry_type thread_ids".split()
)
_BULLET = re.compile(r"\W*\d{0,3}\W*")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|(?<=[\u3002\uff1b\uff01\uff1f])")


@dataclass(frozen=True, slots=True)
class Cut:
    """A text without the sentences that repeat memory."""

    text: str
    sentences: int
    """How many were left out."""


class Said:
    """What memory said in one thread: its newest text by reference, the rest as marks."""

    def __init__(self) -> None:
        self._marks: array[int] = array("q")
        self._pending: list[str] = []
        self._chars = 0
        self._folding = Lock()

    def add(self, text: str) -> None:
        """Memory said this; the parts of one section come joined."""
        if text:
            self._pending.append(text)
            self._chars += len(text)
            if self._chars > PENDING_CHARS_MAX:
                self.fold()

    def fold(self) -> None:
        """Let go of the text and keep its marks, as when it was withdrawn."""
        with self._folding:
            pending, self._pending, self._chars = self._pending, [], 0
            marks = dict.fromkeys(self._marks)
            for text in pending:
                marks.update(dict.fromkeys(sorted(_marks_of(text))))
            self._marks = array("q", list(marks)[-MARKS_MAX:])

    def marks(self, own: Iterable[str]) -> "Marks":
        """What is memory's alone: marks without the runs in what others said, the newest last."""
        self.fold()
        left, found = OWN_CHARS_MAX, set(self._marks)
        for text in reversed(list(own)) if found else ():
            found.difference_update(_all_runs(text[-left:]))
            left -= len(text)
            if left <= 0:
                break
        return Marks(frozenset(found))


@dataclass(frozen=True, slots=True)
class Marks:
    """Runs of words that are memory's alone."""

    runs: frozenset[int]

    def cut(self, text: str) -> Cut:
        """The text without the sentences that hold such a run; whole lines go with their break."""
        if not self.runs:
            return Cut(text, 0)
        lines = [_SENTENCE.split(line) for line in text.split("\n")]
        sentences = [sentence for line in lines for sentence in line]
        marked = self._marked(sentences)
        kept, place = [], 0
        for line in lines:
            left = [one for at, one in enumerate(line, place) if at not in marked]
            place += len(line)
            if len(left) == len(line) or not _BULLET.fullmatch(" ".join(left)):
                kept.append(" ".join(left))
        return Cut("\n".join(kept) if marked else text, len(marked))

    def _marked(self, sentences: Sequence[str]) -> set[int]:
        """The places of the sentences to leave out; a run may reach from one into the next."""
        words: list[str] = []
        owner: list[int] = []
        found: set[int] = set()
        for place, sentence in enumerate(sentences):
            own = _words(sentence)
            words.extend(own)
            owner.extend([place] * len(own))
            if any(_whole(clause) in self.runs for clause in (own, *_clauses(sentence))):
                found.add(place)
        for start, run in _runs(words):
            if hash(run) in self.runs:
                found.update(owner[start : start + len(run)])
        return found


def _marks_of(text: str) -> set[int]:
    found: set[int] = set()
    for line in _lines(text):
        words = _words(line)
        for start in range(len(words) - RUN_WORDS_MAX + 1):
            found.add(hash(tuple(words[start : start + RUN_WORDS_MAX])))
        for clause in (words, *_clauses(line)):
            if clause and len(clause) < RUN_WORDS_MIN:
                found.add(_whole(clause))
            elif clause and len(clause) <= RUN_WORDS_MAX:
                found.add(hash(tuple(clause)))
    return found


def _all_runs(text: str) -> Iterator[int]:
    """Every run of every length, as others may have said it."""
    words = _words(text)
    for _, run in _runs(words):
        yield hash(run)
    for length in range(1, RUN_WORDS_MIN):
        for start in range(len(words) - length + 1):
            yield _whole(words[start : start + length])


def _runs(words: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for length in range(RUN_WORDS_MIN, RUN_WORDS_MAX + 1):
        for start in range(len(words) - length + 1):
            yield start, tuple(words[start : start + length])


def _whole(words: Sequence[str]) -> int:
    """A short sentence from its beginning to its end; no other run has this mark."""
    return hash(("=", *words)) if words else 0


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _clauses(line: str) -> list[list[str]]:
    return [_words(clause) for clause in _CLAUSE.split(line)]


def _lines(text: str) -> Iterator[str]:
    """The lines of what memory said; a look-up answers with an object that holds them."""
    for one in _texts(text):
        for line in one.split("\n"):
            plain = _VERIFY.sub("", _PLACE.sub("", line.strip()))
            if plain and not _FRAME.match(plain):
                yield plain


def _texts(text: str) -> Iterator[str]:
    if not text.lstrip().startswith("{"):
        yield _framed(text)
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield text.replace("\\n", "\n").replace('\\"', '"')
        return
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(value for key, value in one.items() if key not in _NOT_SAID)


def _framed(text: str) -> str:
    """What stands between the first and the last frame of a section: memory without our rules."""
    lines = text.split("\n")
    frames = [place for place, line in enumerate(lines) if _FRAME.match(line.strip())]
    return "\n".join(lines[frames[0] : frames[-1] + 1]) if len(frames) > 1 else text
