"""The only owner of numpy: vectors of many units as one matrix, compared exactly. Blocks.

A vector is kept as one signed byte for each dimension; only its direction counts. Invariant: ids
ascend, and every unit has one window at least. Imported when the first question is asked.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

_ROWS_AT_ONCE = 1_024
"""As floats 1.5 MB: they stay in the processor's cache (16 ms for 100,000; 250 in larger ones)."""
_FULL = 127


def as_input(window: Sequence[int]) -> dict[str, Any]:
    """A window as the tensors that a model of this kind takes."""
    ids = np.array([window], dtype=np.int64)
    return {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }


def pooled(hidden: Any) -> bytes:
    """The mean of what a model says of each place of one window, as bytes."""
    return quantised(hidden[0].mean(axis=0))


def quantised(values: Sequence[float]) -> bytes:
    """A direction as one signed byte a dimension; zeros where it has none."""
    vector = np.asarray(values, dtype=np.float32)
    most = float(np.abs(vector).max(initial=0.0))
    scaled = vector * (_FULL / most) if most else vector
    return bytes(np.rint(scaled).astype(np.int8).tobytes())


class Block:
    """The vectors of some units."""

    def __init__(self, rows: Sequence[tuple[int, bytes]], *, dimensions: int) -> None:
        kept = [(unit_id, data) for unit_id, data in rows if data and not len(data) % dimensions]
        self.unit_ids: Any = np.array([unit_id for unit_id, _ in kept], dtype=np.int64)
        self.counts: Any = np.array([len(data) // dimensions for _, data in kept], dtype=np.int64)
        joined = np.frombuffer(b"".join(data for _, data in kept), dtype=np.int8)
        self.rows: Any = joined.reshape(-1, dimensions)

    @property
    def first(self) -> int:
        """The lowest id; -1 where it has none."""
        return int(self.unit_ids[0]) if len(self.unit_ids) else -1


class Cosines:
    """How near one question is to each unit, -1 to 1."""

    def __init__(self, unit_ids: Any, values: Any) -> None:
        self._unit_ids = unit_ids
        self._values = values

    def nearest(self, most: int, *, least: float) -> list[int]:
        """The units that are nearest, the best first, none below the least."""
        values = self._values
        if most < len(values):
            first = np.argpartition(-values, most)[:most]
        else:
            first = np.arange(len(values))
        first = first[values[first] >= least]
        first = first[np.argsort(-values[first], kind="stable")]
        return [int(one) for one in self._unit_ids[first]]

    def of(self, unit_ids: Iterable[int]) -> dict[int, float]:
        """By unit; those without a vector are left out."""
        wanted = np.fromiter(unit_ids, dtype=np.int64)
        if not len(self._unit_ids) or not len(wanted):
            return {}
        places = np.searchsorted(self._unit_ids, wanted)
        places = np.minimum(places, len(self._unit_ids) - 1)
        known = self._unit_ids[places] == wanted
        found = zip(wanted[known], self._values[places[known]], strict=True)
        return {int(unit_id): float(value) for unit_id, value in found}


class Matrix:
    """The vectors of all units of a version."""

    def __init__(self, blocks: Iterable[Block], *, dimensions: int) -> None:
        ordered = sorted((one for one in blocks if len(one.unit_ids)), key=lambda one: one.first)
        empty = Block((), dimensions=dimensions)
        every = ordered or [empty]
        self._unit_ids: Any = np.concatenate([one.unit_ids for one in every])
        counts = np.concatenate([one.counts for one in every])
        self._counts: Any = counts
        self._begins: Any = np.cumsum(counts) - counts
        self._rows: Any = np.concatenate([one.rows for one in every])
        self._lengths: Any = np.empty(len(self._rows), dtype=np.float32)
        for begin in range(0, len(self._rows), _ROWS_AT_ONCE):
            part = self._rows[begin : begin + _ROWS_AT_ONCE].astype(np.float32)
            self._lengths[begin : begin + len(part)] = np.sqrt(np.einsum("ij,ij->i", part, part))
        np.maximum(self._lengths, 1.0, out=self._lengths)

    @property
    def units(self) -> int:
        """How many units it holds."""
        return len(self._unit_ids)

    def cosines(self, question: bytes) -> Cosines:
        """How near the question is to each unit: to its windows on average.

        The nearest one alone would favour long units, of which some window is near anything.
        """
        asked = np.frombuffer(question, dtype=np.int8).astype(np.float32)
        asked /= max(float(np.sqrt(asked @ asked)), 1.0)
        values: Any = np.empty(len(self._rows), dtype=np.float32)
        for begin in range(0, len(self._rows), _ROWS_AT_ONCE):
            part = self._rows[begin : begin + _ROWS_AT_ONCE].astype(np.float32)
            # One row at a time is no task for several threads, which a product of this size takes.
            values[begin : begin + len(part)] = part @ asked
        values /= self._lengths
        if len(self._begins):
            values = np.add.reduceat(values, self._begins) / self._counts
        return Cosines(self._unit_ids, values)
