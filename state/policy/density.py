"""How many model tokens a text may really take, and a cut that keeps to that.

Four bytes a token holds for prose. Minified JSON, encoded bytes, digits and scripts without spaces
take more, so text is counted by its runs of characters. Invariant: the count never lies below the
plain one, and a text that was fitted never counts above what it was fitted to.
"""

import math
import re

from state.policy.budget import BYTES_PER_TOKEN, estimate_tokens, truncate_middle

# Measured against two public vocabularies: prose 1.1 to 1.3 times their count, minified JSON 1.1,
# base64 and identifiers 1.0 to 1.3, Chinese and Japanese 1.3 to 1.8.
WORD_CHARS_FREE = 6
WORD_CHARS_PER_TOKEN = 4
DIGITS_PER_TOKEN = 3
ENCODED_CHARS_PER_TOKEN = 1.35
MARKS_FREE = 2
TOKENS_PER_MARK = 0.7
TOKENS_PER_WIDE = 1.15
TOKENS_PER_OTHER = 0.6
TOKENS_PER_ASTRAL = 3.2

_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_CASE_CHANGE = re.compile(r"[a-z][A-Z0-9]|[0-9][A-Za-z]|[A-Z][a-z]?[A-Z0-9]")
_CASE_SHARE = 5
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"[0-9]+")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_SPACE = re.compile(r"\n+|[ \t\r\f\v]{2,}")
_OTHER = re.compile(r"[\x80-\u2e7f]")
_WIDE = re.compile(r"[\u2e80-\uffff]")
_ASTRAL = re.compile(r"[\U00010000-\U0010ffff]")
_FITTINGS_MAX = 24

PIECE_CHARS = 32_768
"""Counted at a time: a long run of a pattern would let no other thread work meanwhile."""


def dense_tokens(text: str) -> int:
    """The model tokens of a text, counted so that a real vocabulary seldom needs more."""
    pieces = range(0, len(text), PIECE_CHARS)
    total = sum(_counted(text[start : start + PIECE_CHARS]) for start in pieces)
    return max(math.ceil(total), estimate_tokens(text))


def _counted(text: str) -> float:
    encoded = 0

    def take_encoded(match: re.Match[str]) -> str:
        nonlocal encoded
        run = match[0]
        if len(_CASE_CHANGE.findall(run)) * _CASE_SHARE < len(run):
            return run
        encoded += len(run)
        return " "

    rest = _ENCODED.sub(take_encoded, text)
    total = encoded / ENCODED_CHARS_PER_TOKEN
    for word in _WORD.findall(rest):
        total += 1 + max(0, len(word) - WORD_CHARS_FREE) / WORD_CHARS_PER_TOKEN
    for number in _NUMBER.findall(rest):
        total += -(-len(number) // DIGITS_PER_TOKEN)
    for marks in _MARKS.findall(rest):
        total += 1 + max(0, len(marks) - MARKS_FREE) * TOKENS_PER_MARK
    total += len(_SPACE.findall(rest))
    if not rest.isascii():
        total += len(_OTHER.findall(rest)) * TOKENS_PER_OTHER
        total += len(_WIDE.findall(rest)) * TOKENS_PER_WIDE
        total += len(_ASTRAL.findall(rest)) * TOKENS_PER_ASTRAL
    return total


def fit_middle(text: str, *, tokens_max: int) -> str:
    """Head and tail around a marker, so short that the whole counts at most that many tokens.

    A text that fits is given back as it is; one that cannot be cut so far becomes empty.
    """
    whole = dense_tokens(text)
    if whole <= tokens_max:
        return text
    size = len(text.encode(errors="surrogatepass"))
    budget = bytes_for(size, whole, tokens_max) // BYTES_PER_TOKEN
    for _ in range(_FITTINGS_MAX):
        if budget <= 0:
            break
        cut = truncate_middle(text, tokens_max=budget)
        counted = dense_tokens(cut)
        if counted <= tokens_max:
            return cut
        # Head and tail may be denser than what was left out; each step gets strictly shorter.
        budget = budget * tokens_max // counted - budget // 32 - 1
    return ""


def bytes_for(size: int, counted: int, tokens_max: int) -> int:
    """How many bytes, of so many that count so much, make that many tokens on average."""
    return min(size * tokens_max // max(counted, 1), tokens_max * BYTES_PER_TOKEN)
