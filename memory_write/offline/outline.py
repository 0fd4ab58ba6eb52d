"""The outline of a statement as marks: how long it is, how typed, what it is made of; pure."""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from itertools import pairwise

LONGER_THAN = (2, 3, 4, 6, 8, 11, 15, 20, 28)
MORE_THAN = (1, 2, 3, 5, 8)
STEP = 0.5
"""What each step in length counts for."""
COMMAS_MAX = 3
STEM_CHARS = 5
_MADE_OF = {
    "number": re.compile(r"\d"),
    "code": re.compile(r"`"),
    "quote": re.compile(r"[\"“«„「]"),
    "colon": re.compile(r"[:：]"),
    "semicolon": re.compile(r"[;；]"),
    "dash": re.compile(r"[–—]| - "),
    "bracket": re.compile(r"\("),
    "cry": re.compile(r"[!！]\s*$"),
    "capitals": re.compile(r"\b[A-Z]{2,}\b"),
    "identifier": re.compile(r"\w[._/]\w"),
    "lower case begins": re.compile(r"^[a-zà-ÿ]"),
    "name inside": re.compile(r"\s[A-ZÀ-Ý]"),
}
_MESSAGE = {
    "message asks": re.compile(r"[?？]"),
    "message of lines": re.compile(r"\S\s*\n\s*\S"),
}


def outline(statement: str, message: str, *, words: int, statements: int) -> dict[str, float]:
    """The marks of a statement of so many words in a message of so many statements."""
    found = {f"made of {name}": 1.0 for name, form in _MADE_OF.items() if form.search(statement)}
    found |= {name: 1.0 for name, form in _MESSAGE.items() if form.search(message)}
    found |= {f"longer than {one}": STEP for one in LONGER_THAN if words > one}
    found |= {f"more than {one} said": STEP for one in MORE_THAN if statements > one}
    if commas := statement.count(",") + statement.count("，"):
        found["commas"] = min(commas, COMMAS_MAX) / 2
    return found


def stems(tokens: list[str]) -> dict[str, float]:
    """Words by their beginnings, so that what is learned of one form is known of the others."""
    short = [one[:STEM_CHARS] for one in tokens]
    found = {f"p {one}": 1.0 for one in short if len(one) == STEM_CHARS}
    found |= {f"p {one} {two}": 1.0 for one, two in pairwise(short)}
    return found
