"""What the audit tries besides the linear program: each trial, and what the report says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, exact_loss
from ameles.audit.branches import trace_branches
from ameles.audit.keys import differing_way
from ameles.audit.large_inputs import large_inputs_agree
from ameles.audit.secret_numbers import Trace
from ameles.audit.subjects import subjects
from ameles.audit.trials import UNSEEN, trials_of
from ameles.audit.ways import at_once, resumed, resumed_feeds, script, some_inputs, ways_of
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.summed import PlainRun
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.snapshot import State
from ameles.noise import Tape, Zero
from tests.audit import mutants_of_calls as calls
from tests.audit import mutants_of_values as values
from tests.audit.weighted import GaussianCounter

SUBJECTS = subjects(epsilon=1, horizon=5)


@pytest.mark.parametrize("recipe", SUBJECTS, ids=lambda recipe: type(recipe).__name__)
def test_nothing_is_caught_in_the_catalogue_and_everything_is_tried(recipe: CounterRecipe) -> None:
    trials = trials_of(recipe, 5, None)
    assert (trials.caught, trials.unseen) == (None, [])
    assert set(ways_of(recipe.start(Zero()), 5)) < set(trials.tried)
    others = {
        "inputs chosen by the releases before them",
        "3 keys at once",
        "inputs up to 2^48, of both signs",
        "inputs that refuse to be looked at",
    }
    of_numbers = {name for name in others if "2^48" in name or "refuse" in name}
    assert others - (of_numbers if recipe.bits else set()) <= set(trials.tried)


def test_the_finding_says_what_was_tried_and_what_was_not_seen() -> None:
    finding = exact_loss(SimpleTwoCounter(epsilon=1), steps=2)
    assert "runs resumed within every step" in finding.tried
    assert "all memory that the run reaches" in finding.tried
    assert finding.unseen == UNSEEN
    assert finding.to_dict()["unseen"] == list(UNSEEN)
    plain = exact_loss(SimpleOneCounter(epsilon=1, horizon=2))
    assert "all memory that the run reaches" not in plain.tried
    one = exact_loss(GeometricMechanism(epsilon=1, neighbours="replace"))
    assert "inputs up to 2^48, of both signs" in one.tried
    assert "3 keys at once" not in one.tried


def test_a_certificate_says_which_steps_widths_and_neighbours_it_covers() -> None:
    wide = SimpleOneCounter(epsilon=1, horizon=9, width=2, contributions=2, bound=3)
    assert exact_loss(wide, steps=4).covers == (
        "the first T of 9 steps, and no later ones",
        "a vector of 2 keys",
        "neighbours that differ in up to 2 steps by at most 3 (L1)",
    )
    assert exact_loss(calls.QuietLaterKeys(epsilon=1, horizon=2)).covers == ()


def test_what_a_run_does_not_do_is_not_seen() -> None:
    finding = exact_loss(GaussianCounter(epsilon=1, horizon=3))
    assert finding.verdict is Verdict.CERTIFIED
    assert "3 keys at once: failed with TypeError" in finding.unseen


@dataclass(frozen=True, kw_only=True)
class NeverResumes(SimpleOneCounter):
    def resume(self, snapshot: bytes, noise: Noise) -> CounterRun:
        raise BadInput("This counter is not resumed.")


def test_what_is_refused_is_not_seen() -> None:
    unseen = exact_loss(NeverResumes(epsilon=1, horizon=3)).unseen
    assert "runs resumed before every step: refused with BadInput" in unseen


class _Turns(PlainRun):
    def step(self, x: Any) -> int:
        return super().step(int(x))


class TurnsIntoIntegers(values.Looking):
    kind = _Turns


def test_where_data_leave_sight_is_said() -> None:
    finding = exact_loss(TurnsIntoIntegers(epsilon=1, horizon=3))
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.unseen[0].startswith("what happens to data after test_trials.py, line ")


def test_a_vector_is_traced_too() -> None:
    recipe = SimpleOneCounter(epsilon=1, horizon=4, width=2)
    assert trace_branches(recipe, 4) == Trace()
    response = RandomizedResponseCounter(epsilon=1)
    assert "compares its data" in trace_branches(response, 2).looks[0]


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (SimpleOneCounter, None),
        (calls.OneNoiseForAllKeys, at_once),
        (calls.QuietLaterKeys, at_once),
        (calls.ResumesWithoutNoise, resumed_feeds),
    ],
)
def test_the_way_in_which_keys_differ(kind: Any, way: object) -> None:
    recipe = kind(epsilon=1, horizon=4)
    tape = Tape()
    at_once(recipe, tape, some_inputs(recipe, 4, 1))
    assert differing_way(recipe, 3, tape.laws, 4) in ({way, resumed} if way else {None})


def test_inputs_are_large_in_both_directions() -> None:
    assert large_inputs_agree(SimpleTwoCounter(epsilon=1), 3)
    for kind in (values.ExactAboveTenMillion, values.ExactBelowMinusTenMillion):
        assert not large_inputs_agree(kind(epsilon=1, horizon=3), 3)
        assert not large_inputs_agree(kind(epsilon=1, horizon=1), 1)


def test_long_runs_are_resumed_sometimes() -> None:
    resumptions = 0

    @dataclass(frozen=True, kw_only=True)
    class Counted(SimpleOneCounter):
        def _run(self, state: State, noise: Noise) -> CounterRun:
            nonlocal resumptions
            resumptions += bool(state.parts)
            return super()._run(state, noise)

    recipe = Counted(epsilon=1, horizon=200)
    for way in (resumed, resumed_feeds):
        resumptions = 0
        assert len(way(recipe, Tape(), [1] * 200)) == 200
        assert 32 <= resumptions <= 64


def test_scripts_fit_their_laws() -> None:
    laws = [("laplace", 3), ("uniform", 5), ("bernoulli", 1), ("choose", ())] * 20
    numbers = np.array(script(laws, 1)).reshape(20, 4)
    assert (numbers[:, 0] < 0).any()
    assert (numbers[:, 0] > 0).any()
    assert set(numbers[:, 1]) == set(range(5))
    assert set(numbers[:, 2]) == {0, 1}
    assert set(numbers[:, 3]) == {0}


def test_a_loss_of_several_contributions_is_refuted_for_one_of_them() -> None:
    # a unit changes a step of one key: two inputs of a vector may be of one step
    recipe = calls.QuietLaterKeys(epsilon=1, horizon=3, contributions=2)
    finding = exact_loss(recipe)
    assert finding.how.startswith("3 keys at once are not 3 counters")
    assert finding.verdict in (Verdict.REFUTED, Verdict.NOT_LINEAR)
    assert finding.lower <= 2
