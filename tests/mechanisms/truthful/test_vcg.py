"""Private VCG: exactly truthful in expectation, nobody loses, and payments hide other reports."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.truthful import PrivateVcg
from ameles.mechanisms.truthful.vcg import DIGITS, PAYMENT_UNITS, _rounded
from ameles.noise import System, Tape, Zero
from tests.mechanisms.truthful.recorded import Recorded, chosen, loss

GRID = 4


def recipe(agents: int = 2, outcomes: int = 3, epsilon: Any = 1, **given: Any) -> PrivateVcg:
    return PrivateVcg(
        **{
            "epsilon": epsilon,
            "payment_epsilon": "0.5",
            "agents": agents,
            "outcomes": outcomes,
            "units": GRID,
            "neighbours": "replace",
            **given,
        }
    )


def payments(mechanism: PrivateVcg, values: Any) -> list[float]:
    units = mechanism.payment_units(mechanism.checked(values))
    return [unit / PAYMENT_UNITS for unit in units]


def utility(mechanism: PrivateVcg, agent: int, own: Any, told: Any) -> float:
    law = mechanism.law(told)
    worth = math.fsum(p * v / GRID for p, v in zip(law, own, strict=True))
    return worth - payments(mechanism, told)[agent]


def test_payments_are_those_of_the_formula() -> None:
    mechanism = recipe(epsilon="0.7")
    values = [[4, 0, 1], [0, 3, 2]]
    weights = [[math.exp(0.35 * v / GRID) for v in row] for row in values]
    z = sum(a * b for a, b in zip(*weights, strict=True))
    law = mechanism.law(values)
    for agent, other in ((0, 1), (1, 0)):
        mean = sum(p * v / GRID for p, v in zip(law, values[agent], strict=True))
        expected = math.log(sum(weights[other]) / z) / 0.35 + mean
        assert payments(mechanism, values)[agent] == pytest.approx(expected, abs=1 / PAYMENT_UNITS)


@pytest.mark.parametrize("epsilon", ["0.1", 2])
def test_no_lie_pays_and_nobody_loses(epsilon: Any) -> None:
    mechanism = recipe(outcomes=2, epsilon=epsilon)
    slack = 2 / PAYMENT_UNITS  # payments are rounded
    for own in itertools.product((0, 1, 4), repeat=2):
        for other in ((0, 4), (3, 1), (2, 2)):
            honest = utility(mechanism, 0, own, [own, other])
            assert honest >= -slack
            for lie in itertools.product((0, 2, 4), repeat=2):
                assert utility(mechanism, 0, own, [lie, other]) <= honest + slack
                assert -slack <= payments(mechanism, [lie, other])[0] <= 1


def test_without_payments_a_lie_would_gain() -> None:
    mechanism = recipe(outcomes=2)
    truth, lie = [[2, 1], [2, 2]], [[4, 0], [2, 2]]
    worth = [
        sum(p * v / GRID for p, v in zip(mechanism.law(told), truth[0], strict=True))
        for told in (truth, lie)
    ]
    assert worth[0] < worth[1] <= worth[0] + mechanism.gain


def test_the_outcome_hides_one_report() -> None:
    mechanism = recipe(outcomes=2)
    worst = 0.0
    rows = list(itertools.product((0, 4), repeat=2))
    for one, other, lie in itertools.product(rows, repeat=3):
        told = [list(one), list(other)]
        assert mechanism.law(told) == pytest.approx(chosen(mechanism, told))
        worst = max(worst, loss(mechanism.law(told), mechanism.law([list(lie), list(other)])))
    assert 0.5 < worst <= 1


@pytest.mark.parametrize("epsilon", ["0.05", 1, 3, 8])
def test_a_report_changes_the_payments_of_others_by_little(epsilon: Any) -> None:
    mechanism = recipe(agents=3, epsilon=epsilon)
    limit = mechanism.payment_reach
    assert limit == math.ceil(min(Fraction(1), Fraction(epsilon) / 2) * PAYMENT_UNITS)
    widest = 0
    for _ in range(40):
        values = System().uniform(GRID + 1, (3, 3))
        lie = values.copy()
        lie[0] = GRID * System().uniform(2, 3)
        changes = [
            abs(a - b)
            for a, b in zip(
                mechanism.payment_units(values)[1:], mechanism.payment_units(lie)[1:], strict=True
            )
        ]
        widest = max(widest, *changes)
    assert 0 < widest <= limit


def test_losses_add_up() -> None:
    mechanism = recipe(agents=4, epsilon="0.2")
    assert mechanism.loss.epsilon == Fraction("1.7")
    assert mechanism.joint_loss.epsilon == Fraction("0.7")
    noise = Recorded()
    mechanism.start(noise).step(np.zeros((4, 3), dtype=np.int64))
    assert noise.scale == mechanism.payment_reach / Fraction(1, 2)


def test_noise_is_added_to_payments() -> None:
    mechanism = recipe()
    values = [[4, 0, 1], [0, 3, 2]]
    plain = mechanism.start(Zero()).step(values)
    drawn = mechanism.start(Tape([plain.outcome, 5, -7])).step(values)
    moved = [
        (after - before) * PAYMENT_UNITS
        for after, before in zip(drawn.payments, plain.payments, strict=True)
    ]
    assert moved == [5, -7]


def test_rounding_waits_until_it_is_certain() -> None:
    from decimal import Decimal

    half = Decimal("0.5") / PAYMENT_UNITS
    assert _rounded(half, DIGITS) is None
    assert _rounded(half, 640) == 1
    assert _rounded(half * Decimal("0.999"), DIGITS) == 0


def test_the_printed_weight_is_off_by_the_square_of_the_agents() -> None:
    """n = 100, all for one outcome, epsilon = 1: odds of 1.005 instead of 5.2e21 (catalogue 59)."""
    mechanism = recipe(agents=100, outcomes=2)
    law = mechanism.law([[GRID, 0]] * 100)
    assert law[0] / law[1] == pytest.approx(5.18e21, rel=1e-2)
    assert round(math.exp(1 / (2 * 100)), 3) == 1.005


def test_too_large_a_table_is_refused() -> None:
    with pytest.raises(BadInput, match="Agents times outcomes"):
        recipe(agents=1 << 20, outcomes=2)
