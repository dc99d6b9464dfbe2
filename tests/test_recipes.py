"""Every check of recipes on a sample of every recipe, and for each check one that it rejects."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.catalogue import COUNTERS, MECHANISMS
from ameles.mechanisms.pan_private.density import Density, DensityRun
from ameles.mechanisms.pan_private.estimate import Estimate, EstimateError
from ameles.mechanisms.snapshot import State, pack
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import offset_type
from tests import recipe_checks
from tests.checks import CheckFailed
from tests.each import each
from tests.recipe_checks import RECIPE_CHECKS, Sample
from tests.samples import SAMPLES, TABLE, table


def test_every_mechanism_has_a_sample() -> None:
    assert {type(sample.recipe) for sample in SAMPLES} == set(MECHANISMS)


# Their inputs are no people's values but what a caller computed of them: a sum, a score, a count, a
# query with its exact answer.  A wrong kind of these is the caller's error, and refused.
COMPUTED = {
    *(kind.__name__ for kind in COUNTERS),
    "ChoiceSeries",
    "ExponentialMechanism",
    "GaussianMechanism",
    "GeometricMechanism",
    "GradientCounter",
    "HistogramMechanism",
    "KeyCounts",
    "KeyDiscovery",
    "KeySelection",
    "LaplaceMechanism",
    "LaplaceSeries",
    "MultiplicativeWeights",
    "NoisyMax",
    "NoisyTopK",
    "PeeledTopK",
    "PermuteAndFlip",
    "ProjectedQueries",
    "ProposeTestRelease",
    "SmallDatabase",
    "SparseVector",
    "SyntheticTable",
    "WindowMonitor",
    "WindowMonitors",
}


def test_every_mechanism_that_takes_people_s_values_is_given_odd_ones() -> None:
    assert {type(one.recipe).__name__ for one in SAMPLES if not one.odd} == COMPUTED


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample.recipe).__name__)
def test_every_check_on_every_recipe(sample: Sample) -> None:
    # all recipes cross one fork together, below
    alone = [check for check in RECIPE_CHECKS if check is not recipe_checks.no_run_crosses_a_fork]
    each((check.__name__, check, (sample,)) for check in alone)


def test_no_run_of_any_recipe_crosses_a_fork() -> None:
    recipe_checks.no_runs_cross_a_fork(SAMPLES)


# Broken recipes, one for each check ---------------------------------------------------------


class ForgetsItsUsers(Density):
    def to_json(self) -> str:
        return Density(**{**TABLE, "users": 5}).to_json()


class AllAlike(Density):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, AllAlike)

    def __hash__(self) -> int:
        return 0


class Soft(Density):
    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


class Vague(Density):
    @property
    def error(self) -> EstimateError:
        return replace(super().error, unit=float("nan"))


class Dice(DensityRun):
    """Has randomness of its own."""

    def _close(self, beta: float) -> Estimate:
        return replace(super()._close(beta), value=float(int.from_bytes(os.urandom(8), "big")))


class Amnesiac(DensityRun):
    def restore(self, parts: tuple[IntArray, ...]) -> None:
        super().restore((parts[0], *(0 * part for part in parts[1:])))


class Renamed(DensityRun):
    def snapshot(self) -> bytes:
        parts = self._parts()
        return pack(State(os.urandom(16), self._t, parts), self._recipe.fingerprint)


class Hasty(DensityRun):
    """Lets go of the old before it has looked at the new."""

    def _checked(self, x: object) -> object:
        self._draw(self._tables[0])
        return super()._checked(x)


class Talkative(DensityRun):
    _last: object = None

    def __repr__(self) -> str:
        return f"<run that met {self._last} last>"

    def add(self, users: object) -> None:
        super().add(users)
        self._last = users


class Copied(DensityRun):
    """Is copied and pickled as any object."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return object.__reduce_ex__(self, protocol)


class Remembers(DensityRun):
    """Keeps a table for every input that it has met."""

    def add(self, users: Any) -> None:
        super().add(users)
        offset_type(int(np.sum(users)) % 61)


