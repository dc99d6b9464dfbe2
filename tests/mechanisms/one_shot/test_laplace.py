"""The Laplace mechanism: real numbers on a grid, what rounding costs, and declared sequences."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss, exact_loss
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot import LaplaceMechanism, laplace_sequence
from ameles.mechanisms.one_shot.exact_inputs import grid_units
from ameles.noise import Tape, Zero

ONE: dict[str, Any] = {"neighbours": "replace"}


class RoundingForgotten(LaplaceMechanism):
    """ceil(D / g) units for a vector, too."""

    @property
    def reach(self) -> int:
        return super().reach - (self.width or 1) + 1


def test_without_noise_it_is_the_rounded_truth() -> None:
    recipe = LaplaceMechanism(epsilon=1, sensitivity=1, granularity="0.1", **ONE)
    assert recipe.start(Zero()).step(Fraction(1, 3)) == 0.3
    assert recipe.start(Zero()).step(7) == 7.0
    vector = LaplaceMechanism(epsilon=1, sensitivity=1, granularity="0.1", width=3, **ONE)
    answer = vector.start(Zero()).step([1, Fraction(-1, 3), Fraction(1, 20)])
    assert np.asarray(answer).tolist() == [1.0, -0.3, 0.1]
    assert np.asarray(vector.start(Zero()).step(np.array([1, 2, 3]))).tolist() == [1.0, 2.0, 3.0]


def test_the_noise_is_in_grid_units() -> None:
    tape = Tape([3])
    recipe = LaplaceMechanism(epsilon="1/2", sensitivity="0.35", granularity="0.1", **ONE)
    assert recipe.reach == 4  # 3.5 units, rounded up
    assert recipe.start(tape).step(1) == 1.3
    assert tape.laws == [("laplace", Fraction(8))]
    assert recipe.guarantee.contribution.bound == 4


@pytest.mark.parametrize("width", [None, 1, 2, 3])
def test_how_far_rounding_takes_neighbours_apart(width: int | None) -> None:
    # a change of 28 twelfths of a grid unit, spread in every way, from every place in twelfths
    recipe = LaplaceMechanism(epsilon=1, sensitivity="7/3", granularity=1, width=width, **ONE)

    def unit(twelfths: int) -> int:
        return int(grid_units(Fraction(twelfths, 12), None, Fraction(1))[0])

    apart = [max(unit(x + by) - unit(x) for x in range(12)) for by in range(29)]
    farthest = max(
        sum(apart[by] for by in spread)
        for spread in product(range(29), repeat=width or 1)
        if sum(spread) <= 28
    )
    assert farthest == recipe.reach == 3 + (width or 1) - 1


def test_the_exact_loss_is_the_one_that_is_claimed() -> None:
    finding = exact_loss(LaplaceMechanism(epsilon="1/3", sensitivity=2, granularity=1, **ONE))
    assert (finding.verdict, finding.exact) == (Verdict.CERTIFIED, Fraction(1, 3))


def test_a_vector_whose_rounding_is_forgotten_loses_more() -> None:
    # a change of 1/50 in all, and yet each of the two numbers is rounded to another unit
    pair = [Fraction(1, 2)] * 2, [Fraction(49, 100)] * 2

    def look(recipe: Any, x: list[Fraction]) -> Callable[[Noise], tuple[float, ...]]:
        def program(noise: Noise) -> tuple[float, ...]:
            return tuple(np.asarray(recipe.start(noise).step(x)) % 5)

        return program

    shared: dict[str, Any] = {"sensitivity": 1, "granularity": 1, "width": 2, **ONE}
    right = LaplaceMechanism(epsilon=2, **shared)
    wrong = RoundingForgotten(epsilon=1, **shared)
    programs = [look(right, x) for x in pair]
    assert enumerated_loss(*programs, epsilon=2, modulus=5).verdict is Verdict.CERTIFIED
    programs = [look(wrong, x) for x in pair]
    assert enumerated_loss(*programs, epsilon=1, modulus=5).verdict is Verdict.REFUTED


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_the_error_is_the_law_of_the_noise_and_half_a_unit(beta: float) -> None:
    recipe = LaplaceMechanism(epsilon=1, sensitivity=1, granularity="0.01", width=10, **ONE)
    a = math.exp(-1 / 109)

    def tail(units: float) -> float:
        return 2 * math.pow(a, units + 1) / (1 + a)

    one = round(recipe.error.bound(1, beta) * 100 - 0.5)
    every = round(recipe.error.bound_entries(beta) * 100 - 0.5)
    assert tail(one) <= beta < tail(one - 1)
    assert 1 - (1 - tail(every)) ** 10 <= beta * (1 + 1e-6)
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)
    # the continuous statements: D ln(k / beta) / epsilon for all, to which the grid adds little
    assert recipe.error.bound_entries(beta) <= 1.09 * math.log(10 / beta) + 0.01
    assert recipe.error.std(1) == pytest.approx(math.sqrt(2) * 1.09, rel=1e-4)


@pytest.mark.parametrize("bad", [1.5, np.float64(2), "3", None, True, [1], [1, 2.5], [1, 2, 3]])
def test_floats_and_other_things_are_refused(bad: object) -> None:
    recipe = LaplaceMechanism(epsilon=1, sensitivity=1, granularity=1, **ONE)
    with pytest.raises(BadInput):
        recipe.start(Zero()).step(bad)
    vector = LaplaceMechanism(epsilon=1, sensitivity=1, granularity=1, width=2, **ONE)
    with pytest.raises(BadInput):
        vector.start(Zero()).step(bad)


def test_a_grid_that_is_too_fine_is_refused() -> None:
    with pytest.raises(BadInput, match="2\\*\\*40 grid units"):
        LaplaceMechanism(epsilon=1, sensitivity=10**3, granularity="1e-12", **ONE)


# Sequences ---------------------------------------------------------------------------------


def test_a_sequence_has_the_same_noise_on_every_answer() -> None:
    recipe = laplace_sequence(epsilon="1/2", sensitivities=[1, 5, 2], neighbours="add-remove")
    tape = Tape()
    run = recipe.start(tape)
    first = run.step([10])
    assert run.step([int(first[0]) * 2]).tolist() == [20]  # a question about the answer before
    assert run.step([7]).tolist() == [7]
    assert tape.laws == [("laplace", Fraction(16))] * 3
    assert recipe.guarantee.loss == Pure("1/2")
    with pytest.raises(HorizonReached):
        run.step([1])


def test_a_sequence_loses_epsilon_over_all_its_questions() -> None:
    def look(scales: list[int], answers: list[int]) -> Callable[[Noise], tuple[int, ...]]:
        def program(noise: Noise) -> tuple[int, ...]:
            recipe = laplace_sequence(epsilon=3, sensitivities=scales, neighbours="add-remove")
            run = recipe.start(noise)
            return tuple(int(run.step([one])[0]) % 5 for one in answers)

        return program

    declared, hidden = [1, 2], [1, 1]  # the second question moves by two
    right = [look(declared, answers) for answers in ([0, 0], [1, 2])]
    assert enumerated_loss(*right, epsilon=3, modulus=5).verdict is Verdict.CERTIFIED
    with pytest.raises(BadInput, match="whole"):  # 3/2 is no power of 2, so not enumerated
        enumerated_loss(*(look(hidden, x) for x in ([0], [1])), epsilon=3, modulus=5)


@pytest.mark.parametrize("bad", [[0, 1], [1.5], [2**41]])
def test_sensitivities_of_a_sequence_are_whole(bad: Any) -> None:
    with pytest.raises(BadInput, match="sensitivities"):
        laplace_sequence(epsilon=1, sensitivities=bad, neighbours="add-remove")
