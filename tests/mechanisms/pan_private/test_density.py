"""Density: exact laws of states and views from the code, mutants, estimates, intrusions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import Guarantee, Intrusions, Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.pan_private import density
from ameles.mechanisms.pan_private.biased_bits import Bits, bias, biased_bits, fair_bits
from ameles.mechanisms.pan_private.density import Density, DensityRun, absences
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray
from tests.mechanisms.pan_private.laws import chosen_bits, law_of, loss
from tests.mechanisms.pan_private.tables import State, seen_twice, state_after

UP, US = Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION
HALF = Fraction(1, 2)


def of(
    users: int, relation: Neighbours = UP, epsilon: object = HALF, intrusions: int = 1
) -> Density:
    return Density(
        users=users,
        neighbours=relation,
        epsilon_state=str(epsilon),
        epsilon_output=HALF,
        intrusions=intrusions,
    )


def started(recipe: Density, noise: Noise) -> DensityRun:
    run = recipe.start(noise)
    assert isinstance(run, DensityRun)
    return run


def table(run: DensityRun, recipe: Density) -> State:
    """What an intruder finds: from the snapshot, not from the object."""
    _, *words = unpack(run.snapshot(), recipe.fingerprint).parts
    return tuple(int(bit) for part in words for bit in part.view(np.uint8)[: recipe.users])


@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "1", "3"])
@pytest.mark.parametrize("relation", [UP, US])
def test_coins_have_exactly_their_bias(relation: Neighbours, epsilon: str) -> None:
    def program(noise: Noise) -> int:
        return int(biased_bits(noise, relation, Fraction(epsilon), 1)[0])

    # cutting the Laplace law at 600 leaves out less than exp(-60)
    law = law_of(program, window=600)
    gamma = bias(relation, float(Fraction(epsilon)))
    assert law[1] == pytest.approx(0.5 + gamma, abs=1e-12)
    assert law[0] == pytest.approx(0.5 - gamma, abs=1e-12)


def test_the_stand_in_for_enumeration_has_the_same_law() -> None:
    law = law_of(lambda noise: int(chosen_bits(noise, US, HALF, 1)[0]))
    assert law[1] == pytest.approx(0.5 + bias(US, 0.5))


def test_biases_are_those_of_the_catalogue() -> None:
    assert bias(UP, 0.5) == pytest.approx((1 - math.exp(-0.5)) / 2)
    assert bias(US, 0.5) == pytest.approx(math.tanh(0.25) / 2)


def test_fair_bits_are_independent_and_fair() -> None:
    law = law_of(lambda noise: tuple(fair_bits(noise, 9).tolist()))
    assert len(law) == 512
    assert max(law.values()) == pytest.approx(1 / 512) == min(law.values())


@pytest.mark.parametrize("relation", [UP, US])
def test_coins_of_the_operating_system(relation: Neighbours) -> None:
    # 400,000 coins: standard deviation 0.0008; false alarm 1e-6 at 4.9 of them
    bits = biased_bits(System.direct(), relation, HALF, 400_000)
    assert abs(bits.mean() - 0.5 - bias(relation, 0.5)) < 4.9 * 0.5 / math.sqrt(400_000)


def test_the_table_of_one_user_is_two_by_two() -> None:
    recipe = of(1)
    gamma = (1 - math.exp(-0.5)) / 2
    assert state_after(recipe, table) == pytest.approx({(0,): 0.5, (1,): 0.5})
    for often in (1, 2, 3):
        seen = state_after(recipe, table, *[[0]] * often)
        assert seen == pytest.approx({(0,): 0.5 - gamma, (1,): 0.5 + gamma})
        assert seen == pytest.approx(state_after(recipe, table, [0] * often))
        assert loss(seen, state_after(recipe, table)) == pytest.approx(0.5)


def test_substitution_moves_two_users_within_epsilon() -> None:
    recipe = of(2, US)
    assert loss(state_after(recipe, table, [0]), state_after(recipe, table, [1])) == pytest.approx(
        0.5, abs=1e-5
    )
    # the biases of presence would lose more: -ln(1 - 2 gamma) + ln(1 + 2 gamma)
    wrong = of(2, UP)
    lost = loss(state_after(wrong, table, [0]), state_after(wrong, table, [1]))
    assert lost == pytest.approx(0.5 + math.log(2 - math.exp(-0.5)))


View = tuple[State, int]


def view_of(recipe: Density, before: Sequence[int], after: Sequence[int]) -> dict[View, float]:
    def program(noise: Noise) -> View:
        run = started(recipe, noise)
        run.add(before)
        seen = table(run, recipe)
        run.add(after)
        noisy = run.release().value / recipe.error.unit + recipe.users / 2
        return seen, round(noisy)

    return law_of(program, window=12)


def inner(view: View) -> bool:
    return abs(view[1]) <= 9


@pytest.mark.parametrize(
    ("before", "after", "known"), [([0], [], 0.5), ([], [0], 0.3729), ([0], [0], 0.8204)]
)
def test_state_and_output_together(before: list[int], after: list[int], known: float) -> None:
    recipe = of(1)
    lost = loss(view_of(recipe, before, after), view_of(recipe, [], []), among=inner)
    assert lost == pytest.approx(known, abs=5e-5)
    assert recipe.guarantee.loss == Pure(1)
    assert lost <= 1


def test_state_and_output_together_under_substitution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density, "biased_bits", chosen_bits)
    recipe = of(2, US)
    for before, after in [((0,), ()), ((), (0,)), ((0,), (0,)), ((0, 1), (0,))]:
        other = [tuple(1 for _ in part) for part in (before, after)]
        lost = loss(view_of(recipe, before, after), view_of(recipe, *other), among=inner)
        assert lost <= 1 + 1e-4


# Mutants ------------------------------------------------------------------------------------


def printed(noise: Noise, _: Neighbours, epsilon: Fraction, count: int) -> Bits:
    """The source text's bias: 1/2 + epsilon."""
    return noise.bernoulli(HALF + epsilon, count).view(np.uint8)


