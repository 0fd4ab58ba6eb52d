"""Which inputs a text rests on, told from its words alone; pure.

Invariant: a text that only what went can support is never called supported; in doubt the answer is
that it went, since a rebuild brings back what the remaining inputs say, and nothing brings back a
promise to forget.
"""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

SENTENCES_MAX = 20_000
WORDS_MAX = 200_000
"""Of all that went in the life of a process; a mark takes about 100 bytes."""
STEM_MIN = 5
WORD_MIN = 4
# A third of the words of a statement known from nowhere else: the statement is not from elsewhere.
SHARE_GONE = 1 / 3
SHARE_SUPPORTED = 1 / 3
SHARE_OWN = 0.6
LIKENESS = 0.75
LIKENESS_LEAD = 0.2
_KEY = secrets.token_bytes(32)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ENDINGS = ("ing", "ed", "es", "s", "e")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FORM = re.compile(r"^(?:cwd|git_branch|task|task_group|applies_to|scope): .*$", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?;]\s+|[\u3002\uff01\uff1f\uff1b]|\n")
_COMMON = frozenset(
    """
    a about above after again against ago all almost along already also although always am among an
    and another any anyone anything are around as ask asked at away back be because been before
    being below best better between both but by call came can cannot change check come could day
    days did different do does doing done down during each either else end enough even ever every
    everything fact fail fails file files find first follow for found from full gave get give given
    go goes going gone good got had has have having help her here him his how however if in into is
    it its itself just keep keeps kept kind know knows large last late later least left less let
    like line lines list little long look made make makes many may me means might mode more most
    much must my need needs never new next no none not note nothing now of off often old on once one
    only open or order other others our out over own part place please point put rather read ready
    really reason rest right run runs said same saw say says second see seem seen set several she
    should show shows side since small so some something soon start state states still stop such
    sure take taken tell than that the their them then there these they thing things this those
    though three through time times to together told too took try turn two under until up upon us
    use used uses using very via want wants was way we well went were what when where whether which
    while who whole whose why will with within without word words work works worked would write
    written yes yet you your
    answer assistant agent applies block bullet cwd decision desc description keyword keywords
    learning learnings memory outcome partial preference preferences prefer prefers profile project
    related reusable reuse rollout rule rules scope session signal signals skill source sources
    stated statement summary success task thread tip topic topics uncertain unknown updated user
    aber als auch auf aus bei das dass dem den der des die ein eine einen einer er es fuer hat ich
    im immer ist kein mit nicht noch nur oder sich sie sind und uns von vor war was wenn wie wir zu
    zum zur avec ce cette dans de des du elle en est et il ils je la le les leur mais ne nous on ou
    par pas plus pour que qui sans ses son sur toujours tout un une vous al como con cuando del el
    ella en eran es esta este la las lo los mas muy no nos para pero por porque que se ser si
    siempre sin sobre su sus todo un una y ya
    """.split()
)


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say something: one case, no accents, ends of inflection off."""
    flat = _CAMEL.sub(" ", text if text.isascii() else unicodedata.normalize("NFKC", text))
    if not text.isascii():
        flat = _ACCENTS.sub("", unicodedata.normalize("NFKD", flat))
    found: set[str] = set()
    for word in frozenset(_WORD.findall(flat.casefold())) - _COMMON:
        wide = () if word.isascii() else _WIDE.findall(word)
        for run in wide:
            found.update(run[place : place + 2] for place in range(max(1, len(run) - 1)))
        if not wide:
            found.add(_stem(word))
    return frozenset(found)


def sentences_of(text: str) -> tuple[frozenset[str], ...]:
    """The words of each sentence or line that has at least two."""
    pieces = (words_of(piece) for piece in _SENTENCE.split(text))
    return tuple(piece for piece in pieces if len(piece) > 1)


@dataclass(frozen=True, slots=True)
class Trace:
    """What is left of a text that went: marks of its words under a key of this process.

    It recognises the text where it comes back, and gives none of it away.
    """

    words: frozenset[bytes] = frozenset()
    sentences: tuple[frozenset[bytes], ...] = ()

    def joined(self, other: "Trace") -> "Trace":
        """Both, of which the other went before; of very many words and sentences the latest."""
        sentences = tuple(dict.fromkeys((*other.sentences, *self.sentences)))
        room = max(0, WORDS_MAX - len(self.words))
        words = self.words.union(islice(other.words - self.words, room))
        return Trace(words, sentences[-SENTENCES_MAX:])


def trace_of(texts: Iterable[str]) -> Trace:
    """The marks of these texts; lines of pure form are no sentences."""
    known = tuple(texts)
    return Trace(
        frozenset(_mark(word) for word in _all_words(known)),
        tuple(
            frozenset(map(_mark, one))
            for text in known
            for one in sentences_of(_FORM.sub("", text))
        ),
    )


@dataclass(frozen=True)
class Evidence:
    """The traces of inputs that went, and the texts of all that remains."""

    gone: Trace
    kept_texts: tuple[str, ...]
    echoes: tuple[str, ...] = ()
    """What memory itself says of the inputs that remain: it can carry a text, not clear it."""

    @cached_property
    def only_gone(self) -> frozenset[bytes]:
        """The marks of words that nothing of what remains has."""
        return (
            self.gone.words - frozenset(map(_mark, self.kept)) if self.gone.words else frozenset()
        )

    @cached_property
    def kept(self) -> frozenset[str]:
        """The words of what remains."""
        return _all_words(self.kept_texts)

    @cached_property
    def _kept_sentences(self) -> tuple[frozenset[str], ...]:
        return tuple(one for text in self.kept_texts for one in sentences_of(text))

    @cached_property
    def _carrying(self) -> frozenset[str]:
        return self.kept | (_all_words(self.echoes) - self._only(_all_words(self.echoes)))

    def with_echoes(self, texts: Iterable[str]) -> "Evidence":
        """The same with what memory says by now of the inputs that remain."""
        other = Evidence(self.gone, self.kept_texts, (*self.echoes, *texts))
        # Only what rests on the echoes is reckoned anew.
        shared = {name: value for name, value in vars(self).items() if name in _SHARED}
        vars(other).update(shared)
        return other

    @cached_property
    def _judged(self) -> dict[str, bool]:
        """Texts that were asked for, since many come more than once."""
        return {}

    def is_gone(self, text: str) -> bool:
        """Whether a text of good standing says what only the inputs that went say."""
        if text not in self._judged:
            self._judged[text] = self._is_gone(text)
        return self._judged[text]

    def _is_gone(self, text: str) -> bool:
        words = words_of(_ID.sub(" ", text))
        only = self._only(words)
        if any(_is_name(word) for word in only) or len(only) > len(words) * SHARE_GONE:
            return True
        return len(words) > 1 and self._is_copy(words)

    def may_be_gone(self, text: str) -> bool:
        """The same for a text that names no source: one telling word is enough."""
        words = words_of(_ID.sub(" ", text))
        return any(len(word) >= WORD_MIN for word in self._only(words)) or self.is_gone(text)

    def is_unsupported(self, text: str) -> bool:
        """Whether hardly a word of it stands in what remains."""
        words = words_of(_ID.sub(" ", text))
        return len(words) > 1 and len(words & self._carrying) < len(words) * SHARE_SUPPORTED

    def is_supported(self, text: str) -> bool:
        """Whether what remains has most of its words, and what went none of its own."""
        words = words_of(_ID.sub(" ", text))
        if len(words & self._carrying) < len(words) * SHARE_OWN:
            return False
        return not self.may_be_gone(text)

    @cached_property
    def _known(self) -> dict[str, bool]:
        """Words that were asked for, and whether nothing of what remains has them."""
        return dict.fromkeys(self.kept, False)

    def _only(self, words: frozenset[str]) -> frozenset[str]:
        if not self.only_gone:
            return frozenset()
        known = self._known
        for word in words:
            if word not in known:
                known[word] = _mark(word) in self.only_gone
        return frozenset(word for word in words if known[word])

    def _is_copy(self, words: frozenset[str]) -> bool:
        marks = frozenset(map(_mark, words))
        most = max((len(marks & one) for one in self.gone.sentences), default=0)
        if most < LIKENESS * len(words):
            return False
        # Most such lines are matter of form, and the first input that remains has them as well.
        enough = most - LIKENESS_LEAD * len(words)
        return not any(len(words & one) >= enough for one in self._kept_sentences)


_SHARED = frozenset({"only_gone", "kept", "_kept_sentences", "_known", "_judged"})


def _mark(word: str) -> bytes:
    return hashlib.blake2b(word.encode(), key=_KEY, digest_size=8).digest()


def _all_words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in words_of(text))


def _is_name(word: str) -> bool:
    """Digits in it: a number, a version, a ticket, a host; such a word is not met by chance."""
    return len(word) > 1 and any(char.isdigit() for char in word)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if len(word) >= STEM_MIN and word.endswith(ending):
            return word.removesuffix(ending)
    return word
