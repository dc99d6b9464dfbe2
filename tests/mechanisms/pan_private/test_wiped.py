"""Nothing that a run drew or was given is left in a buffer when the call is over.

The noise of these tests is unlike any other number.  Every array that a function of the package has
had in a variable is looked at, whether the run still knows it or not.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.noise import Shape
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.local.randomizer import LocalRandomizer
from ameles.mechanisms.pan_private import (
    counter,
    entries,
    place_run,
    residue_table,
    tree_run,
    user_table,
)
from ameles.mechanisms.pan_private.biased_bits import biased_bits, fair_bits
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.snapshot import unpack
from ameles.noise import Zero
from ameles.noise.arrays import BoolArray, IntArray
from ameles.noise.coin import count_of
from tests import checks
from tests.leftovers import Leftovers
from tests.mechanisms.pan_private.test_state import CANARY, folded, reachable, some_input
from tests.recipe_checks import Sample
from tests.samples import OTHERS, TABLE

SEIZED: list[CounterRecipe] = [
    recipe
    for kind in COUNTERS
    for recipe in (checks.build(kind, epsilon=1, horizon=64, width=width) for width in (None, 3))
    if recipe.guarantee.intrusions is not Intrusions.NONE
]
ANNOUNCED: list[CounterRecipe] = [
    kind(epsilon=1, horizon=horizon, intrusions="announced", width=2)
    for kind in (PanPrivateCounter, PanPrivateTreeCounter)
    for horizon in (64, None)
] + [PanPrivatePlaceCounter(epsilon=1, horizon=64, intrusions="announced", width=2)]
TABLES = [
    sample
    for sample in OTHERS
    if (getattr(sample.recipe, "guarantee", None) or sample.recipe.state_guarantee).intrusions
    is not Intrusions.NONE
    and not isinstance(sample.recipe, LocalRandomizer)  # tests/mechanisms/local/test_wiped.py
]


class Handed(Zero):
    """Noise that remembers what it gave; none of it is zero, and integers are like no others."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.numbers: set[int] = set()

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        first = len(self.numbers) + 1
        drawn = np.arange(first, first + count_of(size), dtype=np.int64) ** 3 * 1_000_003
        self.numbers.update(drawn.tolist())
        kept: IntArray = self._given(drawn.reshape(size))
        return kept

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        return self.laplace(variance, size)

    def uniform(self, n: int, size: Shape) -> IntArray:
        # mostly something, and now and then a zero, for what is drawn until it is one
        some = np.where(np.arange(count_of(size)) % 3 == 0, 0, n - 1)
        kept: IntArray = self._given(some.reshape(size))
        return kept

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        kept: BoolArray = self._given(np.ones(size, dtype=np.bool_))
        return kept

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        return self.bernoulli(gamma, size)

    def _given(self, drawn: Any) -> Any:
        self.arrays.append(drawn)
        return drawn


def state_arrays(run: object) -> list[NDArray[Any]]:
    return [held for held in reachable(run) if isinstance(held, np.ndarray)]


def left_by(recipe: CounterRecipe, noise: Handed, *, announcing: bool = False) -> set[str]:
    """Where inputs, sums of them or draws are after some steps, but for the state."""
    mine: list[Any] = []

    def given(count: int) -> Any:
        inputs = [some_input(recipe, CANARY)] * count
        mine.extend([*inputs, inputs])
        return inputs

    with Leftovers() as left:
        run: Any = folded(recipe, noise)
        for step in range(9):
            run.add(*given(1))
            run.add(*given(1))
            if announcing and step % 3 == 0:
                run.announce()
            run.release()
        run.feed(given(6))
        mine.append(np.array(given(5)))
        run.feed(mine[-1])
        run.add(*given(1))
        parts = [*state_arrays(run), *unpack(run.snapshot(), recipe.fingerprint).parts]
    secrets = {CANARY * n for n in range(1, 40)} | noise.numbers
    return {where for where in left.numbers(secrets, but=[*parts, *mine]) if ": x" not in where} | {
        f"drawn: {one.shape}" for one in noise.arrays if np.isin(one, list(noise.numbers)).any()
    }


@pytest.mark.parametrize("recipe", SEIZED, ids=repr)
def test_counters_leave_nothing(recipe: CounterRecipe) -> None:
    assert left_by(recipe, Handed()) == set()


