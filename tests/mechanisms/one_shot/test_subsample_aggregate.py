"""Subsample and aggregate: the middle without noise, its exact law and loss, and its error."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement as multisets

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.subsample_aggregate import SubsampleAggregate
from ameles.noise import System, Tape, Zero
from ameles.noise.enumeration import law_of
from tests.each import together

SMALL = SubsampleAggregate(epsilon=2, blocks=3, largest=4, neighbours="add-remove")


@together("answers", list(multisets(range(5), 3)))
def test_without_noise_it_is_the_median(answers: tuple[int, ...]) -> None:
    assert SMALL.start(Zero()).step(answers[::-1]) == answers[1]


def program(recipe: SubsampleAggregate, answers: tuple[int, ...]) -> Callable[[Noise], Hashable]:
    return lambda noise: recipe.start(noise).step(answers)


@pytest.mark.parametrize("answers", [(0, 0, 0), (4, 4, 4), (0, 2, 4), (1, 1, 3)])
def test_its_law_is_the_exponential_mechanism_s(answers: tuple[int, ...]) -> None:
    ranks = [max(sum(a < v for a in answers), sum(a > v for a in answers)) for v in range(5)]
    weights = [Fraction(1, 2**rank) for rank in ranks]  # rate 1 in base 2
    expected = {v: weight / sum(weights) for v, weight in enumerate(weights)}
    assert law_of(program(SMALL, answers), modulus=3) == expected


class Double(SubsampleAggregate):
    """Forgets that below and above both move."""

    @property
    def rate(self) -> Fraction:
        return self.epsilon


def test_every_answer_of_one_block_may_change() -> None:
    verdicts = {}
    for kind in (SubsampleAggregate, Double):
        recipe = kind(epsilon=2, blocks=3, largest=4, neighbours="add-remove")
        verdicts[kind] = {
            enumerated_loss(
                program(recipe, (one, 2, 4)), program(recipe, (other, 2, 4)), epsilon=2, modulus=3
            ).verdict
            for one in range(5)
            for other in range(one)
        }
    assert verdicts[SubsampleAggregate] == {Verdict.CERTIFIED}
    assert Verdict.REFUTED in verdicts[Double]


def test_answers_outside_are_moved_inside() -> None:
    assert SMALL.start(Zero()).step([-(10**9), 10**9, 10**9]) == 4
    tape = Tape()
    SMALL.start(tape).step([-5, -5, -5])
    assert tape.laws[0][0] == "pick"


def test_the_error_holds() -> None:
    # 300 draws, each beyond with probability at most 0.01: 20 or more with chance below 1e-10
    recipe = replace(SMALL, epsilon=1, blocks=101, largest=10**6)
    answers = np.arange(101) * 1000 + 400_000
    bound = recipe.error.bound(1, 0.01)
    assert bound == pytest.approx(2 * math.log((10**6 + 1) / 0.01))
    assert recipe.error.bound_all(10, 0.1) == bound
    noise = System()
    beyond = 0
    for _ in range(300):
        released = recipe.start(noise).step(answers)
        rank = max((answers < released).sum(), (answers > released).sum())
        beyond += int(rank - 50 > bound)
    assert beyond < 20


@pytest.mark.parametrize("bad", [3, [1, 2], np.ones(3), None])
def test_what_a_step_takes(bad: object) -> None:
    with pytest.raises(BadInput):
        SMALL.start(Zero()).step(bad)
