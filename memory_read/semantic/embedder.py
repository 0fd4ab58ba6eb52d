"""What search by meaning needs of a model: from a text to windows, and of each window a vector."""

from collections.abc import Sequence
from typing import Protocol

Window = Sequence[int]
"""A piece of a text that the model takes in one go, in the model's own numbers."""


class Embedder(Protocol):
    """A model that is at hand on this machine. Every call may block, and come from any thread."""

    @property
    def model_id(self) -> str:
        """Whatever has another one gives vectors that cannot be compared with these."""
        ...

    @property
    def dimensions(self) -> int:
        """Of every vector."""
        ...

    def reads(self, text: str) -> bool:
        """Whether it was taught the script of a text; its vectors say nothing of others."""
        ...

    def windows(self, text: str, *, most: int) -> list[Window] | None:
        """A text in its order, at most so many windows; None where the model cannot be used."""
        ...

    def vector(self, window: Window) -> bytes | None:
        """Its direction: one signed byte a dimension, as `vectors.quantised` makes them.

        None where the model cannot be used.
        """
        ...
