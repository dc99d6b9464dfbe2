"""Counters with Gaussian noise: other shapes through the generic checks, losses, variances."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.noise import System
from tests import checks
from tests.each import together

KINDS: tuple[type[GaussianCounter], ...] = (
    GaussianBinaryCounter,
    ToeplitzCounter,
    BufferedCounter,
    SegmentedCounter,
)
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
Kind = Callable[..., GaussianCounter]

OTHERS = {
    "two buffers": BufferedCounter(rho=1, horizon=64, width=40, buffers=2),
    "short segments": SegmentedCounter(rho=1, horizon=64, width=40, first=2, growth=2),
    "one segment after the other": SegmentedCounter(rho=1, first=5, growth=3, buffers=3),
}


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", OTHERS)
def test_every_check_on_other_shapes(name: str, check: Callable[..., None]) -> None:
    check(OTHERS[name])


def test_bounds_hold_across_segments() -> None:
    checks.bounds_hold(
        lambda width: SegmentedCounter(rho=1, first=3, growth=2, width=width), System()
    )


@EACH
def test_the_loss_is_the_one_asked_for(kind: Kind) -> None:
    assert kind(epsilon=1, delta=1e-6, horizon=8).guarantee.loss == Approx(1, "1e-6")
    assert kind(rho="0.1", horizon=8).guarantee.loss == Concentrated("1/10")
    assert kind(rho="0.1", horizon=8).spend == Fraction(1, 10)


@EACH
def test_epsilon_and_delta_are_calibrated_through_the_tight_rho(kind: Kind) -> None:
    spend = kind(epsilon=1, delta=1e-6, horizon=8).spend
    assert float(1 / (2 * spend)) ** 0.5 == pytest.approx(4.531, abs=5e-4)


@EACH
@together(
    "wrong",
    [
        {},
        {"epsilon": 1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"delta": 1e-6},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 1, "delta": 1e-6, "rho": 1},
        {"rho": 1, "delta": 1e-6},
        {"rho": 0},
        {"rho": -1},
        {"rho": "much"},
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": float("nan"), "delta": 1e-6},
    ],
)
def test_losses_that_are_none_finish_the_sentence(kind: Kind, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must be"):
        kind(**{"horizon": 8, **wrong})


@EACH
def test_parameters_that_could_reach_the_wrap_are_refused(kind: Kind) -> None:
    with pytest.raises(BadInput, match="64 bits"):
        kind(rho=1, horizon=8, bound=2**30)
    with pytest.raises(BadInput, match="64 bits"):
        kind(rho="1e-18", horizon=2**16, contributions=2**20, bound=2**21)


@EACH
def test_measured_variance_is_the_formula(kind: Kind) -> None:
    # 200,000 counters: a sample variance is off by sqrt(2 / n) = 0.32%, so 2% is 6.3 standard
    # errors, a false alarm of 3e-10 for each of the 4 comparisons
    recipe = kind(epsilon=1, delta=1e-6, horizon=12, width=200_000)
    seen = recipe.start(System()).feed(np.zeros((12, 200_000), dtype=np.int64))
    for t in (1, 7, 8, 12):
        assert float(seen[t - 1].var()) == pytest.approx(recipe.error.std(t) ** 2, rel=0.02)


def test_a_rho_is_within_its_range() -> None:
    assert GaussianBinaryCounter(rho=10**6, horizon=8).spend == 10**6
    assert GaussianBinaryCounter(rho="1e-18", horizon=8).spend == Fraction(1, 10**18)
    for rho in (10**6 + 1, "0.9e-18", 0):
        with pytest.raises(BadInput, match="'rho' parameter"):
            GaussianBinaryCounter(rho=rho, horizon=8)
