"""The per-step baseline: exact joint law of states and releases, its error, its known answers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.noise import Noise
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.noise import System, Zero
from ameles.noise.enumeration import law_of

RECIPE = RandomizedResponseCounter(odds=3)


def seen(bits: tuple[int, ...], noise: Noise) -> Any:
    """Every release, and every state between two steps."""
    run = RECIPE.start(noise)
    return tuple((run.step(bit), run._parts()[0].tobytes()) for bit in bits)


def test_whoever_sees_every_state_and_release_learns_epsilon() -> None:
    streams = itertools.product((0, 1), repeat=3)
    laws = {bits: law_of(partial(seen, bits), modulus=3) for bits in streams}
    worst = Fraction(1)
    for one, other in itertools.permutations(laws, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            assert laws[one].keys() == laws[other].keys()
            worst = max(worst, *(laws[one][v] / laws[other][v] for v in laws[one]))
    assert worst == 3
    # unbiased, exactly up to the floats of the release
    for bits, law in laws.items():
        mean = sum(float(p) * outcome[-1][0] for outcome, p in law.items())
        assert mean == pytest.approx(sum(bits))


def test_known_answers() -> None:
    # catalogue 2
    counter = RandomizedResponseCounter(epsilon="0.1")
    assert counter.error.std(1) == pytest.approx(9.996, abs=5e-4)
    assert SimpleTwoCounter(epsilon="0.1").error.std(1) == pytest.approx(14.14, abs=0.01)
    expected = math.sqrt(64) * math.exp(0.05) / math.expm1(0.1)
    assert counter.error.std(64) == pytest.approx(expected)


def test_bounds_hold() -> None:
    # 400 runs of 200 steps; at 1e-6 false alarm below 1e-3, and the deviation within 20% (5.6 s.e.)
    counter = RandomizedResponseCounter(epsilon=1)
    bits = np.arange(200) % 2
    errors = [counter.start(System.direct()).feed(bits)[-1] - 100 for _ in range(400)]
    assert max(map(abs, errors)) <= counter.error.bound(200, 1e-6)
    assert np.std(errors) == pytest.approx(counter.error.std(200), rel=0.2)


def test_inputs_are_bits_and_steps_end_at_the_horizon() -> None:
    run = RandomizedResponseCounter(odds=3, horizon=3).start(Zero())
    assert run.feed([7, -2]).tolist() == [1.5, 1.0]
    with pytest.raises(BadInput):
        run.step(1.0)
    with pytest.raises(HorizonReached):
        run.feed([1, 1])
    assert run.t == 2
    assert run.feed([]).tolist() == []
