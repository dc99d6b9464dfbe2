"""Weighted majority: its law, its exact loss by enumeration, its regret, and epochs without end."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.learning import WeightedMajority, linear_learner
from ameles.noise import System, Tape, Zero
from tests.mechanisms.truthful.recorded import Recorded, loss


def laws(recipe: WeightedMajority, losses: Any) -> list[list[float]]:
    """The law of the choice in every step, from the real code: it depends on the losses alone."""
    noise = Recorded()
    run = recipe.start(noise)
    seen = []
    for row in losses:
        run.step(list(row))
        seen.append(noise.law)
    return seen


def test_no_step_and_no_run_loses_more_than_it_claims() -> None:
    recipe = WeightedMajority(rho="0.5", experts=3, horizon=3)
    eta = float(recipe.rate(3))
    assert 3 * eta**2 / 2 <= 0.5
    assert 3 * (eta + 2.0**-40) ** 2 / 2 > 0.5, "the largest rate that rho pays for"
    steps = list(itertools.product((0, 1), repeat=3))
    worst = 0.0
    for first, other, second in itertools.product(steps, steps, steps[::3]):
        one, two = (laws(recipe, [row, second, (0, 0, 0)]) for row in (first, other))
        assert one[0] == two[0], "a step is chosen before its losses are seen"
        for a, b in zip(one, two, strict=True):
            assert loss(a, b) <= 2 * eta + 1e-12
            # zero-concentrated: every Renyi divergence, here of some orders
            for order in (1.5, 2, 8, 32):
                moment = math.fsum(p**order * q ** (1 - order) for p, q in zip(a, b, strict=True))
                assert math.log(moment) / (order - 1) <= order * eta**2 / 2 + 1e-12
        worst = max(worst, sum(loss(a, b) for a, b in zip(one, two, strict=True)))
    assert 2 * eta < worst <= 2 * eta * 3


@pytest.mark.parametrize(("history", "ratio"), [(0, 2.0), (10, 2.92), (50, 3.97), (200, 4.0)])
def test_the_linear_learner_loses_four_eta_not_two(history: int, ratio: float) -> None:
    """The known answers of catalogue 21: two experts, (1, -1) replaced by (-1, 1)."""
    eta = Fraction(1, 10)

    def law(extra: int) -> float:
        """ln P(expert 0), with losses (h + extra, -extra) in units of eta."""
        return -float(eta) * (history + extra) - math.log(
            math.exp(-float(eta) * (history + extra)) + math.exp(float(eta) * extra)
        )

    assert round((law(-1) - law(1)) / float(eta), 2) <= ratio + 0.02
    recipe = linear_learner(rho=1, dimensions=2, horizon=8, grid=1)
    rate = float(recipe.rate(8))
    assert 8 * 2 * rate**2 == pytest.approx(1, rel=1e-9)
    worst = 0.0
    for past in itertools.product((-1, 0, 1), repeat=2):
        one, two = (laws(recipe, [past, past, row, (0, 0)]) for row in ((1, -1), (-1, 1)))
        worst = max(worst, loss(one[-1], two[-1]))
    assert 2 * rate < worst <= 4 * rate


def test_signed_losses_need_half_the_rate() -> None:
    plain = WeightedMajority(rho=1, experts=2, horizon=8)
    signed = linear_learner(rho=1, dimensions=2, horizon=8, grid=1)
    assert float(plain.rate(8)) == pytest.approx(2 * float(signed.rate(8)), rel=1e-9)


def test_losses_outside_of_the_grid_are_clamped() -> None:
    plain = WeightedMajority(rho=1, experts=2, horizon=8, grid=4)
    assert laws(plain, [(9, -3), (0, 0)]) == laws(plain, [(4, 0), (0, 0)])
    signed = linear_learner(rho=1, dimensions=2, horizon=8, grid=4)
    assert laws(signed, [(9, -30), (0, 0)]) == laws(signed, [(4, -4), (0, 0)])
    unsigned = np.array([2**63, 1], dtype=np.uint64)
    noise = Recorded()
    run = plain.start(noise)
    run.step(unsigned)
    run.step([0, 0])
    assert noise.law == laws(plain, [(4, 1), (0, 0)])[1]


@pytest.mark.parametrize("horizon", [4, None])
@pytest.mark.parametrize("signed", [False, True])
def test_no_losses_of_two_experts_exceed_the_bounds(horizon: int | None, signed: bool) -> None:
    """Exactly, for all losses of four steps: every path of choices has a probability."""
    recipe = WeightedMajority(rho=10, experts=2, horizon=horizon, signed=signed)
    bounds = {beta: recipe.error.bound(4, beta) for beta in (0.5, 0.2)}
    worst = dict.fromkeys(bounds, 0.0)
    for losses in itertools.product(((0, 1), (1, 0), (1, 1)), repeat=4):
        table = np.array(losses) * 2 - 1 if signed else np.array(losses)
        chances = np.array(laws(recipe, table.tolist()))
        law = {0: 1.0}  # of the loss so far
        for row, chance in zip(table.tolist(), chances.tolist(), strict=True):
            following: dict[int, float] = {}
            for (sum_, p), (loss_, q) in itertools.product(
                law.items(), zip(row, chance, strict=True)
            ):
                following[sum_ + loss_] = following.get(sum_ + loss_, 0.0) + p * q
            law = following
        best = int(table.sum(axis=0).min())
        for beta, bound in bounds.items():
            above = math.fsum(p for sum_, p in law.items() if sum_ - best > bound)
            worst[beta] = max(worst[beta], above)
    assert all(share <= beta for beta, share in worst.items())
    assert bounds[0.5] < 4 * recipe.span or horizon is None


@pytest.mark.parametrize("horizon", [300, None])
def test_regret_is_within_its_bound(horizon: int | None) -> None:
    # one bound at 1e-5
    recipe = WeightedMajority(rho=1, experts=5, horizon=horizon, grid=10)
    losses = System().uniform(11, (300, 5))
    losses[:, 2] //= 2  # the best expert
    run = recipe.start(System())
    followed = sum(int(row[run.step(row)]) for row in losses) / 10
    regret = followed - losses.sum(axis=0).min() / 10
    assert regret <= recipe.error.bound(300, 1e-5)
    if horizon:
        # a weak learner would lose about 100 more; this one follows the best most of the time
        assert regret < 70


def test_without_a_horizon_each_epoch_starts_afresh() -> None:
    recipe = WeightedMajority(rho=1, experts=2)
    seen = laws(recipe, [(1, 0)] * 8)
    even = [place for place, law in enumerate(seen) if law == [0.5, 0.5]]
    assert even == [0, 1, 3, 7]  # the first steps of epochs of 1, 2, 4 and 8 steps
    assert recipe.guarantee.horizon is None
    for length in (1, 2, 4, 1024):
        assert length * float(recipe.rate(length)) ** 2 / 2 <= 1


def test_a_resumed_run_goes_on_within_its_epoch() -> None:
    recipe = WeightedMajority(rho=1, experts=3)
    tape = [0, 1, 2, 0, 1, 2, 1]
    whole = recipe.start(Tape(tape))
    expected = [whole.step([1, 0, 2]) for _ in range(7)]
    first = recipe.start(Tape(tape[:4]))
    for _ in range(4):
        first.step([1, 0, 2])
    second = recipe.resume(first.snapshot(), Recorded())
    expected_law = laws(recipe, [[1, 0, 2]] * 5)[-1]
    noise = Recorded()
    second = recipe.resume(first.snapshot(), noise)
    second.step([1, 0, 2])
    assert noise.law == expected_law
    assert len(expected) == 7


@pytest.mark.parametrize("losses", [None, 3, [1], np.array([1.0, 2.0]), [[1, 2]], {1, 2}])
def test_losses_of_another_shape_are_refused(losses: Any) -> None:
    run = WeightedMajority(rho=1, experts=2, horizon=2).start(Zero())
    with pytest.raises(BadInput, match="2 whole numbers"):
        run.step(losses)
    assert run.t == 0
