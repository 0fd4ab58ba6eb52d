"""Answers about one text that many rules ask for again, kept while a session is heard.

Invariant: only pure functions of what they are given are kept here, a bounded number of answers
each; when a session is heard, what was typed in it is let go.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

ANSWERS_MAX = 1_024
"""Of each function; a message has 200 statements at most."""
_P = ParamSpec("_P")
_R = TypeVar("_R")
_let_go: list[Callable[[], None]] = []


def kept(answer: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, asked once for the same; all it is given must be hashable."""
    remembering = lru_cache(maxsize=ANSWERS_MAX)(answer)
    _let_go.append(remembering.cache_clear)
    return cast("Callable[_P, _R]", remembering)


def let_go() -> None:
    """Forget all answers."""
    for forget in _let_go:
        forget()
