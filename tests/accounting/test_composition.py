from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.composition import compose
from ameles.accounting.divergence import hockey_stick_at
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure

amounts = st.integers(0, 5000).map(lambda n: Fraction(n, 1000))
small = st.integers(0, 10_000).map(lambda n: Fraction(n, 10**6))


@given(st.lists(amounts, max_size=8))
def test_pure_adds_up(epsilons: list[Fraction]) -> None:
    assert compose(Pure(epsilon) for epsilon in epsilons) == Pure(sum(epsilons, Fraction(0)))


@given(st.lists(st.tuples(amounts, small), min_size=1, max_size=8), amounts)
def test_catalogue_50_both_amounts_add_up(
    pairs: list[tuple[Fraction, Fraction]], pure: Fraction
) -> None:
    losses: list[Loss] = [Approx(epsilon, delta) for epsilon, delta in pairs]
    epsilon, delta = (sum(amounts, Fraction(0)) for amounts in zip(*pairs, strict=True))
    assert compose(losses) == Approx(epsilon, delta)
    assert compose([*losses, Pure(pure)]) == Approx(epsilon + pure, delta)


@given(st.lists(amounts, min_size=1, max_size=8), st.lists(amounts, max_size=8))
def test_rho_adds_up_and_pure_enters_squared(rhos: list[Fraction], pures: list[Fraction]) -> None:
    total = sum(rhos, Fraction(0)) + sum((e**2 / 2 for e in pures), Fraction(0))
    losses: list[Loss] = [*map(Concentrated, rhos), *map(Pure, pures)]
    assert compose(losses) == Concentrated(total)


def test_an_approx_without_delta_is_pure_in_a_mix() -> None:
    assert compose([Approx(1, 0), Concentrated(1)]) == Concentrated("1.5")
    assert compose([Approx(1, 0), Pure(1)]) == Approx(2, 0)


def test_nothing_costs_nothing() -> None:
    assert compose([]) == Pure(0)


def test_a_mix_without_a_common_currency_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be put into one total") as refusal:
        compose([Approx(1, "1e-6"), Concentrated(1)])
    assert "to_approx(loss, delta=...)" in refusal.value.tip


def test_a_total_delta_of_one_is_refused() -> None:
    with pytest.raises(BadInput, match="total delta is 1; it must be below 1"):
        compose([Approx(1, "0.5"), Approx(1, "0.5")])


Law = dict[str, Fraction]


def test_catalogue_50_erratum_the_printed_set_function_is_no_measure() -> None:
    law: Law = {"a": Fraction(4, 10), "b": Fraction(2, 10), "c": Fraction(4, 10)}
    other: Law = {"a": Fraction(3, 10), "b": Fraction(3, 10), "c": Fraction(4, 10)}

    def printed(event: str) -> Fraction:
        """(P(C) - exp(epsilon) P'(C))_+ at epsilon 0, as printed in the proof of B.1."""
        return max(Fraction(0), sum((law[o] - other[o] for o in event), Fraction(0)))

    def positive_part(event: str) -> Fraction:
        return sum((max(Fraction(0), law[o] - other[o]) for o in event), Fraction(0))

    def is_additive(measure: Callable[[str], Fraction]) -> bool:
        return measure("a") + measure("b") == measure("ab")

    assert [printed(event) for event in ("a", "b", "ab")] == [Fraction(1, 10), 0, 0]
    assert not is_additive(printed)
    assert is_additive(positive_part)
    assert positive_part("abc") == hockey_stick_at(law, other, ratio=1)


def joint(first: Law, second: Law) -> Law:
    return {a + b: first[a] * second[b] for a, b in product(first, second)}


@given(
    st.lists(st.integers(0, 9), min_size=12, max_size=12).filter(
        lambda w: all(any(w[i : i + 3]) for i in range(0, 12, 3))
    )
)
def test_sums_of_delta_hold_on_real_pairs(weights: list[int]) -> None:
    laws = [
        {
            o: Fraction(w, sum(weights[i : i + 3]))
            for o, w in zip("xyz", weights[i : i + 3], strict=True)
        }
        for i in range(0, 12, 3)
    ]
    deltas = [hockey_stick_at(laws[i], laws[i + 1], ratio=2) for i in (0, 2)]
    together = hockey_stick_at(joint(laws[0], laws[2]), joint(laws[1], laws[3]), ratio=4)
    assert together <= sum(deltas)


def test_the_larger_of_two_deltas_would_not_do() -> None:
    law: Law = {"x": Fraction(1, 2), "y": Fraction(1, 2)}
    other: Law = {"x": Fraction(1, 5), "y": Fraction(4, 5)}
    delta = hockey_stick_at(law, other, ratio=2)
    together = hockey_stick_at(joint(law, law), joint(other, other), ratio=2)
    assert delta < together <= 2 * delta + Fraction(1, 10)
