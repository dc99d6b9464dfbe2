"""Weighted sums of Laplace variables: bounds that hold, and are not idle."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms import laplace_sum
from ameles.mechanisms.laplace_mixture import LaplaceMixture, Part
from ameles.noise import System

CASES = {
    "equal": (Part(Fraction(3), 1.0, 4),),
    "weights": (Part(Fraction(5), 1.0, 3), Part(Fraction(5), 0.4, 10), Part(Fraction(5), 0.05, 40)),
    "scales": (Part(Fraction(20), 1.0, 1), Part(Fraction(3), 1.0, 6)),
    "one": (Part(Fraction(7), 0.5, 1),),
    "narrow": (Part(Fraction(1, 2), 1.0, 3), Part(Fraction(1, 2), 0.5, 3)),
}


def drawn(parts: tuple[Part, ...], count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    noise = System()
    total = np.zeros(count)
    for part in parts:
        total += part.weight * noise.laplace(part.scale, (count, int(part.count))).sum(axis=1)
    return total


@pytest.mark.parametrize("name", CASES)
def test_bounds_hold_and_deviations_match(name: str) -> None:
    # 200,000 sums; false alarm below 1e-6 at 4.9 standard errors; 1% is more than 5 for std
    count = 200_000
    mixture = LaplaceMixture(CASES[name])
    sums = np.abs(drawn(mixture.parts, count))
    assert float(np.sqrt((sums**2).mean())) == pytest.approx(mixture.std, rel=0.015)
    for beta in (0.3, 0.05, 0.001):
        outside = float((sums > mixture.quantile(beta)).mean())
        assert outside <= beta + 4.9 * math.sqrt(beta / count)


@pytest.mark.parametrize("name", ["weights", "scales", "one"])
def test_bounds_are_not_much_too_wide(name: str) -> None:
    mixture = LaplaceMixture(CASES[name])
    sums = np.abs(drawn(mixture.parts, 200_000))
    # one for the lattice, one for rounding up, and some for the sample
    assert mixture.quantile(0.05) <= 1.03 * float(np.quantile(sums, 0.95)) + 2.5


def test_equal_parts_have_the_exact_tail() -> None:
    split = LaplaceMixture((Part(Fraction(3), 1.0, 1), Part(Fraction(3), 1.0, 3)))
    for x in (0, 5, 30):
        assert split.tail(x) == laplace_sum.tail(4, Fraction(3), x)


def test_a_bounding_law_uses_chernoff_alone() -> None:
    parts = (Part(Fraction(3), 1.0, 4),)
    for x in (5, 20, 60):
        assert LaplaceMixture(parts, bounding=True).tail(x) >= LaplaceMixture(parts).tail(x)


def test_no_noise_has_no_tail() -> None:
    nothing = LaplaceMixture(())
    assert nothing.std == 0
    assert nothing.quantile(0.5) == 0


@pytest.mark.parametrize("beta", [0.0, 1.0, -1.0, math.nan])
def test_beta_must_be_a_probability(beta: float) -> None:
    with pytest.raises(BadInput, match="beta"):
        LaplaceMixture(CASES["equal"]).quantile(beta)
