"""Elders: balanced digits, figures of the frontier, draws and memory."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.elders import EldersCounter, balanced_digits, balanced_levels
from ameles.noise import System, Tape
from tests.each import together
from tests.mechanisms.counters.figures import mean_and_worst


@given(st.integers(0, 10**9), st.sampled_from([3, 5, 7, 19, 21]))
def test_balanced_digits_make_up_the_number(t: int, k: int) -> None:
    digits = balanced_digits(t, k, balanced_levels(max(t, 1), k))
    assert sum(digit * k**level for level, digit in enumerate(digits)) == t
    assert all(abs(digit) <= k // 2 for digit in digits)


@pytest.mark.parametrize(
    ("power", "mean", "worst"), [(10, 13.06, 18.0), (16, 24.8, 34.4), (20, 33.9, 46.9)]
)
def test_the_figures_of_the_frontier(power: int, mean: float, worst: float) -> None:
    recipe = EldersCounter(epsilon="1/100", horizon=2**power)
    figures = mean_and_worst(recipe, 2**power)
    assert figures[0] == pytest.approx(100 * mean, rel=0.01)
    assert figures[1] <= 100 * worst * 1.001


@pytest.mark.parametrize("power", [10, 16, 20])
def test_the_goal_against_the_binary_tree(power: int) -> None:
    elders = mean_and_worst(EldersCounter(epsilon="1/100", horizon=2**power), 2**power)[0]
    binary = mean_and_worst(BinaryCounter(epsilon="1/100", horizon=2**power), 2**power)[0]
    assert elders <= 0.38 * binary


def test_arities_are_odd() -> None:
    with pytest.raises(BadInput, match="odd"):
        EldersCounter(epsilon=1, horizon=8, arity=4)


def test_about_one_draw_a_step() -> None:
    tape = Tape()
    EldersCounter(epsilon=1, horizon=2000).start(tape).feed(np.zeros(2000, dtype=int))
    assert 2000 * 0.9 < len(tape.draws) < 2000 * 1.1


@pytest.mark.parametrize(("horizon", "arity"), [(13, 3), (40, 3), (40, 5)])
def test_totals_of_an_interval_have_the_noises_that_both_counts_do_not_share(
    horizon: int, arity: int
) -> None:
    recipe = EldersCounter(epsilon=1, horizon=horizon, arity=arity)
    tape = Tape()
    recipe.start(tape).feed([0] * horizon)
    columns = [recipe.start(Tape.impulse(i)).feed([0] * horizon) for i in range(len(tape.draws))]
    rows = np.array([np.zeros(len(columns), dtype=int), *np.array(columns).T])
    for before in range(horizon):
        for t in range(before + 1, horizon + 1):
            (part,) = recipe.error.between(before, t).parts
            assert part.count == np.abs(rows[t] - rows[before]).sum()


@together("horizon", [33, 64, 100, 365])
@together("arity", [3, 5, 13])
@together("cuts", [(), (1,), (32, 40, 45)])
def test_many_steps_at_once_are_as_one_by_one(
    cuts: tuple[int, ...], arity: int, horizon: int
) -> None:
    recipe = EldersCounter(epsilon=1, horizon=horizon, arity=arity, width=2)
    script = Tape(beyond=System()).laplace(Fraction(9), 8 * horizon).tolist()
    many, single = (recipe.process(Tape(script), None) for _ in range(2))
    edges = [0, *(cut for cut in cuts if cut < horizon), horizon]
    taken = np.concatenate([many.take(end - start) for start, end in pairwise(edges)])
    assert taken.tolist() == [single.take(1)[0].tolist() for _ in range(horizon)]
    assert many.state().tolist() == single.state().tolist()
    # and the run that goes on from there is the same
    again = recipe.process(Tape([0] * 100), many.state())
    assert again.state().tolist() == single.state().tolist()
