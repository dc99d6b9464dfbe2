"""What all statistics of users share: JSON, snapshots, what a run holds, what is refused."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached, StoreRefused
from ameles.core.guarantee import USER, Guarantee, Neighbours
from ameles.core.loss import Pure
from ameles.core.recipe import recipe_from_json
from ameles.ledger import Ledger
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.dynamic import DynamicDensity
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters
from ameles.mechanisms.pan_private.incidence import Incidence
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from ameles.mechanisms.pan_private.user_table import LARGEST_TABLE, UserRecipe
from ameles.noise import System, Tape, Zero
from tests.each import together
from tests.odd_values import ODD
from tests.samples import TABLE

SHARED: dict[str, Any] = {
    "users": 1001,
    "neighbours": "user-presence",
    "epsilon_state": 0.1,
    "epsilon_output": "1/3",
    "releases": 2,
}
RECIPES: tuple[UserRecipe[Any], ...] = (
    Density(**SHARED),
    Density(intrusions=3, **SHARED),
    CroppedMean(crop=300, **SHARED),
    HeavyHitters(at_least=2, **SHARED),
    Incidence(exactly=3, **SHARED),
    ModularIncidence(modulus=4, **SHARED),
    ModularIncidence(modulus=400, intrusions=2, **SHARED),
    ResidueFraction(modulus=5, residues=(1, 3), **SHARED),
    DynamicDensity(primes_from=100, **SHARED),
    DynamicDensity(primes_from=200, intrusions=3, **SHARED),
    SampledDensity(sample=99, **SHARED),
    BucketDensity(buckets=77, **SHARED),
)
CANARY = 867


@pytest.fixture(params=RECIPES, ids=lambda recipe: type(recipe).__name__)
def recipe(request: pytest.FixtureRequest) -> UserRecipe[Any]:
    parameter: UserRecipe[Any] = request.param
    return parameter


def test_recipes_and_guarantees_survive_json(recipe: UserRecipe[Any]) -> None:
    known = {type(recipe).__name__: type(recipe)}
    again = recipe_from_json(recipe.to_json(), known)
    assert again == recipe
    assert hash(again) == hash(recipe)
    assert Guarantee.from_json(recipe.guarantee.to_json()) == recipe.guarantee
    assert "user" in str(recipe.guarantee)


def test_resuming_equals_going_on(recipe: UserRecipe[Any]) -> None:
    users = np.arange(2000) * 7 % 1001
    script = Tape(beyond=System.direct())
    run = recipe.start(script)
    run.feed([users, users[:300]])
    one = recipe.start(Tape(script.values))
    expected = one.feed([users, users[:300]])
    tape = Tape(script.values)
    run = recipe.start(tape)
    first = run.step(users)
    resumed = recipe.resume(run.snapshot(), Tape(script.values[len(tape.draws) :]))
    assert (resumed.id, resumed.t) == (run.id, 1)
    assert [first, resumed.step(users[:300])] == expected


def test_the_snapshot_has_one_size_and_is_of_its_recipe(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(System.direct())
    sizes = {len(run.snapshot())}
    for users in ([], [1], np.arange(1001), [5] * 4000):
        run.add(users)
        sizes.add(len(run.snapshot()))
    run.release()
    sizes.add(len(run.snapshot()))
    assert len(sizes) == 1
    # header, checksum, lengths of the parts and their padding to 64 bits
    assert sizes.pop() <= recipe.memory + 300
    other = Density(**{**SHARED, "epsilon_state": 5})
    with pytest.raises(StoreRefused):
        other.resume(run.snapshot(), Zero())


def test_nothing_but_the_state_is_reachable(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(System.direct())
    run.add(np.full(77, CANARY))
    held: list[Any] = [run.__dict__]
    arrays = 0
    seen: set[int] = set()
    while held:
        thing = held.pop()
        if id(thing) in seen or isinstance(thing, type) or callable(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray) and thing.base is None:
            arrays += thing.nbytes
        held += gc.get_referents(thing)
    # the tables, once, up to their padding; no array of 77 indices beside them
    assert recipe.memory <= arrays <= recipe.memory + 64


def test_the_caller_s_array_is_not_touched(recipe: UserRecipe[Any]) -> None:
    users = np.arange(1001)[::-1].copy()
    recipe.start(Zero()).add(users)
    assert users.tolist() == list(range(1000, -1, -1))


# What is wrong about the whole input, not about one user.
BAD: list[object] = [
    np.array([np.nan]),
    np.array(["3"]),
    np.array([True]),
    np.array([[1, 2]]),
    {},
    {3},
]
# What is no user of the universe.
STRANGERS: list[object] = [*ODD, True, 1001, -1, 10**30, np.uint64(2**64 - 1)]


@together("odd", STRANGERS)
def test_who_is_no_user_counts_nowhere(recipe: UserRecipe[Any], odd: object) -> None:
    run = recipe.start(System.direct())
    run.add([1, 2])
    before = run.snapshot()
    for users in ([odd], [odd, odd]) if isinstance(odd, list | dict | np.ndarray) else ([odd], odd):
        run.add(users)
        assert run.snapshot() == before


@together("bad", BAD)
def test_bad_users_change_nothing(recipe: UserRecipe[Any], bad: object) -> None:
    run = recipe.start(System.direct())
    run.add([1, 2])
    before = run.snapshot()
    with pytest.raises(BadInput):
        run.add(bad)
    assert run.snapshot() == before


def test_no_user_is_told(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(Zero())
    run.add([CANARY])
    texts = [repr(run)]
    for bad in (np.array([float(CANARY)]), np.array([str(CANARY), "5000"]), {CANARY: -3}):
        with pytest.raises(BadInput) as problem:
            run.add(bad)
        texts += [str(problem.value), repr(problem.value)]
    assert not any(str(word) in text for text in texts for word in (CANARY, 5000, "-3"))


def test_a_bad_beta_draws_and_spends_nothing(recipe: UserRecipe[Any]) -> None:
    tape = Tape()
    run = recipe.start(tape)
    drawn = len(tape.draws)
    wrong: list[Any] = [0.0, 1.0, -1.0, float("nan"), 2.0, "0.1", None]
    for beta in wrong:
        with pytest.raises(BadInput, match="beta"):
            run.release(beta=beta)
    assert (run.t, len(tape.draws)) == (0, drawn)


def test_releases_are_counted(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(Zero())
    run.release()
    run.release()
    with pytest.raises(HorizonReached, match="has 2 steps and has taken 2"):
        run.release()
    with pytest.raises(HorizonReached):
        recipe.resume(run.snapshot(), Zero()).release()


def test_a_run_that_met_its_intrusions_takes_no_more(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(System.direct())
    for _ in range(recipe.seizures):
        run.add([1, 2])
        run.intruded()
    before = run.snapshot()
    with pytest.raises(BadInput, match="nothing can be added"):
        run.add([3])
    with pytest.raises(BadInput, match="has met them"):
        run.intruded()
    assert run.snapshot() == before
    run.release()


def test_a_ledger_starts_and_pays(recipe: UserRecipe[Any]) -> None:
    relation = Neighbours.USER_PRESENCE
    visitors = Ledger("visitors", cap=Pure(2), unit=USER, neighbours=relation)
    run = visitors.start(recipe, on="shop", why="who came")
    run.add([5])
    assert visitors.spent == recipe.guarantee.loss


def test_noise_must_forget(recipe: UserRecipe[Any]) -> None:
    with pytest.raises(BadInput, match="straight from the operating system"):
        recipe.start(System())
    with pytest.raises(BadInput, match="straight from the operating system"):
        recipe.resume(recipe.start(Zero()).snapshot(), System())


def test_one_user_and_no_users_are_inputs(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(Zero())
    few: list[Any] = [7, np.int32(7), [], np.empty(0), range(3), np.arange(3, dtype=np.uint8)]
    for users in few:
        run.add(users)


@pytest.mark.parametrize("relation", [None, "presence", Neighbours.STEP, 1])
def test_the_relation_is_never_guessed(relation: Any) -> None:
    with pytest.raises(BadInput, match="USER_PRESENCE"):
        Density(**{**SHARED, "neighbours": relation})
    with pytest.raises(TypeError, match="neighbours"):
        Density(**{name: value for name, value in SHARED.items() if name != "neighbours"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0},
        {"users": 1 << 40},
        {"epsilon_state": 0},
        {"epsilon_output": -1},
        {"releases": 0},
        {"intrusions": 9},
        {"intrusions": 0},
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Density(**{**SHARED, **wrong})


def test_large_epsilons_are_only_useless() -> None:
    for epsilon in ("1e-9", 1000):
        made = Density(**{**SHARED, "epsilon_state": epsilon, "epsilon_output": epsilon})
        made.start(System.direct()).release()


def test_a_feed_with_a_bad_input_changes_nothing(recipe: UserRecipe[Any]) -> None:
    run = recipe.start(Tape())
    before = run.snapshot()
    for inputs in ([[1, 2], {1}], [[1], np.ones(1)], [[1], [2], [3]]):
        with pytest.raises(BadInput):
            run.feed(inputs)
        assert run.snapshot() == before
    assert len(run.feed([[1], [2]])) == 2


def test_a_universe_has_one_user_or_more() -> None:
    assert Density(**{**TABLE, "users": 1}).start(Zero()).release().confidence == 0.95
    BucketDensity(buckets=77, **{**TABLE, "users": 1 << 62})
    for users in (0, (1 << 62) + 1):
        with pytest.raises(BadInput, match="'users' parameter"):
            BucketDensity(buckets=77, **{**TABLE, "users": users})


@pytest.mark.parametrize("kind", [Density, DynamicDensity])
def test_more_users_than_a_table_has_entries_are_refused(kind: type[UserRecipe[Any]]) -> None:
    sample = next(one for one in RECIPES if type(one) is kind)
    with pytest.raises(BadInput, match="one entry of memory each"):
        replace(sample, users=LARGEST_TABLE + 1)
