"""Distinct users as estimators: laws of the bits, sensitivity, and made continual."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.estimators.estimator import Estimator, grid_units, on_grid
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.transformation import HALTED
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Zero
from ameles.noise.enumeration import law_of
from tests.odd_values import ODD, name_of

CANARY = 8_675_309
PRESENCE, SUBSTITUTION = Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION


def test_exact_answers_and_their_sensitivity_by_brute_force() -> None:
    recipe = ExactDistinct(users=3)

    def answers(users: tuple[int, ...]) -> list[int]:
        run = recipe.start(Zero())
        exact = []
        for user in users:
            run.add(user)
            exact.append(run.answer())
        return exact

    assert answers((2, 2, 0)) == [1, 1, 2]
    for users in product(range(3), repeat=4):
        zeros = [i for i, user in enumerate(users) if user == 0]
        for chosen in product((False, True), repeat=len(zeros)):
            other = list(users)
            for i, moves in zip(zeros, chosen, strict=True):
                other[i] = 1 if moves else 0
            gaps = np.abs(np.array(answers(users)) - answers(tuple(other)))
            assert gaps.max() <= recipe.sensitivity


@pytest.mark.parametrize("occurrences", [1, 3])
def test_the_table_of_the_bits(occurrences: int) -> None:
    # in base 2, epsilon 1: the present have P(0) = 1/4, the absent 1/2, so a ratio of 2 at most
    recipe = NoisyDistinct(users=1, epsilon=1, neighbours=PRESENCE)

    def bits(noise: Noise, count: int) -> Hashable:
        run = recipe.start(noise)
        for _ in range(count):
            run.add(0)
        return run.answer()

    assert law_of(lambda noise: bits(noise, 0), modulus=3) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    present = law_of(lambda noise: bits(noise, occurrences), modulus=3)
    assert present == {0: Fraction(1, 4), 1: Fraction(3, 4)}


@pytest.mark.parametrize(("relation", "sensitivity"), [(PRESENCE, 1), (SUBSTITUTION, 2)])
def test_the_estimate_is_the_number_of_users(relation: Neighbours, sensitivity: int) -> None:
    # 20,000 bits; false alarm below 1e-6 by Hoeffding's bound
    recipe = NoisyDistinct(users=20_001, epsilon=2, neighbours=relation)
    run = recipe.start(System.direct())
    run.add(range(5000))
    reach = recipe.answer_error.bound(1, 1e-6)
    assert abs(run.answer() - recipe.gamma * 5000) <= reach
    assert abs(recipe.users_of(run.answer()) - 5000) <= recipe.users_of(reach)
    assert recipe.sensitivity == sensitivity
    assert recipe.highest == math.ceil(recipe.gamma * 20_001)


def test_promises() -> None:
    noisy = NoisyDistinct(users=5, epsilon="1/3", neighbours=SUBSTITUTION)
    assert noisy.state_guarantee.loss == Pure("1/3")
    assert noisy.state_guarantee.intrusions is Intrusions.ONE
    exact = ExactDistinct(users=5)
    assert exact.state_guarantee.intrusions is Intrusions.NONE
    assert exact.answer_error.bound_all(9, 0.1) == exact.answer_error.bound(9, 0.1) == 0
    assert isinstance(noisy, Estimator)
    assert isinstance(exact, Estimator)


def test_the_state_is_the_bits_and_survives() -> None:
    recipe = NoisyDistinct(users=13, epsilon=1, neighbours=PRESENCE)
    run = recipe.start(System.direct())
    run.add(4)
    run.add([5, 5, 6])
    run.add(None)
    assert len(run.snapshot()) == len(recipe.start(System.direct()).snapshot())
    assert recipe.resume(run.snapshot(), Zero()).answer() == run.answer()
    assert recipe.resume(run.snapshot(), Zero()).snapshot() == run.snapshot()


DISTINCT: tuple[ExactDistinct | NoisyDistinct, ...] = (
    ExactDistinct(users=13),
    NoisyDistinct(users=13, epsilon=1, neighbours=PRESENCE),
)


@pytest.mark.parametrize("odd", [-1, 13, 10**30, True, *ODD], ids=name_of)
@pytest.mark.parametrize("kind", ["exact", "noisy"])
def test_who_is_not_in_the_universe_counts_nowhere(kind: str, odd: Any) -> None:
    noisy = NoisyDistinct(users=13, epsilon=1, neighbours="user-presence")
    recipe: Any = ExactDistinct(users=13) if kind == "exact" else noisy
    run = recipe.start(System.direct())
    run.add(3)
    before = run.snapshot()
    run.check([odd])
    run.add([odd])
    assert run.snapshot() == before


def test_what_is_no_list_of_users_is_refused_and_not_told() -> None:
    run: Any = ExactDistinct(users=13).start(System.direct())
    before = run.snapshot()
    for bad in ({8_675_309}, np.array([8_675_309.0]), np.array([["8675309"]])):
        for call in (run.check, run.add):
            with pytest.raises(BadInput) as caught:
                call(bad)
            assert "8675309" not in str(caught.value)
    assert run.snapshot() == before


@pytest.mark.parametrize("recipe", DISTINCT, ids=lambda recipe: type(recipe).__name__)
def test_what_is_checked_is_not_taken(recipe: ExactDistinct | NoisyDistinct) -> None:
    run = recipe.start(System.direct())
    before = run.snapshot()
    given = np.array([3, 4, 4])
    inputs: tuple[object, ...] = (None, 3, given, range(13), [])
    for x in inputs:
        run.check(x)
    assert run.snapshot() == before
    run.add(given)
    assert given.tolist() == [3, 4, 4]  # the caller's array is left alone


def test_an_array_of_users_counts_like_one_after_another() -> None:
    one, many = (ExactDistinct(users=13).start(Zero()) for _ in range(2))
    for user in (3, 4, 4, 12):
        one.add(user)
    many.add(np.array([3, 4, 4, 12], dtype=np.uint8))
    many.add([])
    many.add(None)
    assert one.answer() == many.answer() == 3


def test_other_relations_are_refused() -> None:
    for relation in ("step", "add-remove", "replace"):
        with pytest.raises(BadInput, match="USER_PRESENCE"):
            NoisyDistinct(users=13, epsilon=1, neighbours=relation)


def test_distinct_users_at_every_step_from_a_state_that_may_be_seized() -> None:
    # the bound fails with probability 1e-6; 200 users arrive at each of 16 steps
    inner = NoisyDistinct(users=4000, epsilon=3, neighbours=PRESENCE)
    recipe = continual_monotone(
        inner, highest=inner.highest, horizon=16, epsilon=4, sensitivity=1, beta=1e-6
    )
    assert recipe.guarantee.loss == Pure(13)
    run = recipe.start(System.direct())
    reach = recipe.error.bound_all(16, 1e-6)
    assert reach < inner.highest
    for step in range(16):
        released = run.step(range(200 * step, 200 * (step + 1)))
        assert released is not HALTED
        assert abs(released - inner.gamma * 200 * (step + 1)) <= reach


def test_rounding_moves_with_its_argument() -> None:
    grid = Fraction(1, 3)
    values = [Fraction(k, 24) for k in range(-60, 61)]
    for one in values:
        for other in values:
            apart = abs(on_grid(one, grid) - on_grid(other, grid))
            assert apart <= grid_units(abs(one - other), grid)
    # Python's round would break it: 0.5 and 1.5 are one apart, and become 0 and 2
    assert round(1.5) - round(0.5) == 2
    assert on_grid(Fraction(3, 2), Fraction(1)) - on_grid(Fraction(1, 2), Fraction(1)) == 1


def test_the_state_is_a_bit_for_each_user() -> None:
    recipe = ExactDistinct(users=9)
    run = recipe.start(Zero())
    run.add(np.array([2, 7, 2]))
    (words,) = unpack(run.snapshot(), recipe.fingerprint).parts
    assert words.view(np.uint8).tolist() == [0, 0, 1, 0, 0, 0, 0, 1, *[0] * 8]
