"""The geometric mechanism: truth without noise, exact loss, exact error."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss, exact_loss
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise import Tape, Zero

ONE: dict[str, Any] = {"neighbours": "add-remove"}


def test_without_noise_it_is_the_truth() -> None:
    assert GeometricMechanism(epsilon=1, **ONE).start(Zero()).step(17) == 17
    released = GeometricMechanism(epsilon=1, width=3, **ONE).start(Zero()).step((3, 1, 4))
    assert isinstance(released, np.ndarray)
    assert released.tolist() == [3, 1, 4]


def test_each_number_has_its_own_noise_of_the_stated_scale() -> None:
    tape = Tape([5, -2])
    recipe = GeometricMechanism(epsilon="0.5", sensitivity=3, width=2, **ONE)
    assert np.asarray(recipe.start(tape).step([10, 20])).tolist() == [15, 18]
    assert set(tape.laws) == {("laplace", Fraction(6))}


def test_the_exact_loss_is_the_one_that_is_claimed() -> None:
    finding = exact_loss(GeometricMechanism(epsilon="1/3", sensitivity=2, **ONE))
    assert (finding.verdict, finding.exact) == (Verdict.CERTIFIED, Fraction(1, 3))


def test_a_vector_loses_epsilon_however_the_change_is_spread() -> None:
    recipe = GeometricMechanism(epsilon=2, sensitivity=2, width=2, **ONE)

    def look(x: list[int]) -> Callable[[Noise], tuple[int, ...]]:
        def program(noise: Noise) -> tuple[int, ...]:
            return tuple(int(v) % 5 for v in np.asarray(recipe.start(noise).step(x)))

        return program

    for other in ([2, 0], [0, -2], [1, 1], [1, -1]):
        finding = enumerated_loss(look([0, 0]), look(other), epsilon=2, modulus=5)
        assert finding.verdict is Verdict.CERTIFIED
    wider = enumerated_loss(look([0, 0]), look([2, 2]), epsilon=2, modulus=5)
    assert wider.verdict is Verdict.REFUTED


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_the_error_is_the_law_of_the_noise(beta: float) -> None:
    recipe = GeometricMechanism(epsilon="0.25", width=10, **ONE)
    a = math.exp(-0.25)

    def tail(m: float) -> float:
        return 2 * math.pow(a, m + 1) / (1 + a)

    one, all_ten = recipe.error.bound(1, beta), recipe.error.bound_entries(beta)
    assert tail(one) <= beta < tail(one - 1)
    assert 1 - (1 - tail(all_ten)) ** 10 <= beta * (1 + 1e-6)
    assert 1 - (1 - tail(all_ten - 1)) ** 10 > beta


@pytest.mark.parametrize("bad", [[1], [1, 2, 3], "12", {1, 2}, np.array([[1, 2]])])
def test_the_input_must_have_the_declared_width(bad: object) -> None:
    with pytest.raises(BadInput, match="must be 2 whole numbers"):
        GeometricMechanism(epsilon=1, width=2, **ONE).start(Zero()).step(bad)