@pytest.mark.parametrize("recipe", ANNOUNCED, ids=repr)
def test_announcements_leave_nothing(recipe: CounterRecipe) -> None:
    assert left_by(recipe, Handed(), announcing=True) == set()


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (counter, PanPrivateCounter),
        (tree_run, PanPrivateTreeCounter),
        (place_run, PanPrivatePlaceCounter),
    ],
    ids=lambda given: given.__name__,
)
def test_draws_that_are_not_wiped_are_found(
    module: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "wipe", lambda *arrays: None)
    assert left_by(kind(epsilon=1, horizon=64), Handed())


# Tables of users ------------------------------------------------------------------------------

# What is drawn once and is in the state for ever: a sample, a key, a prime.
KEPT = {"SampledDensity", "BucketDensity", "DynamicDensity"}
DRAWING = ("distinct:", "_others:")  # the users of a sample
# with their noise
PUBLISHED = {
    "DensityRun._close: bins",
    "HistogramRun._noisy: bins",
    "HistogramRun._noisy: what it gave",
    "ModularOnceRun.release: what it gave",
}


def used(sample: Sample, noise: Handed) -> tuple[Any, Leftovers]:
    """A run that was given one user in every way that it knows."""
    single = not isinstance(sample.inputs[0], list)
    users = sample.canary if single else [sample.canary] * 3
    with Leftovers() as left:
        run: Any = sample.recipe.start(noise)
        run.add(users)
        if hasattr(run, "change"):
            run.change([sample.canary, sample.canary], [3, 1])
            run.remove(users)
        if hasattr(run, "intruded") and sample.recipe.seizures > 1:
            run.intruded()
            run.add(users)
        if hasattr(run, "release"):
            run.release()
            run.add(users)
            run.release()
    return run, left


@pytest.mark.parametrize("sample", TABLES, ids=lambda sample: repr(sample.recipe)[:80])
def test_tables_leave_nothing(sample: Sample) -> None:
    noise = Handed()
    run, left = used(sample, noise)
    places = left.numbers({sample.canary}, but=state_arrays(run))
    assert {where for where in places if not where.startswith(DRAWING)} == set()
    if type(sample.recipe).__name__ not in KEPT:
        assert not any(drawn.any() for drawn in noise.arrays)
    states = {id(array) for array in state_arrays(run)}
    assert {
        where
        for held, where in left.arrays()
        if held.any() and id(held) not in states
        if not where.startswith(DRAWING) and where not in PUBLISHED
    } == set()


@pytest.mark.parametrize("relation", [Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION])
def test_drawn_bits_are_where_they_belong_and_nowhere_else(relation: Neighbours) -> None:
    for count in (5, 8, 21):
        with Leftovers() as left:
            given = fair_bits(Handed(), count), biased_bits(Handed(), relation, Fraction(1), count)
        bits = {id(each if each.base is None else each.base) for each in given}
        assert {
            where for held, where in left.arrays() if held.any() and id(held) not in bits
        } == set()


@pytest.mark.parametrize("kind", ["i8", "i4", "u8"])
def test_users_and_amounts_are_wiped_whatever_their_width(kind: str) -> None:
    given, by = np.array([3, 5], dtype=kind), np.array([7, 6], dtype=kind)
    for universe, kept in ((9, [3, 5]), (4, [3])):
        with Leftovers() as left:
            taken = entries.indices(given, universe)
            users, moves = entries.changes(given, by, universe)
        assert taken.tolist() == users.tolist() == kept
        mine = [given, by, taken, users, moves]
        assert left.numbers({3, 5, 7, 6}, but=mine) == set()
    assert given.tolist() == [3, 5], "what the caller has is the caller's"


def test_users_whose_amounts_are_refused_are_wiped() -> None:
    given = np.array([7, 5])
    with Leftovers() as left, pytest.raises(BadInput):
        entries.changes(given, np.array([1.0, 2.0]), 9)
    assert left.numbers({7, 5}, but=[given]) == set()


def test_offsets_that_are_rejected_are_wiped() -> None:
    class Rejecting(Handed):
        """Every other proposal is rejected."""

        def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
            kept = super().bernoulli_exp(gamma, size)
            kept[::2] = False
            return kept

    noise = Rejecting()
    with Leftovers() as left:
        drawn = residue_table.offsets(noise, 65_521, Fraction(1), 50)
    assert len(noise.arrays) > 4, "they were drawn again"
    mine = drawn if drawn.base is None else drawn.base
    assert [where for held, where in left.arrays() if held.any() and held is not mine] == []
    assert not any(array.any() for array in noise.arrays if array is not drawn)


