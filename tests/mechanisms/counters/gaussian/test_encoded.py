"""The shape of encoded counters: grids, words, and errors that hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.encoded import (
    COARSEST,
    FINE,
    EncodedError,
    Encoding,
    fine_bits,
    root_up,
)


@dataclass(frozen=True)
class Flat:
    """b_j = 1 for all j: a random walk."""

    slack: float = 0.0

    def gain(self, t: int) -> float:
        return float(t)

    def mean_gain(self, steps: int) -> float:
        return (steps + 1) / 2


def test_the_grid_is_as_fine_as_needed_and_no_finer() -> None:
    bits = fine_bits(change=Fraction(2), rounding=Fraction(100), largest=1.0)
    assert 100 * 2**FINE <= 2 * 2**bits < 100 * 2 ** (FINE + 1) * 2
    assert fine_bits(change=Fraction(10**9), rounding=Fraction(1), largest=1.0) == 0


def test_the_grid_leaves_room_for_the_numbers() -> None:
    bits = fine_bits(change=Fraction(1), rounding=Fraction(2**10), largest=2.0**44)
    assert bits == 62 - 44
    with pytest.raises(BadInput, match="64 bits"):
        fine_bits(change=Fraction(1), rounding=Fraction(2**10), largest=2.0**50)
    with pytest.raises(BadInput, match="64 bits"):
        fine_bits(change=Fraction(10**9), rounding=Fraction(1), largest=2.0**63)
    assert COARSEST * 2**10 > 2 ** (62 - 50)


def test_the_variance_pays_for_columns_and_roundings() -> None:
    encoding = Encoding.of(change=Fraction(3), rounding=Fraction(5), bits=4, rho=Fraction(1, 2))
    assert encoding == Encoding(4, Fraction((3 * 16 + 5) ** 2))
    rounded = Encoding.of(change=Fraction(1, 3), rounding=Fraction(0), bits=0, rho=Fraction(1, 2))
    assert 0 < rounded.variance - Fraction(1, 9) < Fraction(1, 10**12)


def test_roots_are_rounded_up() -> None:
    assert 2 < root_up(2) ** 2 < 2 + Fraction(1, 10**13)
    assert root_up(Fraction(1, 4)) >= Fraction(1, 2)


def test_errors_are_in_counts() -> None:
    error = EncodedError(Flat(), bits=10, variance=4.0**10 * 25)
    assert error.std(4) == pytest.approx(math.sqrt(4 * 25 + 1 / 12))
    assert error.rms(7) == pytest.approx(math.sqrt(4 * 25 + 1 / 12))
    assert error.bound(4, 0.05) == pytest.approx(1.96 * 10, abs=1)
    assert error.bound_all(4, 0.05) == error.bound(4, 0.05 / 4)


def test_few_bits_widen_the_bounds() -> None:
    fine, coarse = (EncodedError(Flat(3.0), bits, 4.0**bits * 25) for bits in (20, 1))
    assert coarse.bound(100, 0.01) > fine.bound(100, 0.01) + 3
