"""The errors of this room.

MemoryWriteError
├── BadOutput             a model's reply is not the strict shape; nothing of it was kept
├── NothingToImport       the named home of another agent holds no memory, and nothing came from it
└── WorkCancelled         an ordered pass was stopped before its end; its jobs were given back

`ModelFailed` stands in `ports.py`, since the implementations of the ports raise it. `LeaseLost` and
the errors of files and database come from `state/errors.py`.
"""

from typing import Literal

BadOutputKind = Literal[
    "nothing",
    "too_large",
    "prose",
    "cut",
    "not_an_object",
    "empty_object",
    "missing_keys",
    "extra_keys",
    "wrong_types",
]


class MemoryWriteError(Exception):
    """Any error of this room; its text holds no memory text."""


class BadOutput(MemoryWriteError):
    """A model's reply is not the strict shape; nothing of it was kept."""

    def __init__(self, kind: BadOutputKind) -> None:
        self.kind = kind
        super().__init__(f"the reply of the model is not usable: {kind}")

    @property
    def reason(self) -> str:
        """As it stands with the job."""
        return f"bad_output:{self.kind}"


class NothingToImport(MemoryWriteError):
    """The named home of another agent holds no memory, and nothing came from it before."""

    def __init__(self) -> None:
        super().__init__("memory import requires at least one selected memory")


class WorkCancelled(MemoryWriteError):
    """An ordered pass was stopped before its end; its jobs were given back."""

    def __init__(self) -> None:
        super().__init__("the pass was stopped before its end, its jobs wait for the next one")
