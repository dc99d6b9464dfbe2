from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.divergence import (
    Divergence,
    approximate_max_divergence,
    hockey_stick,
    hockey_stick_at,
    kl_bound,
    kl_divergence,
    max_divergence,
    max_ratio,
    total_variation,
    total_variation_bound,
)
from ameles.core.exceptions import BadInput

from .oracle import decimal, many_digits, outward

Law: TypeAlias = dict[str, Fraction]


def normalised(weights: list[int]) -> Law:
    return {o: Fraction(w, sum(weights)) for o, w in zip("abcd", weights, strict=True)}


laws = st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any).map(normalised)
full_laws = st.lists(st.integers(1, 20), min_size=4, max_size=4).map(normalised)
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100)


def events(law: Law) -> list[tuple[str, ...]]:
    return [event for size in range(len(law) + 1) for event in combinations(law, size)]


def mass(law: Law, event: tuple[str, ...]) -> Fraction:
    return sum((law[o] for o in event), Fraction(0))


def over_events(law: Law, other: Law, ratio: Fraction) -> Fraction:
    """The definition: the largest law(S) - ratio * other(S) over all events S."""
    return max(mass(law, event) - ratio * mass(other, event) for event in events(law))


def agrees_with_the_definition(
    stick: Callable[[Law, Law, Fraction], Fraction], law: Law, other: Law, ratio: Fraction
) -> bool:
    return stick(law, other, ratio) == over_events(law, other, ratio)


@given(laws, laws, st.fractions(min_value=1, max_value=20, max_denominator=10))
def test_hockey_stick_is_the_largest_surplus_of_an_event(
    law: Law, other: Law, ratio: Fraction
) -> None:
    assert agrees_with_the_definition(
        lambda p, q, r: hockey_stick_at(p, q, ratio=r), law, other, ratio
    )


def test_broken_hockey_sticks_are_caught() -> None:
    law, other = normalised([4, 2, 3, 1]), normalised([2, 4, 1, 3])
    whole_event = lambda p, q, r: max(Fraction(0), sum((p[o] - r * q[o] for o in p), Fraction(0)))
    largest_outcome = lambda p, q, r: max(p[o] - r * q[o] for o in p)
    absolute = lambda p, q, r: sum((abs(p[o] - r * q[o]) for o in p), Fraction(0))
    for broken in (whole_event, largest_outcome, absolute):
        assert not agrees_with_the_definition(broken, law, other, Fraction(1))


@given(laws, laws, epsilons)
def test_hockey_stick_of_a_loss_is_outward(law: Law, other: Law, epsilon: Fraction) -> None:
    divergence = hockey_stick(law, other, epsilon=epsilon)
    with many_digits():
        factor = decimal(epsilon).exp()
        parts = (decimal(law[o]) - factor * decimal(other[o]) for o in law)
        truth = sum((part for part in parts if part > 0), Decimal(0))
    assert divergence == 0 if truth == 0 else outward(divergence, truth, "up")


def test_hockey_stick_of_an_enormous_loss_is_still_an_upper_bound() -> None:
    rare = Fraction(1, 10**310)
    law, other = {"a": Fraction(1, 2), "b": Fraction(1, 2)}, {"a": rare, "b": 1 - rare}
    for epsilon in (689, 690, 691, 1000):
        # exp(713.8) is 10**310: below it nearly all of "a" is left over, above it nothing is.
        truth = max(0.0, 0.5 - math.exp(epsilon - 310 * math.log(10)))
        divergence = float(hockey_stick(law, other, epsilon=epsilon))
        assert truth <= divergence * (1 + 1e-12) <= 0.5 + 1e-9


@given(laws, laws)
def test_total_variation(law: Law, other: Law) -> None:
    distance = total_variation(law, other)
    assert distance == total_variation(other, law)
    assert distance == sum((abs(law[o] - other[o]) for o in law), Fraction(0)) / 2
    assert distance == hockey_stick(law, other, epsilon=0)


@given(laws, laws)
def test_max_ratio_and_its_logarithm(law: Law, other: Law) -> None:
    ratio, divergence = max_ratio(law, other), max_divergence(law, other)
    if any(law[o] > 0 == other[o] for o in law):
        assert ratio == divergence == math.inf
        return
    assert ratio == max(law[o] / other[o] for o in law if law[o] > 0)
    assert isinstance(ratio, Fraction)
    assert isinstance(divergence, Fraction)
    with many_digits():
        truth = decimal(ratio).ln()
    assert divergence == 0 if ratio == 1 else outward(divergence, truth, "up")


@given(laws, laws, st.fractions(min_value=0, max_value=Fraction(9, 10), max_denominator=50))
def test_catalogue_52_approximate_divergence_is_the_inverse_of_the_hockey_stick(
    law: Law, other: Law, delta: Fraction
) -> None:
    divergence = approximate_max_divergence(law, other, delta=delta)
    candidates: list[Divergence] = [Fraction(1)]
    for event in events(law):
        surplus, against = mass(law, event) - delta, mass(other, event)
        if surplus > 0:
            candidates.append(surplus / against if against else math.inf)
    largest = max(candidates)
    if isinstance(largest, float):
        assert divergence == math.inf
        return
    assert isinstance(divergence, Fraction)
    with many_digits():
        truth = decimal(largest).ln()
    assert divergence == 0 if largest == 1 else outward(divergence, truth, "up")
    assert hockey_stick_at(law, other, ratio=largest) <= delta
    if largest > 1:
        assert hockey_stick_at(law, other, ratio=(1 + 99 * largest) / 100) > delta