def test_a_table_whose_users_are_not_wiped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kept(np.ndarray[Any, Any]):
        """An array that cannot be filled."""

        def fill(self, value: Any, /) -> None:
            pass

    plain = entries.indices
    monkeypatch.setattr(
        user_table, "indices", lambda users, universe: plain(users, universe).view(Kept)
    )
    run, left = used(TABLES[0], Handed())
    assert left.numbers({TABLES[0].canary}, but=state_arrays(run)) != set()


@pytest.mark.parametrize("sample", TABLES, ids=lambda sample: repr(sample.recipe)[:80])
def test_what_a_run_is_resumed_from_is_wiped(sample: Sample) -> None:
    run, _ = used(sample, Handed())
    written = run.snapshot()
    with Leftovers() as left:
        resumed: Any = sample.recipe.resume(written, Handed())
    assert resumed.snapshot() == written
    table = max(state_arrays(run), key=lambda array: array.nbytes)
    states = {id(one) for one in state_arrays(resumed)}
    assert [
        where
        for held, where in left.arrays()
        if held.nbytes >= table.nbytes and held.any()
        if id(held) not in states and ": seen" not in where
    ] == []


@pytest.mark.parametrize("recipe", [*SEIZED, *ANNOUNCED], ids=repr)
def test_what_a_counter_is_resumed_from_is_wiped(recipe: CounterRecipe) -> None:
    run = folded(recipe, Handed())
    for _ in range(5):
        run.add(some_input(recipe, 1))
        run.release()
    with Leftovers() as left:
        resumed = recipe.resume(run.snapshot(), Handed())
    secrets = {number for part in state_arrays(run) for number in part.ravel().tolist()} - {0}
    assert left.numbers(secrets, but=[*state_arrays(run), *state_arrays(resumed)]) == set()
    assert resumed.snapshot() == run.snapshot()


def test_the_table_of_a_window_that_is_over_is_wiped() -> None:
    (sample,) = [sample for sample in TABLES if isinstance(sample.recipe, Renewed)]
    run: Any = sample.recipe.start(Handed())
    first = vars(run)["_inner"]
    for _ in range(sample.recipe.window):
        assert any(array.any() for array in state_arrays(first))
        run.step(sample.canary)
    assert vars(run)["_inner"] is not first
    assert not any(array.any() for array in state_arrays(first))


@pytest.mark.parametrize("refused", [False, True])
def test_amounts_by_which_counts_change_are_wiped(
    refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = ModularIncidence(modulus=65521, **TABLE)
    run: Any = recipe.start(Zero())
    if refused:  # the users are wiped, and so are the amounts, whatever happens in between
        monkeypatch.setattr(residue_table, "totals", None)
    with Leftovers() as left:
        if refused:
            with pytest.raises(TypeError):
                run.change([3, 5], [60_013, 60_017])
        else:
            run.change([3, 5], [60_013, 60_017])
    assert left.numbers({60_013, 60_017}, but=state_arrays(run)) == set()


def test_users_are_gone_when_they_are_marked_in_a_secret_table() -> None:
    run = ExactDistinct(users=100_000).start(Zero())
    with Leftovers() as left:
        run.add([60_013, 60_017])
    assert run.answer() == 2
    assert left.numbers({60_013, 60_017}) == set()


# Window monitors: their state is secret, and what a halted key was given is not needed any more


def test_what_a_halted_key_was_given_is_forgotten() -> None:
    recipe = WindowMonitors(epsilon=1, width=2, window=3, threshold=5, aboves=1)
    run = recipe.start(Zero())
    run.feed([[CANARY, 0]])
    assert run.halted.tolist() == [True, False]
    inputs, rho, _ = run._parts()
    assert CANARY not in inputs.tolist()  # forgotten at once
    run.feed([[CANARY, 1], [CANARY, 2]])
    inputs, rho, _ = run._parts()
    assert inputs.reshape(3, 2).tolist() == [[0, 0], [0, 1], [0, 2]]  # and no more is kept
    assert rho.tolist()[0] == 0


def test_the_inputs_of_a_halted_key_do_not_reach_the_comparison() -> None:
    # one large input would otherwise be in the window's count for as long as it lasts
    recipe = WindowMonitors(epsilon=1, width=1, window=3, threshold=5, aboves=1)
    run = recipe.start(Zero())
    run.feed([[9]])
    with Leftovers() as left:
        run.feed([[CANARY], [CANARY]])
    kept = [where for where in left.numbers({CANARY, 2 * CANARY}) if ": counts" in where]
    assert kept == []
