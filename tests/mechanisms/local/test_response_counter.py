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
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.counters.choose import compare, counter
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.noise import System, Tape, Zero
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
    tenth = RandomizedResponseCounter(epsilon="0.1")
    assert tenth.error.std(1) == pytest.approx(9.996, abs=5e-4)
    assert SimpleTwoCounter(epsilon="0.1").error.std(1) == pytest.approx(14.14, abs=0.01)
    expected = math.sqrt(64) * math.exp(0.05) / math.expm1(0.1)
    assert tenth.error.std(64) == pytest.approx(expected)


def test_bounds_hold() -> None:
    # 400 counters of 200 steps: false alarm below 1e-3; 20% of the deviation are 5.6 s.e.
    recipe = RandomizedResponseCounter(epsilon=1, width=400)
    bits = np.tile(np.arange(200)[:, None] % 2, 400)
    errors = recipe.start(System.direct()).feed(bits)[-1] - 100
    assert np.abs(errors).max() <= recipe.error.bound(200, 1e-6)
    assert np.std(errors) == pytest.approx(recipe.error.std(200), rel=0.2)


def test_inputs_are_bits_and_steps_end_at_the_horizon() -> None:
    run = RandomizedResponseCounter(odds=3, horizon=3).start(Zero())
    assert run.feed([7, -2]).tolist() == [1.5, 1.0]
    with pytest.raises(BadInput):
        run.step(1.0)
    with pytest.raises(HorizonReached):
        run.feed([1, 1])
    assert run.t == 2
    assert run.feed([]).tolist() == []


def test_a_unit_with_several_bits_shares_its_epsilon() -> None:
    shared = RandomizedResponseCounter(epsilon=1, contributions=4)
    assert shared.loss == Pure(1)
    assert shared.table_odds == RandomizedResponseCounter(epsilon="1/4").table_odds
    odds = RandomizedResponseCounter(odds=3, contributions=4)
    assert odds.loss.epsilon == 4 * RandomizedResponseCounter(odds=3).loss.epsilon


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bound": 2}, "bound.*must be 1, as it counts bits"),
        ({"contributions": 10_001}, "at least 0.0001 for each contribution"),
        ({"odds": 3}, "Exactly one of"),
    ],
)
def test_what_it_cannot_count_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        RandomizedResponseCounter(epsilon=1, **given)
    assert RandomizedResponseCounter(epsilon=1, contributions=10_000).p > Fraction(1, 2)


def test_every_call_has_a_coin_of_its_own() -> None:
    tape = Tape(beyond=System.direct())
    run: Any = RandomizedResponseCounter(odds=3, width=2).start(tape)
    for _ in range(3):
        run.add([1, 0])
    run.release()
    run.release()  # a step without any call is a zero
    assert (run.noises, tape.count, run.t) == (4, 8, 2)
    again: Any = RandomizedResponseCounter(odds=3, width=2).resume(run.snapshot(), System.direct())
    assert again.noises == 4
    run.add([1, 1])  # seized within a step: the coin was flipped already
    seized: Any = RandomizedResponseCounter(odds=3, width=2).resume(run.snapshot(), Tape())
    assert seized.release().tolist() == run.release().tolist()


def test_it_is_chosen_for_bits_alone() -> None:
    for horizon, intrusions in ((8, "none"), (64, "none"), (8, "every"), (None, "every")):
        asked: dict[str, Any] = {"epsilon": 1, "horizon": horizon, "intrusions": intrusions}
        plain, for_bits = compare(**asked), compare(bits=True, **asked)
        assert not any(row.recipe.bits for row in plain)
        assert [row.recipe for row in for_bits if not row.recipe.bits] == [
            row.recipe for row in plain
        ]
        assert for_bits[0].mean <= plain[0].mean
    assert type(counter(epsilon=1, intrusions="every", bits=True)) is RandomizedResponseCounter
    assert type(counter(epsilon=1, horizon=1024, bits=True)) is HatsCounter
    # a bound of more than a bit is refused by it, and by it alone
    assert not counter(epsilon=1, intrusions="every", bits=True, bound=2).bits
