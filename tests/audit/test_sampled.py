"""Samples refute what is far off, and never certify."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from ameles.audit import Verdict, sampled_loss
from ameles.audit.sampled import log_ratio
from ameles.core.exceptions import BadInput
from ameles.noise import System
from ameles.noise.arrays import IntArray


def laplace(scale: str, n: int, truth: int) -> IntArray:
    return System().laplace(Fraction(scale), n) + truth


def test_ten_per_cent_too_much_is_refuted() -> None:
    # 200,000 samples a half: the bound lies 0.02 below the truth of 1.1, give or take 0.004;
    # it misses 1 with probability below 1e-30
    finding = sampled_loss(
        lambda n: laplace("10/11", n, 0),
        lambda n: laplace("10/11", n, 1),
        epsilon=1,
        samples=400_000,
    )
    assert finding.verdict is Verdict.REFUTED
    assert 1 < finding.lower <= 1.1
    assert "refuted" in str(finding)


def test_what_is_right_is_not_certified() -> None:
    # by its own statement the bound is above the truth with probability 1e-6
    finding = sampled_loss(
        lambda n: laplace("1", n, 0), lambda n: laplace("1", n, 1), epsilon=1, samples=100_000
    )
    assert finding.verdict is Verdict.NOT_CERTIFIED
    assert 0.9 < finding.lower <= 1
    assert finding.confidence == 1 - 1e-6
    assert finding.samples == 100_000


def test_either_direction_is_tried() -> None:
    # the second program alone gives 1
    ones = lambda n: np.zeros(n, dtype=np.int64)
    others = lambda n: (System().uniform(2, n) == 0).astype(np.int64)
    for program, neighbour, hits in ((ones, others, (0, 1)), (others, ones, (1, 0))):
        finding = sampled_loss(program, neighbour, epsilon=1, samples=10_000)
        assert finding.verdict is Verdict.REFUTED
        assert finding.event == (1,)
        assert [h > 0 for h in finding.hits] == [h > 0 for h in hits]


def test_the_same_programs_have_no_loss() -> None:
    same = lambda n: np.arange(n) % 3
    finding = sampled_loss(same, same, epsilon=0, samples=1000)
    assert (finding.lower, finding.verdict) == (0, Verdict.NOT_CERTIFIED)


@pytest.mark.parametrize(("hits", "others"), [(700, 300), (50, 2), (1000, 0), (0, 10)])
def test_the_intervals_are_those_of_clopper_and_pearson(hits: int, others: int) -> None:
    error, count = 1e-4, 1000
    (bound,) = log_ratio(np.array([hits]), np.array([others]), count, error)
    if hits == 0:
        assert bound == -math.inf
        return
    # at the ends of the intervals what was seen has just the probability of the error
    low, high = _ends(hits, others, count, error)
    assert binom.sf(hits - 1, count, low) == pytest.approx(error, rel=1e-6)
    assert binom.cdf(others, count, high) == pytest.approx(error, rel=1e-6)
    assert bound == pytest.approx(math.log(low / high))


def _ends(hits: int, others: int, count: int, error: float) -> tuple[float, float]:
    (always,) = log_ratio(np.array([hits]), np.array([count]), count, error)
    low = math.exp(always)  # the upper end for what always happens is 1
    (both,) = log_ratio(np.array([hits]), np.array([others]), count, error)
    return low, low / math.exp(both)


def test_bad_arguments_are_refused() -> None:
    good = lambda n: np.zeros(n, dtype=np.int64)
    with pytest.raises(BadInput, match="'samples'"):
        sampled_loss(good, good, epsilon=1, samples=1)
    with pytest.raises(BadInput, match="'confidence'"):
        sampled_loss(good, good, epsilon=1, confidence=1.0)
    with pytest.raises(BadInput, match="must give 100 whole numbers"):
        sampled_loss(good, lambda n: np.zeros(n, dtype=np.int64)[1:], epsilon=1, samples=100)
