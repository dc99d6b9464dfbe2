"""How far a median can move: by brute force over all small tables, and by the formula."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement as multisets

import numpy as np
import pytest

from ameles.mechanisms.one_shot.local_sensitivity import (
    LEAST,
    ROUNDING,
    MedianSpread,
    smooth_sensitivity,
)

TOP = 3  # values 0 to 3
TABLES: list[tuple[int, ...]] = list(multisets(range(TOP + 1), 5))


def replaced(table: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for place in range(len(table)):
        for value in range(TOP + 1):
            yield tuple(sorted((*table[:place], value, *table[place + 1 :])))


def distances(start: tuple[int, ...]) -> dict[tuple[int, ...], int]:
    """How many rows must be replaced, for every table."""
    steps, edge = {start: 0}, [start]
    while edge:
        edge = [
            other
            for table in edge
            for other in dict.fromkeys(replaced(table))
            if steps.setdefault(other, steps[table] + 1) == steps[table] + 1
        ]
        edge = list(dict.fromkeys(edge))
        if len(steps) == len(TABLES):
            return steps
    return steps


def local(table: tuple[int, ...]) -> int:
    return max(abs(other[2] - table[2]) for other in replaced(table))


@pytest.mark.parametrize("beta", ["1/10", "1/2", 2])
def test_it_is_the_smooth_sensitivity_of_brute_force(beta: str) -> None:
    assert len(TABLES) == 56
    rate = float(Fraction(beta))
    for table in TABLES:
        true = max(math.exp(-rate * d) * local(other) for other, d in distances(table).items())
        smooth = smooth_sensitivity(MedianSpread(table, largest=TOP), Fraction(beta))
        assert float(smooth) == pytest.approx(true, rel=1e-12)


def test_it_is_rounded_up_and_no_further() -> None:
    tables = [[0, 0, 5, 9, 9], [4, 4, 4, 4, 4], [0, 1, 2, 3, 4]]
    for table in (*tables, *([i, 5, 5, 5, 7 * i] for i in range(20))):
        spread, beta = MedianSpread(table, largest=1000), Fraction(3, 10)
        smooth = smooth_sensitivity(spread, beta)
        # exp(-3k/10) from below, by its series of 80 terms for the inverse
        values = []
        for k in range(6):
            inverse = sum(((k * beta) ** i / math.factorial(i) for i in range(80)), Fraction(0))
            values.append(spread.within(k) / inverse)
        true = max(values)
        assert true * (1 - Fraction(1, 10**40)) <= smooth <= true * (1 + ROUNDING)
        assert smooth.denominator & (smooth.denominator - 1) == 0


def test_a_table_far_from_any_change_has_the_least() -> None:
    spread = MedianSpread([7] * 2001, largest=10)
    assert smooth_sensitivity(spread, Fraction(1)) == LEAST


def test_many_rows_as_few() -> None:
    # all k at once, against the formula
    values = (np.arange(301) ** 2 * 37) % 1009
    spread, beta = MedianSpread(values, largest=1009), Fraction(1, 50)
    true = max(math.exp(-k / 50) * spread.within(k) for k in range(302))
    assert float(smooth_sensitivity(spread, beta)) == pytest.approx(true, rel=1e-12)


def test_the_distance_to_a_larger_spread() -> None:
    spread = MedianSpread([1, 2, 7], largest=10)
    assert [spread.distance(bound) for bound in (4, 5, 7, 8, 9, 10)] == [0, 1, 1, 2, 3, 4]
