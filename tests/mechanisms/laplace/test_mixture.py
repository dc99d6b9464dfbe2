"""Weighted sums of Laplace variables: bounds that hold, and are not idle."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart, TailMethod, quantiles
from ameles.noise import System

CASES = {
    "equal": (LaplacePart(Fraction(3), 1.0, 4),),
    "weights": (
        LaplacePart(Fraction(5), 1.0, 3),
        LaplacePart(Fraction(5), 0.4, 10),
        LaplacePart(Fraction(5), 0.05, 40),
    ),
    "scales": (LaplacePart(Fraction(20), 1.0, 1), LaplacePart(Fraction(3), 1.0, 6)),
    "one": (LaplacePart(Fraction(7), 0.5, 1),),
    "narrow": (LaplacePart(Fraction(1, 2), 1.0, 3), LaplacePart(Fraction(1, 2), 0.5, 3)),
}


def drawn(
    parts: tuple[LaplacePart, ...], count: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
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
    split = LaplaceMixture((LaplacePart(Fraction(3), 1.0, 1), LaplacePart(Fraction(3), 1.0, 3)))
    for x in (0, 5, 30):
        assert split.tail(x) == laplace_sum.tail(4, Fraction(3), x)


def test_a_bounding_law_uses_chernoff_alone() -> None:
    parts = (LaplacePart(Fraction(3), 1.0, 4),)
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


def reached(parts: tuple[LaplacePart, ...], grain: int, most: int) -> list[float]:
    """P(|Y| >= x) for x up to ``most`` counts, where weights are multiples of 1 / grain.

    Exact but for 1e-14: the law on that lattice, by a Fourier transform over a window that is
    40 of the largest widths longer than 12 deviations.
    """
    spread = LaplaceMixture(parts).std + max(float(part.scale) for part in parts)
    size = 2 * grain * (most + int(12 * spread + 40 * max(float(part.scale) for part in parts)))
    angle = 2 * np.pi * np.arange(size // 2 + 1) / size
    law = np.ones_like(angle)
    for part in parts:
        steps, edge = round(part.weight * grain), math.sinh(1 / (2 * float(part.scale)))
        law /= (1 + (np.sin(steps * angle / 2) / edge) ** 2) ** part.count
    masses = np.fft.irfft(law, size)
    inside = masses[0] + 2 * np.cumsum(np.append(0, masses[1 : grain * most + 1]))
    return [1.0] + [float(1 - inside[grain * x - 1]) for x in range(1, most + 1)]


SMALL = (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(5))
EIGHTHS = [
    (LaplacePart(scale, 1.0, 2), LaplacePart(scale, 3 / 8, few), LaplacePart(other, 1 / 8, many))
    for scale in SMALL
    for other in (scale, Fraction(3))
    for few, many in ((1, 1), (5, 20))
]


@pytest.mark.parametrize(
    "parts", [*EIGHTHS, CASES["narrow"], (LaplacePart(Fraction(1), 1 / 8, 3),)]
)
def test_weighted_bounds_hold_exactly_with_two_roundings(parts: tuple[LaplacePart, ...]) -> None:
    # |Y| >= x is all that two releases, each rounded by up to a half, can differ by more than x
    exact = reached(parts, 8, 200)
    mixture = LaplaceMixture(parts)
    for x in range(0, 200, 3):
        assert mixture.tail(x) >= exact[x] * (1 - 1e-5) - 1e-13
    for beta in (0.7, 0.3, 0.05, 1e-3, 1e-7):
        assert exact[mixture.quantile(beta)] <= beta


def test_bounds_that_are_smaller_by_two_are_noticed() -> None:
    wrong = [
        (parts, beta)
        for parts in EIGHTHS
        for beta in (0.7, 0.3, 0.05, 1e-3)
        if reached(parts, 8, 200)[LaplaceMixture(parts).quantile(beta) - 2] > beta
    ]
    assert wrong


def test_different_scales_are_exact() -> None:
    parts = CASES["scales"]
    exact = reached(parts, 1, 200)
    for x in range(0, 99, 5):
        assert LaplaceMixture(parts).tail(x) == pytest.approx(exact[x + 1], rel=1e-5, abs=1e-12)
    for beta in (0.5, 0.05, 1e-3):
        bound = LaplaceMixture(parts).quantile(beta)
        assert exact[bound + 1] <= beta < exact[bound]


@pytest.mark.parametrize("beta", [0.9, 0.3, 0.05, 1e-4, 1e-30])
def test_laws_of_all_shapes_together_are_as_one_by_one(beta: float) -> None:
    laws = [LaplaceMixture(parts) for parts in (*CASES.values(), (), *EIGHTHS)]
    laws += [LaplaceMixture(parts, bounding=True) for parts in CASES.values()]
    laws += laws[::-1]
    assert quantiles(laws, beta).tolist() == [law.quantile(beta) for law in laws]
    # small bounds of weighted sums are smaller than these tails say: see test_rounded
    sharpened = (TailMethod.WEIGHTED, TailMethod.CHERNOFF)
    others = [law for law in laws if law.shape(law.terms) not in sharpened]
    assert len(others) > 10
    assert all(law.tail(law.quantile(beta)) <= beta * (1 + 1e-9) for law in others)


def test_no_laws_have_no_bounds() -> None:
    assert quantiles([], 0.05).tolist() == []


def test_equal_parts_cancel_and_add_up() -> None:
    pieces = (
        LaplacePart(Fraction(5), 0.5, 3),
        LaplacePart(Fraction(5), 0.2, 4),
        LaplacePart(Fraction(5), 0.5, -3),
    )
    whole = LaplaceMixture((LaplacePart(Fraction(5), 0.2, 4),))
    assert LaplaceMixture(pieces).quantile(0.05) == whole.quantile(0.05)


def test_a_rounded_half_is_within_the_bound() -> None:
    # one noise, times a half: it is 0 or at least a half, which may be rounded up to 1
    scale = Fraction(1, 10)
    moved = laplace_sum.tail(1, scale, 0)
    mixture = LaplaceMixture((LaplacePart(scale, 0.5, 1),))
    assert mixture.tail(0) >= moved
    assert mixture.quantile(moved / 2) >= 1
