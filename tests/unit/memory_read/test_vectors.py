"""Vectors of units as one matrix."""

import math
import random
from collections.abc import Sequence

import pytest

pytest.importorskip("numpy", reason="numpy comes with the extras `semantic` and `dev`")

from memory_read.semantic.vectors import Block, Matrix, quantised

DIMENSIONS = 48


def _random(seed: int) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / math.dist(one, [0] * DIMENSIONS) / math.dist(other, [0] * DIMENSIONS)


def test_one_byte_a_dimension_keeps_the_cosine_within_a_hundredth() -> None:
    """Against plain arithmetic on the numbers themselves, over more rows than one go takes."""
    vectors = {unit: _random(unit) for unit in range(1, 2_500)}
    rows = [(unit, quantised(vector)) for unit, vector in vectors.items()]
    matrix = Matrix([Block(rows, dimensions=DIMENSIONS)], dimensions=DIMENSIONS)
    question = _random(0)
    found = matrix.cosines(quantised(question)).of(vectors)
    assert matrix.units == len(vectors)
    for unit, vector in vectors.items():
        assert found[unit] == pytest.approx(_cosine(question, vector), abs=0.01)


def test_a_unit_is_as_near_as_its_windows_are_on_average() -> None:
    """Whatever block it stands in, and in whatever order blocks come."""
    near, far = quantised([1.0, *[0.0] * 47]), quantised([0.0, 1.0, *[0.0] * 46])
    late = Block([(9, far + near), (12, far)], dimensions=DIMENSIONS)
    early = Block([(3, far), (5, far + far + far)], dimensions=DIMENSIONS)
    cosines = Matrix([late, early], dimensions=DIMENSIONS).cosines(near)
    assert cosines.of([3, 5, 9, 12, 99]) == {3: 0.0, 5: 0.0, 9: pytest.approx(0.5), 12: 0.0}
    assert cosines.nearest(10, least=0.4) == [9]
    assert cosines.nearest(2, least=-1)[0] == 9


def test_bytes_of_another_size_are_left_out() -> None:
    """As no vectors at all."""
    odd = Block([(1, b""), (2, b"x" * (DIMENSIONS + 1))], dimensions=DIMENSIONS)
    matrix = Matrix([odd], dimensions=DIMENSIONS)
    cosines = matrix.cosines(quantised(_random(1)))
    assert (matrix.units, cosines.of([1, 2]), cosines.nearest(5, least=-1)) == (0, {}, [])


def test_a_text_without_a_direction_is_near_nothing() -> None:
    """Zeros divide nothing."""
    matrix = Matrix([Block([(1, bytes(DIMENSIONS))], dimensions=DIMENSIONS)], dimensions=DIMENSIONS)
    assert matrix.cosines(quantised(_random(1))).of([1]) == {1: 0.0}
    assert matrix.cosines(bytes(DIMENSIONS)).of([1]) == {1: 0.0}
