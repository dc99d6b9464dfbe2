"""Simple counter I: its loss from the code, its error, its baseline figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from tests.mechanisms.counters.loss import exact_loss


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 16])
def test_the_loss_is_exactly_epsilon(horizon: int) -> None:
    recipe = SimpleOneCounter(epsilon="1/3", horizon=horizon)
    assert exact_loss(recipe, horizon) == Fraction(1, 3)


@pytest.mark.parametrize("contributions", [1, 2, 3, 5, 9])
def test_several_contributions_pile_up_exactly(contributions: int) -> None:
    recipe = SimpleOneCounter(epsilon=1, horizon=6, contributions=contributions, bound=4)
    assert exact_loss(recipe, 6) == 1


def test_a_scale_that_ignores_the_pile_is_caught() -> None:
    @dataclass(frozen=True, kw_only=True)
    class OneContributionOnly(SimpleOneCounter):
        @property
        def scale(self) -> Fraction:
            return self.bound * self.horizon / self.loss.epsilon

    assert exact_loss(OneContributionOnly(epsilon=1, horizon=6, contributions=2), 6) > 1


def test_guarantee() -> None:
    guarantee = SimpleOneCounter(epsilon=0.5, horizon=9, contributions=2, unit="user").guarantee
    assert guarantee.loss == Pure("1/2")
    assert guarantee.horizon == 9
    assert guarantee.intrusions is Intrusions.NONE
    assert str(guarantee) == (
        "epsilon 0.5 for one user: streams that differ in up to 2 steps by at most 1 (L1), "
        "over 9 steps"
    )


@pytest.mark.parametrize(
    ("horizon", "deviation"), [(2**10, 1448), (2**16, 92_682), (2**20, 1.48e6)]
)
def test_the_baseline_of_the_frontier(horizon: int, deviation: float) -> None:
    assert SimpleOneCounter(epsilon=1, horizon=horizon).error.std(1) == pytest.approx(
        deviation, rel=0.01
    )


def test_tails_of_one_and_of_all_steps() -> None:
    # catalogue 1: P(> x) = exp(-x epsilon / T); all at once (T / epsilon) ln(T / beta)
    error = SimpleOneCounter(epsilon=1, horizon=1000).error
    assert error.bound(1, 0.05) == pytest.approx(1000 * math.log(20), abs=1)
    union = 1000 * math.log(1000 / 0.05)
    assert error.bound_all(1000, 0.05) <= union
    assert error.bound_all(1000, 0.05) == pytest.approx(union, rel=0.01)
