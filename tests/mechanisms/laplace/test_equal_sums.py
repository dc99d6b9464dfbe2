"""The tails of Laplace sums: known answers, two independent computations, and errata."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace.equal_sums import continuous_tail, quantile, quantiles, std, tail
from ameles.noise import System


def convolved_tail(terms: int, scale: float, m: int) -> float:
    """P(|Y| > m) by convolving the law with itself, on a window that holds all but 1e-15."""
    q = math.exp(-1 / scale)
    reach = int(40 * scale) + 2
    one = np.array([(1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)])
    law = one
    for _ in range(terms - 1):
        law = np.convolve(law, one)
    middle = len(law) // 2
    return float(law[: middle - m].sum() + law[middle + m + 1 :].sum())


@pytest.mark.parametrize("terms", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 9.0])
def test_the_finite_formula_equals_convolution(terms: int, scale: float) -> None:
    for m in (0, 1, 2, 5, int(3 * scale * math.sqrt(2 * terms))):
        exact = convolved_tail(terms, scale, m)
        assert tail(terms, Fraction(scale), m) == pytest.approx(exact, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("scale", [0.4, 1.0, 30.0, 1e6])
def test_integral_and_finite_formula_agree_where_they_meet(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    finite = {
        m: tail(laplace_sum.MOST_TERMS, Fraction(scale), m)
        for m in (0, int(5 * scale), int(16 * scale), int(40 * scale))
    }
    monkeypatch.setattr(laplace_sum, "MOST_TERMS", 1)
    for m, expected in finite.items():
        assert tail(128, Fraction(scale), m) == pytest.approx(expected, rel=1e-9)


def test_catalogue_13_known_answers() -> None:
    for y in (0.0, 0.7, 3.0, 11.0):
        assert continuous_tail(1, y) == pytest.approx(math.exp(-y), rel=1e-12)
        assert continuous_tail(2, y) == pytest.approx(math.exp(-y) * (1 + y / 2), rel=1e-12)
    assert continuous_tail(5, 6) == pytest.approx(0.0613878, abs=5e-8)
    for terms in range(1, 21):
        assert continuous_tail(terms, 0) == pytest.approx(1, rel=1e-12)


def test_catalogue_5_and_9_known_answers_for_trees() -> None:
    # 95% at T = 1024: ten nodes of scale 11 (binary), eleven terms of scale 11 (Fig 12.2).
    # The catalogue has the continuous values 97.5 and 102.1; integers round them.
    assert quantile(10, Fraction(11), 0.05) in (97, 98)
    assert quantile(11, Fraction(11), 0.05) in (102, 103)
    assert quantile(11, Fraction(11), 0.05 / 1024) in (235, 236)


@pytest.mark.parametrize("terms", [1, 3, 20])
def test_the_discrete_tail_tends_to_the_continuous_one(terms: int) -> None:
    scale = 10**6
    for y in (0.5, 2.0, 9.0):
        discrete = tail(terms, Fraction(scale), int(y * scale))
        assert discrete == pytest.approx(continuous_tail(terms, y), rel=1e-5)


def test_corollary_12_4_as_printed_is_false() -> None:
    # k = b = 1, alpha = 2.8, lambda -> 0: P(Y > 0) = 1/2, claimed below exp(-alpha^2 / 8)
    assert continuous_tail(1, 0.0) / 2 > math.exp(-(2.8**2) / 8)
    # as corrected: P(Y > alpha sqrt(k) b) <= exp(-alpha^2 / 8) for 0 < alpha < 2 sqrt(2k)
    for terms in (1, 2, 5, 20):
        for part in (0.01, 0.3, 0.7, 0.99):
            alpha = part * 2 * math.sqrt(2 * terms)
            assert continuous_tail(terms, alpha * math.sqrt(terms)) / 2 <= math.exp(-(alpha**2) / 8)


@given(
    terms=st.integers(1, 300),
    scale=st.fractions(Fraction(1, 100), 10**6, max_denominator=1000),
    beta=st.floats(1e-11, 0.9),
)
def test_the_quantile_is_the_smallest_bound(terms: int, scale: Fraction, beta: float) -> None:
    bound = quantile(terms, scale, beta)
    assert tail(terms, scale, bound) <= beta
    # with many terms, for a beta that is smaller by 1e-9
    assert bound == 0 or tail(terms, scale, bound - 1) > beta * (1 - 2e-9)


def test_quantiles_are_the_same_one_by_one_and_together() -> None:
    terms = np.array([7, 0, 1, 130, 7, 128, 129, 5000])
    for scale in (Fraction(1, 3), Fraction(11), Fraction(10**6)):
        for beta in (0.5, 0.05, 1e-9):
            together = quantiles(terms, scale, beta).tolist()
            assert together == [quantile(int(count), scale, beta) for count in terms]


def test_weights_of_the_finite_formula_are_those_of_the_binomial_sum() -> None:
    for scale in (0.05, 0.3, 1.0, 7.0, 1e9):
        q = math.exp(-1 / scale)
        u, v, k = q * q / (1 + q), 1 / (1 + q), 128
        for j in (1, 2, 20, 127):
            ways = (
                math.comb(k, i) * math.comb(j - 1, i - 1) * u**i * v ** (k + j - i)
                for i in range(1, j + 1)
            )
            weight = laplace_sum._coefficients(k, q)[j]
            assert weight == pytest.approx(math.fsum(ways), rel=1e-11)


@given(terms=st.integers(1, 2000), scale=st.fractions(1, 10**4, max_denominator=10))
def test_tails_fall_and_stay_below_chebyshev(terms: int, scale: Fraction) -> None:
    deviation = std(terms, scale)
    tails = [tail(terms, scale, int(c * deviation)) for c in (0, 1, 2, 4, 8, 16)]
    assert all(0 <= p <= 1 for p in tails)
    assert tails == sorted(tails, reverse=True)
    for c, p in zip((2, 4, 8), tails[2:], strict=False):
        assert p <= (deviation / (int(c * deviation) + 1)) ** 2


def test_far_tails_are_not_zero() -> None:
    # 1000 terms, some 17 standard deviations: far below what a Fourier sum can see
    bound = quantile(1000, Fraction(1), 1e-60)
    assert 10 * std(1000, Fraction(1)) < bound < 30 * std(1000, Fraction(1))
    assert 0 < tail(1000, Fraction(1), bound) <= 1e-60


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 50), Fraction(2**60)])
@pytest.mark.parametrize("terms", [1, 40, 10**6])
def test_extreme_scales_do_not_overflow(terms: int, scale: Fraction) -> None:
    assert math.isfinite(std(terms, scale))
    assert 0 <= tail(terms, scale, 3) <= 1
    assert quantile(terms, scale, 0.01) >= 0


def test_sampled_sums_follow_the_tail() -> None:
    # 400,000 sums of 5 variables; false alarm 1e-6 at 4.9 standard errors, for each of 4
    count, terms, scale = 400_000, 5, Fraction(3)
    sums = np.abs(System().laplace(scale, (count, terms)).sum(axis=1))
    for m in (0, 4, 10, 25):
        p = tail(terms, scale, m)
        share = float((sums > m).mean())
        assert abs(share - p) <= 4.9 * math.sqrt(p * (1 - p) / count)


@pytest.mark.parametrize("beta", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_beta_must_be_a_probability(beta: float) -> None:
    with pytest.raises(BadInput, match="beta"):
        quantile(3, Fraction(1), beta)