@pytest.mark.parametrize(
    ("relation", "epsilon", "known"),
    [
        (UP, "0.1", 0.223),
        (UP, "0.25", 0.693),
        (UP, "0.4", 1.609),
        (US, "0.1", 0.405),
        (US, "0.25", 1.099),
        (US, "0.4", 2.197),
    ],
)
def test_the_printed_bias_is_caught(
    monkeypatch: pytest.MonkeyPatch, relation: Neighbours, epsilon: str, known: float
) -> None:
    monkeypatch.setattr(density, "biased_bits", printed)
    recipe = of(1 if relation is UP else 2, relation, epsilon)
    other = state_after(recipe, table) if relation is UP else state_after(recipe, table, [1])
    assert loss(state_after(recipe, table, [0]), other) == pytest.approx(known, abs=6e-4)
    assert known > float(epsilon)


def test_bits_that_are_kept_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(self: DensityRun, users: IntArray, sign: int) -> None:
        for user in users:
            bit = biased_bits(self._noise, UP, HALF, 1)[0]
            self._tables[0][user] |= bit

    monkeypatch.setattr(DensityRun, "_fold", keep)
    recipe = of(1)
    assert loss(state_after(recipe, table, [0, 0, 0]), state_after(recipe, table)) > 1


def test_the_printed_estimator_is_caught() -> None:
    # n = 1000, epsilon = 0.1, all present: 2 (y - n / 2) / n has mean 0.2 where the truth is 1
    ones = 1000 * (0.5 + 0.1)
    assert 2 * (ones - 500) / 1000 == pytest.approx(0.2)
    recipe = of(200_000)
    run = started(recipe, System.direct())
    run.add(np.arange(200_000))
    wrong = 2 * (run.ones() - 100_000) / 200_000
    assert abs(wrong - 1) > 50 * recipe.error.std(1)
    assert abs(run.release().value - 1) < 5 * recipe.error.std(1)  # false alarm 6e-7


# Estimates ----------------------------------------------------------------------------------


def test_zero_noise_leaves_the_truth_in_the_table() -> None:
    run = started(of(9), Zero())
    run.add([3, 5, 3])
    assert table(run, of(9)) == (0, 0, 0, 1, 0, 1, 0, 0, 0)
    assert run.ones() == 2


