"""A series of choices: each step has its own candidates and share, and all lose the sum."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot import ChoiceSeries, ExponentialMechanism
from ameles.noise import Tape, Zero

from .neighbouring import law

TWO: dict[str, Any] = {
    "epsilons": (1, 2),
    "sensitivities": (1, 2),
    "candidates": (3, 2),
    "neighbours": "add-remove",
    "monotone": True,
}


def test_without_noise_each_step_is_the_best_candidate() -> None:
    assert ChoiceSeries(**TWO).start(Zero()).feed([[3, 9, 1], [5, 4]]) == [1, 0]


def test_all_together_lose_the_sum() -> None:
    promise = ChoiceSeries(**TWO).guarantee
    assert (promise.loss, promise.horizon) == (Pure(3), 2)
    # what a step may change is its own sensitivity, not the largest of all
    assert (promise.contribution.bound, promise.contribution.norm) == (1, Norm.DECLARED)


def test_each_step_is_an_exponential_mechanism_of_its_own() -> None:
    recipe = ChoiceSeries(**{**TWO, "epsilons": (1, 4)})
    first = ExponentialMechanism(
        epsilon=1, candidates=3, neighbours="add-remove", monotone=True, sensitivity=1
    )
    second = ExponentialMechanism(
        epsilon=4, candidates=2, neighbours="add-remove", monotone=True, sensitivity=2
    )
    assert (recipe.choice(1), recipe.choice(2)) == (first, second)
    one = ChoiceSeries(**{**TWO, "epsilons": (1,), "sensitivities": (1,), "candidates": (3,)})
    assert law(one, (3, 0, 1)) == law(first, (3, 0, 1))
    assert law(one, (3, 0, 1))[0] == Fraction(8, 11)


def played(recipe: ChoiceSeries, steps: list[list[int]]) -> Callable[[Noise], tuple[int, ...]]:
    def program(noise: Noise) -> tuple[int, ...]:
        run = recipe.start(noise)
        first = run.step(steps[0])
        # the second choice depends on the first
        return first, run.step(steps[1] if first else steps[2])

    return program


def test_the_loss_is_the_sum_also_if_the_next_choice_depends_on_the_last() -> None:
    recipe = ChoiceSeries(**TWO)
    one = played(recipe, [[0, 0, 0], [0, 0], [5, 1]])
    other = played(recipe, [[1, 0, 0], [2, 0], [7, 1]])
    assert enumerated_loss(one, other, epsilon=3, modulus=3).verdict is Verdict.CERTIFIED
    assert enumerated_loss(one, other, epsilon=1, modulus=3).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilons": (1,)},
        {"candidates": (1, 2, 3)},
        {"sensitivities": ()},
        {"candidates": (1, 2**32)},
        {"epsilons": (1, 0)},
        {"neighbours": "replace"},
    ],
)
def test_what_does_not_fit_together_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        ChoiceSeries(**{**TWO, **wrong})


def test_too_few_scores_are_refused_before_anything_is_drawn() -> None:
    tape = Tape([0, 0, 0])
    run = ChoiceSeries(**TWO).start(tape)
    for rows in ([[1, 2, 3], [2]], [[1, 2], [1, 2]], [[1, 2, 3], [1, 2], [3]]):
        with pytest.raises((BadInput, HorizonReached)):
            run.feed(rows)
    assert not tape.laws
    assert len(run.feed([[1, 2, 3], [1, 2]])) == 2
    with pytest.raises(HorizonReached):
        run.step([1])


def test_the_error_of_a_step_is_that_of_its_choice() -> None:
    recipe = ChoiceSeries(**TWO)
    assert recipe.error.bound(2, 0.05) == recipe.choice(2).error.bound(1, 0.05)
    both = [recipe.choice(step).error.bound(1, 0.025) for step in (1, 2)]
    assert recipe.error.bound_all(2, 0.05) == max(both)
