"""A series of vectors: each step has its own width and noise, and all together lose the sum."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.noise import Tape, Zero

TWO: dict[str, Any] = {
    "epsilons": (1, 2),
    "sensitivities": (1, 2),
    "widths": (1, 2),
    "neighbours": "add-remove",
}


def test_each_step_has_its_own_noise() -> None:
    tape = Tape([5, -1, 7])
    run = LaplaceSeries(**{**TWO, "epsilons": ("1/2", 4)}).start(tape)
    assert run.step([10]).tolist() == [15]
    assert run.step([20, 30]).tolist() == [19, 37]
    assert list(tape.laws) == [("laplace", Fraction(2)), *[("laplace", Fraction(1, 2))] * 2]


def test_all_together_lose_the_sum() -> None:
    recipe = LaplaceSeries(**TWO)
    assert recipe.guarantee.loss == Pure(3)
    assert recipe.guarantee.horizon == 2
    # what a step may change is its own sensitivity, not the largest of all
    assert str(recipe.guarantee.contribution) == (
        "up to 2 steps by at most 1 (the sensitivity of each)"
    )


def played(recipe: LaplaceSeries, steps: list[list[int]]) -> Callable[[Noise], tuple[int, ...]]:
    def program(noise: Noise) -> tuple[int, ...]:
        run = recipe.start(noise)
        first = run.step(steps[0])
        # the second question depends on the first answer
        second = run.step(steps[1] if first[0] % 2 else steps[2])
        return tuple(int(value) % 3 for value in (*first, *second))

    return program


def test_the_loss_is_the_sum_also_if_the_next_question_depends_on_the_last_answer() -> None:
    recipe = LaplaceSeries(**TWO)
    one = played(recipe, [[0], [0, 0], [1, 5]])
    other = played(recipe, [[1], [1, 1], [1, 7]])
    assert enumerated_loss(one, other, epsilon=3, modulus=3).verdict is Verdict.CERTIFIED
    assert enumerated_loss(one, other, epsilon=1, modulus=3).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilons": (1,)},
        {"widths": (1, 2, 3)},
        {"sensitivities": ()},
        {"epsilons": 1},
        {"epsilons": (1, 0)},
        {"widths": (1, 0)},
    ],
)
def test_what_does_not_fit_together_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        LaplaceSeries(**{**TWO, **wrong})


def test_a_wrong_width_is_refused_before_anything_is_drawn() -> None:
    tape = Tape([1, 2, 3])
    run = LaplaceSeries(**TWO).start(tape)
    for vectors in ([[1], [2]], [[1, 2], [1, 2]], [[1], [1, 2], [3]]):
        with pytest.raises((BadInput, HorizonReached)):
            run.feed(vectors)
    assert (tape.count, run.t) == (0, 0)
    with pytest.raises(BadInput):
        run.step([1, 2])
    run.step([1])
    with pytest.raises(BadInput):
        run.step([1])


def test_the_error_is_that_of_each_step() -> None:
    error = LaplaceSeries(**{**TWO, "epsilons": ("0.1", 4)}).error
    assert error.bound(1, 0.05) > 20 * error.bound(2, 0.05)
    assert error.bound_all(2, 0.05) == error.bound(1, 0.025)
    assert error.std(1) > error.std(2)


def test_the_end_is_the_end() -> None:
    run = LaplaceSeries(**TWO).start(Zero())
    run.feed([[1], [1, 2]])
    with pytest.raises(HorizonReached):
        run.step([1])


@pytest.mark.parametrize("steps", [1, 9])
def test_a_series_has_one_step_or_many(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ameles.mechanisms.one_shot.series.MOST_STEPS", 9)
    fitting: dict[str, Any] = dict.fromkeys(("epsilons", "sensitivities", "widths"), [1] * steps)
    assert LaplaceSeries(**fitting, neighbours="add-remove").guarantee.horizon == steps
    for name, wrong in product(fitting, ([], [1] * 10, {1}, "1")):
        with pytest.raises(BadInput, match=f"'{name}' parameter must be a list of 1 to 9 numbers"):
            LaplaceSeries(**{**fitting, name: wrong}, neighbours="add-remove")
