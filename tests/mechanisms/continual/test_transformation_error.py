"""The error of the transformation: its allowances by hand, and where it promises nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.continual.estimators.estimator import Exactly
from ameles.mechanisms.continual.transformation_error import Allowances, ContinualError, Scales
from ameles.mechanisms.laplace import equal_sums as laplace_sum

SCALES = Scales(threshold=Fraction(7), decision=Fraction(11), levels=3, changes=4)


class Off(Exactly):
    """Answers that are wrong by one over beta."""

    def bound_all(self, steps: int, beta: float) -> float:
        return 1 / beta


@pytest.mark.parametrize("steps", [2, 8, 1000])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_all_noises_together_take_half_of_beta(steps: int, beta: float) -> None:
    allowed = SCALES.allowances(steps, beta)
    once = laplace_sum.tail(1, SCALES.decision, allowed.comparison)
    tree = laplace_sum.tail(SCALES.levels, SCALES.threshold, allowed.threshold)
    spent = steps * (once + tree) + SCALES.changes * once
    assert spent <= beta / 2 * (1 + 1e-9)
    # one less in either would be more than its share
    each = beta / 2 / (2 * steps + SCALES.changes)
    assert laplace_sum.tail(1, SCALES.decision, allowed.comparison - 1) > each
    assert laplace_sum.tail(SCALES.levels, SCALES.threshold, allowed.threshold - 1) > each


def test_without_changes_no_new_value_has_noise() -> None:
    still = Scales(SCALES.threshold, SCALES.decision, SCALES.levels, changes=0)
    allowed = still.allowances(8, 0.1)
    assert allowed.update == 0
    assert allowed.total == allowed.comparison + allowed.threshold
    assert Allowances(comparison=1, threshold=2, update=4).total == 7


def test_the_bound_adds_up_and_the_algorithm_has_the_other_half_of_beta() -> None:
    allowed = SCALES.allowances(8, 0.1)
    jump = 5
    threshold = jump + allowed.total
    error = ContinualError(Off(), SCALES, threshold, jump)
    expected = threshold + allowed.comparison + allowed.threshold + 1 / 0.05
    assert error.bound_all(8, 0.1) == error.bound(8, 0.1) == expected


def test_a_threshold_too_low_for_beta_promises_nothing() -> None:
    needed = 5 + SCALES.allowances(8, 0.1).total
    assert math.isfinite(ContinualError(Exactly(), SCALES, needed, 5).bound_all(8, 0.1))
    assert ContinualError(Exactly(), SCALES, needed - 1, 5).bound_all(8, 0.1) == math.inf
    # chosen for 8 steps at 0.1, it holds for fewer and for a larger beta, not the other way
    error = ContinualError(Exactly(), SCALES, needed, 5)
    assert math.isfinite(error.bound_all(4, 0.1))
    assert math.isfinite(error.bound_all(8, 0.5))
    assert error.bound_all(800, 0.1) == error.bound_all(8, 1e-4) == math.inf


@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5])
def test_beta_is_a_probability(beta: float) -> None:
    with pytest.raises(BadInput, match="beta"):
        SCALES.allowances(8, beta)


def test_one_published_value_needs_the_noises_of_its_own_step_alone() -> None:
    error = ContinualError(Exactly(), SCALES, threshold=10**6, jump=5)
    assert error.published(8, 0.06) == 10**6 + laplace_sum.quantile(
        1, SCALES.decision, 0.01
    ) + laplace_sum.quantile(SCALES.levels, SCALES.threshold, 0.01)
    assert error.published(1000, 0.06) < error.bound(1000, 0.06)
