from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.composition import compose
from ameles.accounting.divergence import max_ratio
from ameles.accounting.parallel import parallel, parts_touched
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    USER,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Unit,
    user_window,
)
from ameles.core.loss import Approx, Concentrated, Loss, Pure

amounts = st.integers(0, 5000).map(lambda n: Fraction(n, 1000))


def promise(
    loss: Loss,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    *,
    unit: Unit = EVENT,
    steps: int = 1,
    bound: int = 1,
    norm: Norm = Norm.L1,
) -> Guarantee:
    return Guarantee(
        loss=loss,
        unit=unit,
        neighbours=neighbours,
        contribution=Contribution(steps=steps, bound=bound, norm=norm),
        horizon=10,
        intrusions=Intrusions.NONE,
    )


@given(st.lists(amounts, min_size=1, max_size=8))
def test_one_part_moves_the_maximum(epsilons: list[Fraction]) -> None:
    for neighbours in (Neighbours.ADD_REMOVE, Neighbours.USER_PRESENCE, Neighbours.STEP):
        parts = [promise(Pure(epsilon), neighbours) for epsilon in epsilons]
        assert parallel(parts, partition_of=EVENT) == replace(parts[0], loss=Pure(max(epsilons)))


@given(st.lists(amounts, min_size=2, max_size=8))
def test_two_parts_move_the_two_largest(epsilons: list[Fraction]) -> None:
    largest = sum(sorted(epsilons)[-2:], Fraction(0))
    for neighbours in (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION):
        parts = [promise(Pure(epsilon), neighbours) for epsilon in epsilons]
        assert parallel(parts, partition_of=EVENT).loss == Pure(largest)


@given(st.lists(amounts, min_size=1, max_size=8), st.integers(1, 4), st.integers(1, 4))
def test_a_step_can_touch_as_many_parts_as_it_may_change(
    rhos: list[Fraction], steps: int, bound: int
) -> None:
    by_norm = {Norm.L1: bound, Norm.SQUARED: bound, Norm.L2: bound**2}
    for norm, touched in ((norm, steps * parts) for norm, parts in by_norm.items()):
        parts = [
            promise(Concentrated(rho), Neighbours.STEP, steps=steps, bound=bound, norm=norm)
            for rho in rhos
        ]
        largest = sum(sorted(rhos)[-touched:], Fraction(0))
        assert parallel(parts, partition_of=EVENT).loss == Concentrated(largest)
        assert parts_touched(Neighbours.STEP, parts[0].contribution) == touched


def test_currencies_meet_as_in_a_sum() -> None:
    mixed = [promise(Pure(2)), promise(Approx(1, "1e-6")), promise(Approx("0.5", "1e-5"))]
    assert parallel(mixed, partition_of=EVENT).loss == Approx(2, "1e-5")
    mixed = [promise(Pure(2)), promise(Concentrated(1))]
    assert parallel(mixed, partition_of=EVENT).loss == Concentrated(2)
    with pytest.raises(BadInput, match="cannot be put into one total"):
        parallel([promise(Approx(1, "1e-6")), promise(Concentrated(1))], partition_of=EVENT)


@given(st.lists(amounts, min_size=1, max_size=8), st.sampled_from(Neighbours))
def test_never_more_than_the_sum(epsilons: list[Fraction], neighbours: Neighbours) -> None:
    parts = [promise(Pure(epsilon), neighbours) for epsilon in epsilons]
    together = parallel(parts, partition_of=EVENT).loss
    total = compose(part.loss for part in parts)
    assert isinstance(together, Pure)
    assert isinstance(total, Pure)
    assert together.epsilon <= total.epsilon


@pytest.mark.parametrize(
    ("unit", "partition"), [(USER, EVENT), (user_window(30), USER), (USER, user_window(30))]
)
def test_parts_of_something_else_are_refused(unit: Unit, partition: Unit) -> None:
    with pytest.raises(BadInput, match=f"protected unit, {unit}. Got a partition of {partition}"):
        parallel([promise(Pure(1), unit=unit)], partition_of=partition)


def test_parts_that_promise_different_things_are_refused() -> None:
    first = promise(Pure(1))
    others = {
        "unit": promise(Pure(1), unit=USER),
        "neighbours": promise(Pure(1), Neighbours.REPLACE),
        "contribution": promise(Pure(1), bound=2),
        "horizon": replace(first, horizon=None),
        "intrusions": replace(first, intrusions=Intrusions.ONE),
    }
    for aspect, other in others.items():
        with pytest.raises(BadInput, match=f"same {aspect}"):
            parallel([first, other], partition_of=EVENT)
    with pytest.raises(BadInput, match="at least one part"):
        parallel([], partition_of=EVENT)


def test_exact_enumeration_of_three_parts_under_both_relations() -> None:
    # Each part reports by randomized response whether it holds the row: ratios 2, 3, 5.
    ratios = (2, 3, 5)

    def reports(holder: int | None) -> dict[tuple[bool, ...], Fraction]:
        law = {}
        for answer in product((False, True), repeat=3):
            mass = Fraction(1)
            for part, (said, ratio) in enumerate(zip(answer, ratios, strict=True)):
                mass *= Fraction(ratio if said == (part == holder) else 1, ratio + 1)
            law[answer] = mass
        return law

    removed = max(max_ratio(reports(part), reports(None)) for part in range(3))
    replaced = max(max_ratio(reports(a), reports(b)) for a, b in product(range(3), repeat=2))
    assert removed == 5  # the maximum
    assert replaced == 15  # planted: the maximum, 5, would understate a replacement
