"""Budget allocation: exact sums, and no other split is better."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.one_shot import by_largest_error, by_weights, geometric_shares

SIZES = [Fraction(size) for size in ("1", "7", "1/3", "1000", "1e-9")]
WEIGHTS = [Fraction(weight) for weight in ("5", "1", "2", "0.01", "1e6")]


def cost(shares: list[Fraction]) -> float:
    """The weighted sum of variances."""
    return sum(
        float(2 * w * size**2 / share**2)
        for w, size, share in zip(WEIGHTS, SIZES, shares, strict=True)
    )


@pytest.mark.parametrize("epsilon", ["0.1", "1/3", 7])
def test_shares_sum_to_epsilon_exactly(epsilon: Any) -> None:
    total = Fraction(epsilon)
    assert sum(by_weights(epsilon=epsilon, sensitivities=SIZES, weights=WEIGHTS)) == total
    assert sum(by_largest_error(epsilon=epsilon, sensitivities=SIZES)) == total


def test_no_small_change_makes_the_weighted_variance_smaller() -> None:
    best = by_weights(epsilon=1, sensitivities=SIZES, weights=WEIGHTS)
    least = cost(best)
    for i in range(len(SIZES)):
        for j in range(len(SIZES)):
            moved = list(best)
            by = min(best[i], best[j]) / 1000
            moved[i] -= by
            moved[j] += by
            assert cost(moved) >= least * (1 - 1e-12)
    assert cost(by_largest_error(epsilon=1, sensitivities=SIZES)) > least


def test_the_weights_are_one_by_default() -> None:
    assert by_weights(epsilon=9, sensitivities=[1, 8, 27]) == [
        Fraction(9 * part, 14) for part in (1, 4, 9)
    ]


def test_the_largest_error_is_smallest_where_all_are_equal() -> None:
    shares = by_largest_error(epsilon=1, sensitivities=SIZES)
    errors = {size / share for size, share in zip(SIZES, shares, strict=True)}
    assert errors == {sum(SIZES)}


def test_an_endless_series_never_reaches_epsilon() -> None:
    first = list(islice(geometric_shares(epsilon="0.3"), 40))
    assert first[:2] == [Fraction(3, 20), Fraction(3, 40)]
    assert sum(first) == Fraction(3, 10) * (1 - Fraction(1, 2**40))
    thirds = list(islice(geometric_shares(epsilon=1, ratio="1/3"), 30))
    assert sum(thirds) == 1 - Fraction(2, 3) ** 30


def test_what_is_refused() -> None:
    for sizes in ([], [1, 0], [-1]):
        with pytest.raises(BadInput, match="above 0"):
            by_weights(epsilon=1, sensitivities=sizes)
        with pytest.raises(BadInput, match="above 0"):
            by_largest_error(epsilon=1, sensitivities=sizes)
    with pytest.raises(BadInput, match="must be 2 numbers"):
        by_weights(epsilon=1, sensitivities=[1, 2], weights=[1])
    with pytest.raises(BadInput, match="weights"):
        by_weights(epsilon=1, sensitivities=[1, 2], weights=[1, 0])
    for ratio in (0, 1, 2):
        with pytest.raises(BadInput, match="ratio"):
            geometric_shares(epsilon=1, ratio=ratio)
    for ask in (by_weights, by_largest_error):
        with pytest.raises(BadInput, match="epsilon"):
            ask(epsilon=0, sensitivities=[1])
    with pytest.raises(BadInput, match="epsilon"):
        geometric_shares(epsilon=-1)


def test_an_even_split_has_twice_the_variance() -> None:
    def variance(shares: list[Fraction]) -> Fraction:
        return sum((2 * d**2 / e**2 for d, e in zip((1, 8), shares, strict=True)), Fraction(0))

    best = by_weights(epsilon=1, sensitivities=[1, 8])
    assert best == [Fraction(1, 5), Fraction(4, 5)]
    assert variance([Fraction(1, 2)] * 2) == 520
    assert variance(best) == 250