@given(full_laws, full_laws)
def test_kl_is_outward(law: Law, other: Law) -> None:
    divergence = kl_divergence(law, other)
    assert isinstance(divergence, Fraction)
    with many_digits():
        logs = (decimal(law[o]) * decimal(law[o] / other[o]).ln() for o in law)
        truth = sum(logs, Decimal(0))
    assert divergence == 0 if law == other else outward(divergence, truth, "up")


def test_catalogue_52_missing_support_is_infinite() -> None:
    law, other = normalised([1, 1, 0, 0]), normalised([1, 0, 1, 0])
    assert max_ratio(law, other) == max_divergence(law, other) == math.inf
    assert kl_divergence(law, other) == math.inf
    assert approximate_max_divergence(law, other, delta="0.1") == math.inf
    # With delta at least the missing half, what remains has the ratio 1 at most.
    assert approximate_max_divergence(law, other, delta="0.5") == 0


def test_outcomes_may_be_listed_by_one_law_only() -> None:
    assert total_variation({"a": Fraction(1)}, {"b": Fraction(1)}) == 1
    assert max_ratio({"a": Fraction(1)}, {"a": Fraction(1, 2), "b": Fraction(1, 2)}) == 2


@given(full_laws, full_laws)
def test_both_bounds_hold_for_every_pure_pair(law: Law, other: Law) -> None:
    epsilon = max(max_divergence(law, other), max_divergence(other, law))
    assert isinstance(epsilon, Fraction)
    assert total_variation(law, other) <= total_variation_bound(epsilon=epsilon)
    # Both sides are rounded up, by less than a relative 1e-14.
    assert kl_divergence(law, other) <= kl_bound(epsilon=epsilon) * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize("ratio", [2, 3, 10, 1000])
def test_randomized_response_attains_both_bounds(ratio: int) -> None:
    yes = {"yes": Fraction(ratio, ratio + 1), "no": Fraction(1, ratio + 1)}
    no = {"yes": Fraction(1, ratio + 1), "no": Fraction(ratio, ratio + 1)}
    epsilon = max_divergence(yes, no)
    assert max_ratio(yes, no) == max_ratio(no, yes) == ratio
    assert isinstance(epsilon, Fraction)
    assert float(total_variation_bound(epsilon=epsilon)) == pytest.approx(
        float(total_variation(yes, no)), rel=1e-13
    )
    assert float(kl_bound(epsilon=epsilon)) == pytest.approx(
        float(kl_divergence(yes, no)), rel=1e-13
    )
    # Planted: anything smaller than the bounds is refuted by this pair.
    smaller = Fraction(999, 1000)
    assert total_variation_bound(epsilon=epsilon) * smaller < total_variation(yes, no)
    assert kl_bound(epsilon=epsilon) * smaller < kl_divergence(yes, no)


def test_catalogue_31_truth_or_coin_is_ln_three() -> None:
    yes, no = normalised([3, 1, 0, 0]), normalised([1, 3, 0, 0])
    assert f"{float(max_divergence(yes, no)):.6f}" == "1.098612"


@pytest.mark.parametrize(("epsilon", "bound"), [("0.1", "0.0050"), ("1", "0.4621")])
def test_catalogue_52_kl_known_answers(epsilon: str, bound: str) -> None:
    assert f"{float(kl_bound(epsilon=epsilon)):.4f}" == bound


def test_catalogue_52_the_printed_bound_is_true_and_loose() -> None:
    def printed(epsilon: float) -> float:
        return epsilon * math.expm1(epsilon)

    assert f"{printed(0.1):.4f}" == "0.0105"
    assert f"{printed(1.0):.3f}" == "1.718"
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert kl_bound(epsilon=epsilon) <= printed(epsilon)
    # and it is at most 2 epsilon² up to epsilon 1.256
    assert printed(1.256) <= 2 * 1.256**2
    assert printed(1.257) > 2 * 1.257**2


@given(epsilons)
def test_bounds_are_outward(epsilon: Fraction) -> None:
    with many_digits():
        grown = decimal(epsilon).exp()
        tanh = (grown - 1) / (grown + 1)
        product = decimal(epsilon) * tanh
    assert outward(total_variation_bound(epsilon=epsilon), tanh, "up")
    assert outward(kl_bound(epsilon=epsilon), product, "up")


def test_refusals() -> None:
    half = {"a": Fraction(1, 2)}
    sure = {"a": Fraction(1)}
    with pytest.raises(BadInput, match="'law' must add up to exactly 1"):
        total_variation(half, sure)
    with pytest.raises(BadInput, match="'other' must be fractions from 0 on"):
        total_variation(sure, {"a": Fraction(2), "b": Fraction(-1)})
    with pytest.raises(BadInput, match="'ratio'"):
        hockey_stick_at(sure, sure, ratio="0.5")
    with pytest.raises(BadInput, match="'delta'"):
        approximate_max_divergence(sure, sure, delta=1)
    with pytest.raises(BadInput, match="'epsilon'"):
        hockey_stick(sure, sure, epsilon=-1)
