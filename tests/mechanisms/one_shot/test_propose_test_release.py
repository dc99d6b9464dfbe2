"""Propose, test, release: its test, its exact delta, and what happens without the test."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction

import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.propose_test_release import ProposeTestRelease
from ameles.noise import System, Tape, Zero

RECIPE = ProposeTestRelease(epsilon=1, delta="1e-3", proposed=4, neighbours="replace")


def passing(epsilon: float, threshold: int) -> float:
    """The chance that discrete Laplace noise of scale 2 / epsilon exceeds the threshold."""
    a = math.exp(-epsilon / 2)
    return math.pow(a, threshold + 1) / (1 + a)


def test_without_noise_it_is_the_number_or_nothing() -> None:
    far = RECIPE.threshold + 1
    assert RECIPE.start(Zero()).step((-77, far)) == -77
    assert RECIPE.start(Zero()).step((-77, far - 1)) is None
    assert RECIPE.start(Zero()).step((-77, 10**40)) == -77
    assert RECIPE.start(Zero()).step((-77, -5)) is None


def test_both_noises_have_their_scales() -> None:
    tape = Tape([1, 5])
    assert RECIPE.start(tape).step((100, RECIPE.threshold)) == 105
    assert tape.laws == [("laplace", Fraction(2)), ("laplace", Fraction(8))]
    refused = Tape([-1, 5])
    assert RECIPE.start(refused).step((100, RECIPE.threshold + 1)) is None
    assert refused.count == 1


@pytest.mark.parametrize("epsilon", ["1/10", 1, 7])
@pytest.mark.parametrize("delta", ["1/2", "1e-3", "1e-12"])
def test_the_threshold_is_the_least_that_delta_allows(epsilon: str, delta: str) -> None:
    recipe = replace(RECIPE, epsilon=epsilon, delta=delta)
    rate, allowed = float(Fraction(epsilon)), float(Fraction(delta))
    assert passing(rate, recipe.threshold) <= allowed
    assert recipe.threshold == 0 or passing(rate, recipe.threshold - 1) > allowed
    assert recipe.guarantee.loss == Approx(epsilon, delta)


class Untested(ProposeTestRelease):
    """Tests without noise."""

    def release(self, x: tuple[int, int], noise: Noise) -> int | None:
        return super().release(x, noise) if x[1] > self.threshold else None


class Low(ProposeTestRelease):
    threshold = 0


def program(recipe: ProposeTestRelease, value: int, distance: int) -> Callable[[Noise], Hashable]:
    def look(noise: Noise) -> Hashable:
        released = recipe.start(noise).step((value, distance))
        return None if released is None else released % 15

    return look


def loss(kind: type[ProposeTestRelease], distance: int) -> Verdict:
    # in base 2 both scales are 1; neighbours at distances one apart, whose numbers differ by 1;
    # 0.01 is for the tail beyond the modulus, which a comparison misses
    recipe = kind(epsilon=2, delta="1/4", proposed=1, neighbours="replace")
    pair = program(recipe, 0, distance), program(recipe, 1, distance + 1)
    return enumerated_loss(*pair, epsilon="2.01", modulus=15).verdict


@pytest.mark.parametrize("distance", [0, 1, 2])
def test_every_tape_of_two_tables_that_are_far_enough(distance: int) -> None:
    assert loss(ProposeTestRelease, distance) is Verdict.CERTIFIED


def test_a_test_without_noise_is_found() -> None:
    assert Verdict.REFUTED in {loss(Untested, distance) for distance in (0, 1, 2)}


def test_a_low_threshold_exceeds_delta() -> None:
    # two unstable neighbours may differ by anything: delta is the chance to pass at distance 0
    assert passing(1, RECIPE.threshold) <= 1e-3 < passing(1, Low.threshold)
    assert passing(1, Low.threshold) == pytest.approx(0.3775, abs=1e-4)


def test_from_where_on_it_releases() -> None:
    need = RECIPE.needs(0.05)
    # P(noise <= threshold - need) is at most half of the two-sided tail
    assert passing(1, need - RECIPE.threshold - 1) <= 0.05
    # false alarm: below 1e-12 at a need of 1e-15
    sure = RECIPE.needs(1e-15)
    assert RECIPE.start(System()).step((0, sure)) is not None


def test_the_error_is_the_noise_s() -> None:
    a = math.exp(-1 / 8)
    bound = RECIPE.error.bound(1, 0.01)
    assert 2 * math.pow(a, bound + 1) / (1 + a) <= 0.01 < 2 * math.pow(a, bound) / (1 + a)
    assert RECIPE.error.bound_all(5, 0.05) == bound
    assert RECIPE.error.std(1) == pytest.approx(8 * math.sqrt(2), rel=0.01)


@pytest.mark.parametrize("bad", [3, (3,), (3, 4.0), (3.0, 4), [3, 4]])
def test_what_a_step_takes(bad: object) -> None:
    with pytest.raises(BadInput):
        RECIPE.start(Zero()).step(bad)
