"""The statement of a line of memory: its words without bullet, tags and sources.

Pure. The same statement stands in the summary, in the handbook and in a recap with other things
around it; here they are told to be the same.
"""

import re
from collections.abc import Iterator

STATEMENT_CHARS_MIN = 4

_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_TAILS = re.compile(
    r"""
    \s*(?:
      \[Task\ \d+(?:,\ Task\ \d+)*\]                       # tasks of the handbook
    | \[ad-hoc\ note\]
    | \(and\ \d+\ more\)                                  # a topic of several statements
    | \[\d{4}-\d\d-\d\d:\ verify\]                         # marks of ours
    | \((?:in|stated\ in)\ [^()]{1,80}\)                   # the project it is of
    | \([a-z]{1,20};\ (?:everywhere|project|as\ stated)\)  # kind and scope in a recap
    )\s*$
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(r'^(?:the user )?said:? "(.{1,2000})"$', re.IGNORECASE)


def statement_of(line: str) -> str:
    """The bare words of a line; empty for a heading, a rule or a blank line."""
    text = line.strip()
    if text.startswith("#") or not any(char.isalnum() for char in text):
        return ""
    text = _BULLET.sub("", text)
    while (shorter := _TAILS.sub("", text)) != text:
        text = shorter
    return text.strip()


def folded(line: str) -> str:
    """The statement of a line in the form in which two of them are compared."""
    return " ".join(statement_of(line).casefold().split()).rstrip(".!;, ")


def statements_in(line: str) -> Iterator[str]:
    """What a line of a recap says, folded: what the user said, and what was made of it."""
    quote, arrow, implied = statement_of(line).rpartition(" -> ")
    for one in (implied, quote) if arrow else (implied,):
        said = _QUOTED.match(one.strip())
        words = folded(said[1] if said else one)
        if len(words) >= STATEMENT_CHARS_MIN:
            yield words