@pytest.mark.parametrize("relation", [UP, US])
@pytest.mark.parametrize("present", [0, 60_000, 200_000])
def test_estimates_of_200_000_users(relation: Neighbours, present: int) -> None:
    recipe = of(200_000, relation)
    run = recipe.start(System.direct())
    run.add(np.arange(present, dtype=np.uint32))
    run.add(np.arange(present // 2))
    estimate = run.release(beta=1e-6)
    truth = present / 200_000
    assert estimate.low <= truth <= estimate.high  # false alarm 1e-6
    assert abs(estimate.value - truth) < 5 * estimate.standard_error  # false alarm 6e-7
    assert estimate.confidence == 1 - 1e-6


@pytest.mark.parametrize(("relation", "intrusions"), [(UP, 1), (US, 1), (UP, 2), (UP, 3)])
def test_the_standard_error_is_what_is_measured(relation: Neighbours, intrusions: int) -> None:
    # 600 runs without any user, where the bound is attained.  A sample deviation's relative
    # deviation is sqrt((kurtosis - 1) / 4n), kurtosis near 3: 2.9%; false alarm 1e-5 at 4.5
    recipe = of(2000, relation, intrusions=intrusions)
    values = []
    for _ in range(600):
        run = recipe.start(System.direct())
        for _ in range(intrusions - 1):
            run.intruded()
        values.append(run.release().value)
    predicted = recipe.error_over(intrusions).std(1)
    assert np.std(values) == pytest.approx(predicted, rel=0.13)
    assert abs(np.mean(values)) < 5 * predicted / math.sqrt(600)  # false alarm 6e-7


def test_intervals_cover() -> None:
    # 300 intervals that miss with probability 0.2 at most; false alarm below 1e-6 at 100
    recipe = of(500)
    missed = 0
    for _ in range(300):
        run = recipe.start(System.direct())
        run.add(np.arange(250))
        estimate = run.release(beta=0.2)
        missed += not estimate.low <= 0.5 <= estimate.high
    assert missed < 100


# Intrusions ---------------------------------------------------------------------------------


def test_two_unannounced_intrusions_lose_everything() -> None:
    recipe = of(1)
    one, none = (seen_twice(recipe, table, ([], after), lambda _: None) for after in ([0], []))
    assert loss(one, none) == math.inf


def test_announced_intrusions_cost_epsilon_state_each() -> None:
    recipe = of(1, intrusions=2)
    assert recipe.guarantee.loss == Pure(Fraction(3, 2))
    assert recipe.guarantee.intrusions is Intrusions.ANNOUNCED
    none = seen_twice(recipe, table, ([], []), DensityRun.intruded)
    for batches, known in [(([0], []), 0.5), (([], [0]), 0.5), (([0], [0]), 1.0)]:
        lost = loss(seen_twice(recipe, table, batches, DensityRun.intruded), none)
        assert lost == pytest.approx(known)


def test_a_waiting_table_that_was_seen_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DensityRun, "_refresh", lambda self: None)
    recipe = of(1, intrusions=2)
    one, none = (seen_twice(recipe, table, ([], after), DensityRun.intruded) for after in ([0], []))
    assert loss(one, none) == math.inf


@pytest.mark.parametrize("intrusions", [2, 3])
def test_estimates_over_announced_intrusions(intrusions: int) -> None:
    recipe = of(200_000, epsilon=1, intrusions=intrusions)
    run = recipe.start(System.direct())
    for epoch in range(intrusions):
        run.add(np.arange(epoch * 10_000, epoch * 10_000 + 40_000))  # some again, some new
        if epoch < intrusions - 1:
            run.intruded()
    estimate = run.release(beta=1e-6)
    truth = (40_000 + 10_000 * (intrusions - 1)) / 200_000
    assert estimate.low <= truth <= estimate.high  # false alarm 1e-6
    assert abs(estimate.value - truth) < 5 * estimate.standard_error  # false alarm 6e-7
    assert estimate.standard_error < 0.1


def test_absences_are_unbiased() -> None:
    gamma = 0.2
    for present in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        mean = sum(
            weight
            * math.prod(
                0.5 + gamma * here * (1 if pattern >> j & 1 else -1)
                for j, here in enumerate(present)
            )
            for pattern, weight in enumerate(absences(gamma, 2))
        )
        assert mean == pytest.approx(float(not any(present)))


def test_intrusions_beyond_the_declared_are_refused() -> None:
    recipe = of(4, intrusions=2)
    run = recipe.start(Zero())
    run.intruded()
    run.add([1])
    run.intruded()
    before = run.snapshot()
    with pytest.raises(BadInput, match="nothing can be added"):
        run.add([2])
    with pytest.raises(BadInput, match="declared for 2 intrusions"):
        run.intruded()
    resumed = recipe.resume(before, Zero())
    with pytest.raises(BadInput, match="nothing can be added"):
        resumed.add([2])
    assert resumed.snapshot() == before == run.snapshot()
    resumed.release()


def test_the_guarantee() -> None:
    recipe = Density(users=5, neighbours=US, epsilon_state=0.1, epsilon_output="0.2", releases=3)
    guarantee = recipe.guarantee
    assert guarantee.loss == Pure(Fraction(7, 10))
    assert guarantee.neighbours is US
    assert guarantee.contribution.bound == 2
    assert guarantee.intrusions is Intrusions.ONE
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    run = recipe.start(Zero())
    run.feed([[1], [2], []])
    with pytest.raises(HorizonReached, match="has 3 steps and has taken 3"):
        run.release()


@pytest.mark.parametrize("tables", [2, 3])
def test_the_variance_over_several_tables_is_that_of_users_who_are_in_none(tables: int) -> None:
    recipe = Density(
        users=50,
        neighbours="user-presence",
        epsilon_state=1,
        epsilon_output=1,
        intrusions=3,
    )
    error = recipe.error_over(tables)
    weights = np.array(absences(recipe.gamma, tables))  # of patterns that are equally likely
    assert weights.mean() == pytest.approx(1)
    assert error.variance == pytest.approx(50 * weights.var())
    assert error.spread == pytest.approx(50 * np.ptp(weights) ** 2)
