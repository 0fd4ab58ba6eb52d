"""From a text to the stems it is found by, whatever its language.

Pure. Words of scripts with spaces are folded and stemmed, compounds and identifiers count whole and
in parts, scripts without spaces count by pairs of characters. The only owner of PyStemmer.
Invariant: a stem is made of letters and digits alone, so that none is syntax of a query.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import Protocol

from memory_read.irregular import BASE_FORMS

MADE_BY = "4"
"""Raised with every change of stems or units, so that an index of other ones is made anew."""
STEM_CHARS_MAX = 40
"""What is longer is no word that anyone asks for; its beginning is kept."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_OWNER = re.compile(r"(?<=\w)['\u2019]s\b")
# Han, kana and their extensions, Thai, Lao, Khmer and Myanmar put no spaces between words.
_PAIRED = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff"
    r"\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff]+"
)
_STEMMED_CHARS_MIN = 4
_MEMO_MAX = 32_768

_FUNCTION_WORDS = frozenset(
    """
    a about all also am an and any are as at be been but by can could did do does doing for from
    had has have he her him his how i if in into is it its just me my of on or our she should so
    some than that the their them then there these they this those to up us was we were what when
    where which who whom whose why will with would you your
    aber als am auch auf aus bei das dass dem den der des die dir doch du ein eine einem einen
    einer er es hat ich ihr im ist ja kann man mein mich mir mit nach nicht noch oder sie sind so
    und uns von war was welche welcher wenn wer wie wir wird wo zu zum zur
    al como con cual cuando de del donde el ella en es esta esto fue ha hay la las lo los más me mi
    no nos o para pero por porque que quien se si sin sobre son su te un una y ya
    au aux avec ce ces dans des elle est et il ils je le les leur lui ma mais mes moi mon ne nous
    on ont ou où par pas pour qu quand quel quelle qui sa ses son sont sur ta toi tu une vous
    """.split()
)


def stems(text: str) -> tuple[str, ...]:
    """Every stem of a text, in its order."""
    return tuple(chain.from_iterable(map(_stems_of, _words(text))))


def asked_stems(text: str) -> tuple[str, ...]:
    """The stems of a question without the words that say nothing of its subject, each once.

    A question of such words alone keeps them.
    """
    words = _words(text)
    telling = [word for word in words if word.casefold() not in _FUNCTION_WORDS]
    return tuple(dict.fromkeys(chain.from_iterable(map(_stems_of, telling or words))))


def _words(text: str) -> list[str]:
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _WORD.findall(_OWNER.sub("", text))


@lru_cache(_MEMO_MAX)
def _stems_of(word: str) -> tuple[str, ...]:
    """The stems of one word as written: of its parts, and of a compound as a whole."""
    parts = _PART.findall(_HUMP.sub("-", word).casefold())
    found = [stem for part in parts for stem in _pairs(part)]
    if len(parts) > 1:
        found.append(_stem("".join(parts)))
    return tuple(found)


def _pairs(part: str) -> Iterator[str]:
    """A part as it is, its runs of characters without spaces two by two."""
    end = 0
    for run in _PAIRED.finditer(part) if not part.isascii() else ():
        if run.start() > end:
            yield _stem(part[end : run.start()])
        characters = run[0]
        if len(characters) == 1:
            yield characters
        for one, following in pairwise(characters):
            yield one + following
        end = run.end()
    if end < len(part):
        yield _stem(part[end:])


def _stem(word: str) -> str:
    word = BASE_FORMS.get(word, word)
    if len(word) < _STEMMED_CHARS_MIN or not word.isalpha():
        return word[:STEM_CHARS_MAX]
    return _stemmer().stemWord(word[:STEM_CHARS_MAX])


def _stemmer() -> "Stemmer":
    """English of every text: other languages lose fewer endings, and alike on both sides."""
    found: Stemmer | None = getattr(_OF_THREAD, "stemmer", None)
    if found is None:
        from Stemmer import Stemmer as Snowball

        found = _OF_THREAD.stemmer = Snowball("english")
    return found


class Stemmer(Protocol):
    """What we use of the library; one object is for one thread only."""

    def stemWord(self, word: str, /) -> str:
        """The word without its endings."""
        ...


_OF_THREAD = threading.local()