class Shocked(DensityRun):
    """Refuses an input in which one user is odd."""

    def add(self, users: Any) -> None:
        if isinstance(users, list) and not all(isinstance(one, int) for one in users):
            raise BadInput("Somebody is odd.")
        super().add(users)


class Immortal(DensityRun):
    """Does not ask whether it may go on."""

    def check_live(self) -> None:
        return None


class Hoarder(DensityRun):
    """Has a run inside, where spending it does not look."""

    def __init__(self, recipe: Density, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        inside = State(os.urandom(16), 0, ())
        self._hidden = [DensityRun(recipe, inside, noise)]


def running(run: type[DensityRun]) -> Sample:
    """A density whose runs are these."""

    @dataclass(frozen=True, kw_only=True)
    class Broken(Density):
        def _empty_run(self, state: State, noise: Noise) -> DensityRun:
            return run(self, state, noise)

    return table(Broken(**TABLE))


BROKEN: dict[Callable[[Sample], None], Sample] = {
    recipe_checks.recipes_survive_json: table(ForgetsItsUsers(**TABLE)),
    recipe_checks.recipes_compare_by_their_parameters: table(AllAlike(**TABLE)),
    recipe_checks.recipes_are_frozen: table(Soft(**TABLE)),
    recipe_checks.promises_are_numbers: table(Vague(**TABLE)),
    recipe_checks.one_tape_gives_one_run: running(Dice),
    recipe_checks.resuming_equals_going_on: running(Amnesiac),
    recipe_checks.a_ledger_sells_it: running(Renamed),
    recipe_checks.no_run_is_copied: running(Copied),
    recipe_checks.no_run_crosses_a_fork: running(Immortal),
    recipe_checks.a_resumed_run_is_spent: running(Immortal),
    recipe_checks.bad_inputs_change_nothing: running(Hasty),
    recipe_checks.nothing_tells_a_value: running(Talkative),
    recipe_checks.no_cache_knows_an_input: running(Remembers),
    recipe_checks.odd_values_count_nowhere: running(Shocked),
}


@pytest.mark.parametrize("check", RECIPE_CHECKS, ids=lambda check: check.__name__)
def test_every_check_rejects_its_broken_recipe(check: Callable[[Sample], None]) -> None:
    with pytest.raises((CheckFailed, BadInput)):
        check(BROKEN[check])


@pytest.mark.parametrize("check", RECIPE_CHECKS[3:], ids=lambda check: check.__name__)
def test_a_broken_recipe_s_mother_passes(check: Callable[[Sample], None]) -> None:
    check(running(DensityRun))


def test_a_value_in_what_a_run_holds_is_told() -> None:
    @dataclass
    class Note:
        users: object

    class Noting(DensityRun):
        def add(self, users: object) -> None:
            super().add(users)
            self._notes = {"last": [Note(users)]}

    with pytest.raises(CheckFailed, match="told"):
        recipe_checks.nothing_tells_a_value(running(Noting))


def test_the_run_that_crosses_a_fork_is_named_among_others() -> None:
    samples = [SAMPLES[0], running(Immortal), SAMPLES[1]]
    with pytest.raises(CheckFailed, match=r"in a forked child: Broken$"):
        recipe_checks.no_runs_cross_a_fork(samples)


def test_a_run_inside_that_is_not_spent_is_found() -> None:
    with pytest.raises(CheckFailed, match=r"goes on beside itself: DensityRun\.add"):
        recipe_checks.a_resumed_run_is_spent(running(Hoarder))


def test_a_value_in_the_cause_of_a_refusal_is_told() -> None:
    class Wordy(DensityRun):
        def _checked(self, x: object) -> object:
            try:
                return float(f"user {x}")
            except ValueError:
                return super()._checked(x)

    with pytest.raises(CheckFailed, match="told"):
        recipe_checks.nothing_tells_a_value(running(Wordy))
