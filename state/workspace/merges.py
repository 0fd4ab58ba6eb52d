"""Texts in which a merge was left undone; pure.

Invariant: three marks, each at the start of a line, make a conflict; a line of `=` alone does not.
"""

import re

_OURS = re.compile(r"^<{7} ", re.MULTILINE)
_BETWEEN = re.compile(r"^={7}\r?$", re.MULTILINE)
_THEIRS = re.compile(r"^>{7} ", re.MULTILINE)


def has_conflict(text: str) -> bool:
    """Whether a text holds the marks of a merge that nobody finished."""
    return all(mark.search(text) for mark in (_OURS, _BETWEEN, _THEIRS))
