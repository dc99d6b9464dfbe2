"""Modular incidence: exact laws of offsets, states and views; estimates; net counts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.pan_private import residue_table
from ameles.mechanisms.pan_private.modular import (
    ModularIncidence,
    ModularRecipe,
    ModularRun,
    ResidueFraction,
)
from ameles.mechanisms.pan_private.residue_table import offsets
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Zero
from tests.mechanisms.pan_private.laws import law_of, loss, normalised
from tests.mechanisms.pan_private.outputs import Steps, Stream
from tests.mechanisms.pan_private.tables import (
    State,
    chosen_offsets,
    seen_twice,
    state_after,
)
from tests.odd_values import ODD, name_of

UP, US = Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION


def of(users: int, k: int, relation: Neighbours = UP, intrusions: int = 1) -> ModularIncidence:
    return ModularIncidence(
        users=users,
        modulus=k,
        neighbours=relation,
        epsilon_state="1/2",
        epsilon_output="1/2",
        intrusions=intrusions,
    )


def started(recipe: ModularRecipe[Any], noise: Noise) -> ModularRun[Any]:
    run = recipe.start(noise)
    assert isinstance(run, ModularRun)
    return run


def table(run: ModularRun[Any], recipe: ModularRecipe[Any]) -> State:
    _, words = unpack(run.snapshot(), recipe.fingerprint).parts
    kind = np.uint8 if recipe.modulus <= 256 else np.uint16
    return tuple(words.view(kind)[: recipe.users].tolist())


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_offsets_have_exactly_their_law(k: int, rounds: int) -> None:
    # every round accepts by the same law, so that of the first rounds is that of all
    law = normalised(
        law_of(lambda noise: int(offsets(noise, k, Fraction(1, 2), 1)[0]), longest=2 * rounds)
    )
    grown = math.exp(0.5)
    assert law[0] == pytest.approx(grown / (grown + k - 1))
    assert all(law[i] == pytest.approx(1 / (grown + k - 1)) for i in range(1, k))
    assert law == pytest.approx(law_of(lambda n: int(chosen_offsets(n, k, Fraction(1, 2), 1)[0])))


def test_many_offsets_at_once() -> None:
    # 200,000 draws: false alarm 1e-6 at 4.9 standard deviations, of 7 comparisons
    drawn = offsets(System.direct(), 7, Fraction(1), 200_000)
    for i, share in enumerate(np.bincount(drawn, minlength=7) / 200_000):
        p = (math.e if i == 0 else 1) / (math.e + 6)
        assert abs(share - p) < 5.2 * math.sqrt(p * (1 - p) / 200_000)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_presence_loses_exactly_epsilon_between_any_two_histories(
    monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    recipe = of(1, k)
    laws = [state_after(recipe, table, [0] * count) for count in range(k + 2)]
    for i, one in enumerate(laws):
        for j, other in enumerate(laws):
            known = 0.0 if i % k == j % k else 0.5
            assert loss(one, other) == pytest.approx(known, abs=1e-12)


def test_substitution_loses_twice_a_user_s_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    for relation, known in [(UP, 1.0), (US, 0.5)]:
        recipe = of(2, 3, relation)
        lost = loss(state_after(recipe, table, [0]), state_after(recipe, table, [1]))
        assert lost == pytest.approx(known)


def test_state_and_output_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    recipe = of(1, 3)
    assert recipe.guarantee.loss == Pure(1)
    unit, middle = recipe.error.unit, recipe.error.chances[0]

    def shown(_: object, released: Any) -> tuple[int, ...]:
        return tuple(round(estimate.value / unit + middle) for estimate in released)

    def among(view: Any) -> bool:
        return bool(max(map(abs, view[1])) <= 2)

    steps = Steps(recipe, shown, window=3)
    none = steps.seized(((), ()))
    streams: list[Stream] = [((0,), ()), ((), (0,)), ((0,), (0,)), ((0, 0), (0,))]
    for stream in streams:
        assert loss(steps.seized(stream), none, among=among) <= 1 + 1e-9, stream


def test_announced_intrusions_cost_epsilon_state_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    recipe = of(1, 3, intrusions=2)
    assert recipe.guarantee.loss == Pure(Fraction(3, 2))
    assert recipe.guarantee.intrusions is Intrusions.ANNOUNCED
    none = seen_twice(recipe, table, ([], []), ModularRun.intruded)
    for batches, known in [(([0], []), 0.5), (([], [0]), 0.5), (([0], [0]), 1.0)]:
        lost = loss(seen_twice(recipe, table, batches, ModularRun.intruded), none)
        assert lost == pytest.approx(known)


def test_two_unannounced_intrusions_lose_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    one, none = (seen_twice(of(1, 3), table, ([], after), lambda _: None) for after in ([0], []))
    assert loss(one, none) == math.inf


COUNTS = np.arange(200_000) % 11 * (np.arange(200_000) % 3 > 0)


@pytest.mark.parametrize("relation", [UP, US])
@pytest.mark.parametrize(("k", "intrusions"), [(2, 1), (4, 1), (300, 1), (3, 3)])
def test_estimates_of_200_000_users(relation: Neighbours, k: int, intrusions: int) -> None:
    recipe = ModularIncidence(
        users=200_000,
        modulus=k,
        neighbours=relation,
        epsilon_state=2,
        epsilon_output=1,
        intrusions=intrusions,
    )
    run = recipe.start(System.direct())
    stream = np.repeat(np.arange(200_000), COUNTS)
    first, *rest = np.array_split(stream, intrusions)
    run.add(first)
    for part in rest:
        run.intruded()
        run.add(part)
    truth = np.bincount(COUNTS % k, minlength=k) / 200_000
    # false alarms 1e-8 and 6e-9 for each of at most 300 residues
    for estimate, fraction in zip(run.release(beta=1e-8), truth, strict=True):
        assert estimate.low <= fraction <= estimate.high
        assert abs(estimate.value - fraction) < 5.8 * estimate.standard_error


@pytest.mark.parametrize("relation", [UP, US])
def test_net_counts_of_zero(relation: Neighbours) -> None:
    recipe = ResidueFraction(
        users=200_000,
        modulus=12,
        residues=(0,),
        neighbours=relation,
        epsilon_state=1,
        epsilon_output=1,
    )
    run = started(recipe, System.direct())
    stream = np.repeat(np.arange(200_000), COUNTS)
    run.add(stream)
    run.remove(stream[stream < 100_000])
    estimate = run.release(beta=1e-6)
    truth = (100_000 + int((COUNTS[100_000:] == 0).sum())) / 200_000
    assert estimate.low <= truth <= estimate.high  # false alarm 1e-6
    assert abs(estimate.value - truth) < 5 * estimate.standard_error  # false alarm 6e-7


def test_removals_may_come_first_and_repeat() -> None:
    run = started(of(3, 5), Zero())
    run.remove([1, 1, 2])
    assert table(run, of(3, 5)) == (0, 3, 4)
    run.add([2, 1, 1, 0])
    assert table(run, of(3, 5)) == (1, 0, 0)


def test_changes_are_many_additions_and_removals() -> None:
    recipe = of(4, 7)
    users, by = [3, 0, 3, 1, 3], [5, -1, 12, -(2**63), -3]
    one, other = (started(recipe, Zero()) for _ in range(2))
    one.change(users, by)
    for user, amount in zip(users, by, strict=True):
        (other.add if amount > 0 else other.remove)([user] * (abs(amount) % 7))
    assert table(one, recipe) == table(other, recipe) == (6, -(2**63) % 7, 0, 0)
    one.change(2, 1)
    one.change([], [])
    one.change(np.array([0], dtype=np.uint8), np.array([1], dtype=np.uint64))
    assert table(one, recipe) == (0, -(2**63) % 7, 1, 0)


def test_many_changes_at_once() -> None:
    # more than one piece of the table's loop, some users again and again
    recipe = of(1000, 300)
    users = np.arange(200_000) * 7919 % 1000
    by = np.arange(200_000) * 104_729 % 2_000_003 - 1_000_001
    run = started(recipe, Zero())
    given = users.copy(), by.copy()
    run.change(users, by)
    net = np.zeros(1000, dtype=np.int64)
    np.add.at(net, users, by)
    assert table(run, recipe) == tuple((net % 300).tolist())
    assert (users == given[0]).all()
    assert (by == given[1]).all()


@pytest.mark.parametrize(
    ("users", "by"),
    [
        ([1], [1, 2]),
        ([1, 2], [1]),
        ([1], np.array([1.0])),
        ([1], {1}),
        ({1}, [1]),
        ([], [1]),
        (np.array([[1]]), [1]),
        (np.array([True]), [1]),
    ],
    ids=repr,
)
def test_bad_changes_change_nothing(users: Any, by: Any) -> None:
    run = started(of(4, 7), System.direct())
    before = run.snapshot()
    with pytest.raises(BadInput):
        run.change(users, by)
    assert run.snapshot() == before


@pytest.mark.parametrize("odd", [*ODD, True], ids=name_of)
def test_an_odd_change_counts_nowhere(odd: Any) -> None:
    recipe = of(4, 7)
    run = started(recipe, Zero())
    run.change([1, 2, odd, 4, -1, 3], [1, odd, 5, 5, 5, 3])
    assert table(run, recipe) == (0, 1, 0, 3)
    # larger amounts than 64 bits are taken as the largest that are not
    run.change([0, 0], [2**64, -(2**64)])
    assert table(run, recipe) == (((1 << 63) - 1 - (1 << 63)) % 7, 1, 0, 3)


def test_a_run_that_met_its_intrusions_is_not_changed() -> None:
    run = started(of(4, 7), System.direct())
    run.intruded()
    before = run.snapshot()
    with pytest.raises(BadInput, match="nothing can be added"):
        run.change([1], [1])
    assert run.snapshot() == before


def test_the_standard_error_is_what_is_measured() -> None:
    # 600 runs; relative deviation of a sample deviation 2.9%, false alarm 1e-5 at 4.5 of them
    recipe = of(2000, 4)
    values = [recipe.start(System.direct()).release()[1].value for _ in range(600)]
    gap = recipe.peak(1)
    absent = (1 - gap) / 4
    output = laplace_sum.std(1, recipe.scale) / (gap * 2000)
    coins = math.sqrt(2000 * absent * (1 - absent)) / (gap * 2000)
    assert np.std(values) == pytest.approx(math.hypot(coins, output), rel=0.13)
    assert recipe.error.std(1) >= coins


def test_what_cannot_be_estimated_is_refused() -> None:
    shared: dict[str, Any] = {"users": 10, "neighbours": UP, "epsilon_output": 1}
    with pytest.raises(BadInput, match="too long to draw"):
        ModularIncidence(modulus=2000, epsilon_state=8, **shared)
    with pytest.raises(BadInput, match="nothing could be estimated"):
        ModularIncidence(modulus=2000, epsilon_state="0.1", intrusions=9, **shared)
    wrong: list[Any] = [(3,), (0, 1, 2), (), (1, 1), 7, ("a",)]
    for residues in wrong:
        with pytest.raises(BadInput):
            ResidueFraction(modulus=3, residues=residues, epsilon_state=1, **shared)
    assert ModularIncidence(modulus=9, epsilon_state=1000, **shared).peak(1) == 1
