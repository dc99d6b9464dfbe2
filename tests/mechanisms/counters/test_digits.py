"""Counters by digits: noise by popcount, and the most noises that a count can have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.parameters import Exact
from ameles.mechanisms.counters.digits import DigitError, unshared_blocks
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.noise import Tape


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
