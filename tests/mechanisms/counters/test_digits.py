"""Counters by digits: noise by popcount, and the most noises that a count can have."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.parameters import Exact
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.digits import (
    DigitError,
    most_blocks,
    steps_by_blocks,
    unshared_blocks,
)
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.noise import Tape
from tests.each import together
from tests.mechanisms.counters.loss import exact_loss


@given(st.lists(st.integers(2, 5), max_size=5), st.integers(1, 300))
def test_most_terms_is_the_maximum(arities: list[int], steps: int) -> None:
    error = DigitError(KAryCounter(epsilon=1, horizon=9, arity=3).scale, tuple(arities))
    assert error.most_terms(steps) == max(error.terms(t) for t in range(1, steps + 1))


@given(st.lists(st.integers(2, 5), max_size=4), st.integers(0, 200), st.integers(0, 200))
def test_unshared_blocks_are_symmetric_and_count_differences(
    arities: list[int], one: int, other: int
) -> None:
    levels = tuple(arities)
    assert unshared_blocks(one, other, levels) == unshared_blocks(other, one, levels)
    assert unshared_blocks(one, one, levels) == [0] * (len(levels) + 1)


@pytest.mark.parametrize("arity", [2, 3, 7])
def test_one_noise_is_drawn_each_step(arity: int) -> None:
    tape = Tape()
    KAryCounter(epsilon=1, horizon=60, arity=arity).start(tape).feed(np.zeros(60, dtype=int))
    assert len(tape.draws) == 60


@pytest.mark.parametrize("epsilon", [1, "1/3"])
def test_contributions_and_bound_scale_the_noise(epsilon: Exact) -> None:
    one = KAryCounter(epsilon=epsilon, horizon=60, arity=3)
    many = KAryCounter(epsilon=epsilon, horizon=60, arity=3, contributions=4, bound=5)
    assert many.scale == 20 * one.scale


# The second law: several contributions cost what they change --------------------------------

RECIPES: dict[str, Any] = {
    "binary": partial(BinaryCounter),
    "tree": partial(TreeCounter),
    "rooted": partial(TreeCounter, root=True),
    "ternary": partial(KAryCounter, arity=3),
    "two levels": partial(TwoLevelCounter),
}


@together("horizon", [1, 3, 6, 8])
@together("contributions", [1, 3])
@together("kind", list(RECIPES))
def test_the_loss_of_several_contributions_is_exactly_epsilon(
    kind: str, contributions: int, horizon: int
) -> None:
    # Every pattern of steps and signs, on the matrices of the real code.
    given: dict[str, Any] = {
        "epsilon": "1/2",
        "horizon": horizon,
        "contributions": contributions,
        "bound": 3,
    }
    assert exact_loss(RECIPES[kind](**given), horizon) == Fraction(1, 2)
    first = RECIPES[kind](**given, law=1)
    assert first.scale == 2 * contributions * 3 * first.levels
    assert exact_loss(first, horizon) <= Fraction(1, 2)


def test_a_scale_that_is_too_small_is_noticed() -> None:
    class Cheap(BinaryCounter):
        @property
        def scale(self) -> Fraction:
            return self.scale_for(self.bound * most_blocks(self.horizon, self.arities, 3) - 1)

    assert exact_loss(Cheap(epsilon=1, horizon=8, contributions=3), 8) > 1


@given(st.lists(st.integers(2, 4), max_size=4), st.integers(1, 200), st.integers(1, 250))
def test_blocks_are_counted_as_if_one_by_one(
    arities: list[int], horizon: int, contributions: int
) -> None:
    counts = [0] * (horizon + 1)
    size = 1
    for arity in (*arities, 0):
        for block in range(1, horizon // size + 1):
            if not arity or block % arity:  # the last part of a block has no noise
                for step in range((block - 1) * size + 1, block * size + 1):
                    counts[step] += 1
        size *= arity
    steps = steps_by_blocks(horizon, tuple(arities))
    assert steps == [counts[1:].count(blocks) for blocks in range(len(arities) + 2)]
    most = sum(sorted(counts[1:], reverse=True)[:contributions])
    assert most_blocks(horizon, tuple(arities), contributions) == most


def test_what_several_contributions_save() -> None:
    scales = [
        BinaryCounter(epsilon=1, horizon=1024, contributions=m, law=law).scale
        for m in (1, 3, 10)
        for law in (1, 2)
    ]
    assert scales == [11, 11, 33, 31, 110, 101]


def test_a_root_that_is_never_reached_costs_nothing() -> None:
    assert [TreeCounter(epsilon=1, horizon=t, root=True).scale for t in (7, 8, 9)] == [3, 4, 4]
    assert TreeCounter(epsilon=1, horizon=7, root=True, law=1).scale == 4
