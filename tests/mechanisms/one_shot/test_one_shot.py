"""One look is one release: what the base of one-shot mechanisms refuses, and when."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import EVENT, USER, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.ledger import Ledger
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise import Tape, Zero

RECIPE = GeometricMechanism(epsilon=1, neighbours="add-remove")


class Broken(GeometricMechanism):
    """Fails after it has drawn its noise."""

    def release(self, x: Any, noise: Any) -> Any:
        super().release(x, noise)
        raise ZeroDivisionError


def test_the_guarantee_says_what_was_declared() -> None:
    recipe = GeometricMechanism(
        epsilon="0.3", sensitivity=7, neighbours="user-presence", unit="user", width=2
    )
    promise = recipe.guarantee
    assert (promise.loss, promise.unit, promise.horizon) == (Pure("0.3"), USER, 1)
    assert promise.neighbours is Neighbours.USER_PRESENCE
    assert (promise.contribution.steps, promise.contribution.bound) == (1, 7)
    assert promise.contribution.norm is Norm.L1


def test_the_relation_is_never_implicit() -> None:
    with pytest.raises(TypeError, match="neighbours"):
        GeometricMechanism(epsilon=1)


def test_a_second_look_is_refused() -> None:
    run = RECIPE.start(Zero())
    run.step(3)
    with pytest.raises(HorizonReached, match="has 1 step and has taken 1; 1 more does not fit"):
        run.step(3)
    with pytest.raises(HorizonReached, match="2 more do not fit"):
        RECIPE.start(Zero()).feed([3, 4])


def test_a_refused_input_is_no_look() -> None:
    run = RECIPE.start(Zero())
    with pytest.raises(BadInput):
        run.step(3.0)
    assert run.step(3) == 3


def test_a_look_that_fails_inside_cannot_be_repeated_with_other_noise() -> None:
    tape = Tape([5])
    run = Broken(epsilon=1, neighbours="add-remove").start(tape)
    with pytest.raises(ZeroDivisionError):
        run.step(3)
    with pytest.raises(HorizonReached):
        run.step(3)
    assert tape.count == 1


def test_a_resumed_look_is_still_the_only_one() -> None:
    people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    run = people.start(RECIPE, on="table", why="a test")
    run.step(3)
    with pytest.raises(HorizonReached):
        people.resume(RECIPE, run.snapshot()).step(3)
