"""The k-ary counter against the frontier."""

from __future__ import annotations

import pytest

from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.noise import Tape
from tests.mechanisms.counters.figures import mean_and_worst


@pytest.mark.parametrize(("power", "mean"), [(10, 15.6), (16, 31.0), (20, 43.3)])
def test_the_figures_of_the_frontier(power: int, mean: float) -> None:
    recipe = KAryCounter(epsilon="1/100", horizon=2**power)
    assert mean_and_worst(recipe, 2**power)[0] == pytest.approx(100 * mean, rel=0.015)


def test_with_two_blocks_it_is_the_binary_counter() -> None:
    script = list(range(1, 31))
    plain, binary = (
        KAryCounter(epsilon=1, horizon=30, arity=2),
        BinaryCounter(epsilon=1, horizon=30),
    )
    assert plain.scale == binary.scale
    runs = [recipe.start(Tape(script)).feed([1] * 30).tolist() for recipe in (plain, binary)]
    assert runs[0] == runs[1]
