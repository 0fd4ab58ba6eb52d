"""Draws that depend on their seed alone.

Left alone, Hypothesis mixes constants into its draws that it finds in the modules loaded so far,
and spends part of its examples on near copies of others and on ones that end at once. So a run of
one file drew other sequences than a run of all, and up to a third fewer steps. Here each example
after the first, simplest one is drawn evenly from one generator.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from hypothesis.internal.conjecture.providers import (
    AVAILABLE_PROVIDERS,
    PrimitiveProvider,
)
from hypothesis.internal.intervalsets import IntervalSet

if TYPE_CHECKING:
    from hypothesis.internal.conjecture.data import ConjectureData

NAME = "even draws"


class EvenDraws(PrimitiveProvider):
    """Every value of a range is as likely as every other; only what sequences of steps need."""

    lifetime = "test_function"
    seed = 0

    def __init__(self, conjecturedata: "ConjectureData | None", /) -> None:
        super().__init__(conjecturedata)
        self._random = Random(self.seed)

    def draw_boolean(self, p: float = 0.5) -> bool:
        """True with this probability."""
        return self._random.random() < p

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        """One of a bounded range."""
        if min_value is None or max_value is None or weights is not None:
            raise NotImplementedError("only plain bounded ranges are drawn here")
        return self._random.randint(min_value, max_value)

    def draw_float(
        self,
        *,
        min_value: float = 0,
        max_value: float = 0,
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float = 0,
    ) -> float:
        """No step needs one."""
        raise NotImplementedError("no floats are drawn here")

    def draw_string(self, intervals: IntervalSet, *, min_size: int = 0, max_size: int = 0) -> str:
        """No step needs one."""
        raise NotImplementedError("no texts are drawn here")

    def draw_bytes(self, min_size: int = 0, max_size: int = 0) -> bytes:
        """No step needs one."""
        raise NotImplementedError("no bytes are drawn here")


@contextmanager
def even_draws(seed: int) -> Iterator[str]:
    """The name of a backend that draws so, for the `backend` of Hypothesis's settings."""
    AVAILABLE_PROVIDERS[NAME] = type("EvenDraws", (EvenDraws,), {"seed": seed})
    try:
        yield NAME
    finally:
        del AVAILABLE_PROVIDERS[NAME]
