"""The order of the tape: step, then level, then key."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ameles.mechanisms.counters.tape_order import Demands
from ameles.noise import Tape


def test_demands_are_merged_by_step_then_level() -> None:
    demands = Demands(4)
    demands.add(np.array([0, 1, 2, 3]), np.array([1, 1, 1, 1]))
    demands.add(np.array([1, 3]), np.array([2, 1]))
    drawn, starts = demands.draw(Tape(list(range(100, 120))), Fraction(1), 1)
    # step 0: level 0; step 1: level 0, then two of level 1; step 2; step 3: level 0, level 1
    assert drawn[:, 0].tolist() == [100, 101, 102, 103, 104, 105, 106]
    assert starts[0].tolist() == [0, 1, 4, 5]
    assert starts[1].tolist() == [2, 6]


def test_no_steps_draw_nothing() -> None:
    demands = Demands(0)
    demands.add(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    drawn, _ = demands.draw(Tape(), Fraction(1), 3)
    assert drawn.shape == (0, 3)
