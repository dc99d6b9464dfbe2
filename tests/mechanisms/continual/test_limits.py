"""What is impossible is refused, with its theorem and its number, before there is any state."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.continual.published_answers import refuse_continual_modular
from ameles.mechanisms.counters.lower_bounds import intrusion_bound, varying_bound
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.intrusions import check_intrusions, refuse_second_intrusion
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter

TABLE: dict[str, Any] = {
    "users": 1000,
    "neighbours": "user-presence",
    "epsilon_state": 1,
    "epsilon_output": 1,
}
MORE_THAN_ONE = ["every", "two", Intrusions.EVERY]


@pytest.mark.parametrize("steps", [1, 100, 1444, 10**6])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1])
def test_continual_modular_incidence(steps: int, epsilon: Fraction) -> None:
    with pytest.raises(BadInput, match="user level") as caught:
        refuse_continual_modular(users=1000, steps=steps, epsilon=epsilon)
    bound = varying_bound(changes=steps, jump=1, users=1000, epsilon=epsilon)
    assert "Thm 5.3" in caught.value.why
    assert f"wrong by {bound:.3g} of all users" in caught.value.why


def test_a_second_intrusion() -> None:
    with pytest.raises(BadInput, match="twice") as caught:
        refuse_second_intrusion(epsilon=1, steps=10**4)
    bound = intrusion_bound(intrusions=10**4, epsilon=1, beta=0.25)
    assert "Fig 12.2" in caught.value.why
    assert "Thm 4.3" in caught.value.why
    assert f"more than {bound:g} with probability 1/4" in caught.value.why


@pytest.mark.parametrize("allowed", Intrusions)
@pytest.mark.parametrize("asked", Intrusions)
def test_fewer_intrusions_are_covered_and_more_refused(
    allowed: Intrusions, asked: Intrusions
) -> None:
    order = list(Intrusions)
    if order.index(asked) <= order.index(allowed):
        check_intrusions(allowed, asked, epsilon=1, steps=100)
        return
    with pytest.raises(BadInput) as caught:
        check_intrusions(allowed, asked, epsilon=1, steps=100)
    assert ("Thm 4.3" in caught.value.why) == (allowed is Intrusions.ONE)


@pytest.mark.parametrize(
    "counter", [PanPrivateCounter, PanPrivateTreeCounter, PanPrivatePlaceCounter]
)
@pytest.mark.parametrize("asked", MORE_THAN_ONE)
def test_counters_for_one_intrusion_refuse_unannounced_ones(counter: Any, asked: Any) -> None:
    with pytest.raises(BadInput, match="intrusions") as caught:
        counter(epsilon=1, horizon=8, intrusions=asked)
    assert "Thm 4.3" in caught.value.why
    assert "SimpleTwoCounter" in caught.value.tip


@pytest.mark.parametrize(
    ("table", "given"),
    [
        (Density, {}),
        (SampledDensity, {"sample": 10}),
        (BucketDensity, {"buckets": 10}),
        (ModularIncidence, {"modulus": 2}),
        (ResidueFraction, {"modulus": 2, "residues": (1,)}),
    ],
)
@pytest.mark.parametrize("asked", MORE_THAN_ONE)
def test_tables_of_users_refuse_unannounced_intrusions(table: Any, given: Any, asked: Any) -> None:
    with pytest.raises(BadInput, match="announced intrusions") as caught:
        table(**TABLE, **given, intrusions=asked)
    assert "Thm 4.3" in caught.value.why
    assert table(**TABLE, **given, intrusions=2).guarantee.intrusions is Intrusions.ANNOUNCED
    with pytest.raises(BadInput, match="whole number"):
        table(**TABLE, **given, intrusions=0)
