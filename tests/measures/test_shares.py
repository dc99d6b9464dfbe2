"""Default shares: exact, never zero, and those with which the sum of variances is smallest."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import PlanError
from ameles.core.loss import Pure
from ameles.measures.shares import default_shares, divided
from tests.measures.asked import measure, terms


@settings(deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=1),
    st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=64),
)
def test_parts_sum_to_the_whole_and_none_is_zero(whole: Fraction, weights: list[float]) -> None:
    parts = divided(whole, weights)
    assert sum(parts) == whole
    assert min(parts) > 0
    total = sum(weights)
    least = max(1000, 100 * len(weights))
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part / whole - Fraction(weight) / Fraction(total)) <= Fraction(
            len(weights) + 1, least
        )


def test_nothing_is_divided_among_nobody() -> None:
    assert divided(Fraction(1), []) == ()


def test_equal_releases_get_equal_shares_whatever_their_unit() -> None:
    on = terms(horizon=50)
    cents = {"column": "spent", "lower": 0, "upper": 10}
    releases = [
        (measure("count"), on),
        (measure("sum", granularity="0.01", **cents), on),
        (measure("sum", granularity=1, **cents), on),
        (measure("histogram", column="age", edges=[0, 9, 99]), on),
    ]
    for share in default_shares(releases):
        # whole noise of one event is a little less than real noise of one event
        assert float(share) == pytest.approx(1 / 4, abs=0.003)


def test_declared_shares_are_taken_off_first() -> None:
    on = terms(horizon=50)
    releases = [(measure("count", share="0.4"), on), (measure("count"), on), (measure("count"), on)]
    assert default_shares(releases) == (Fraction(2, 5), Fraction(3, 10), Fraction(3, 10))
    assert default_shares([(measure("count"), on)]) == (Fraction(1),)
    assert default_shares([(measure("count", share=1), on)]) == (Fraction(1),)
    assert default_shares([(measure("count", share="0.2"), on)]) == (Fraction(1, 5),)


def test_other_shares_have_more_noise() -> None:
    releases: list[Any] = [
        (measure("count"), terms(horizon=100)),
        (measure("count", over="step"), terms(horizon=100, window=1)),
        (measure("alert", threshold=9, times=5), terms(horizon=100, window=1)),
    ]
    shares = default_shares(releases)
    assert shares[1] < shares[0]

    def noise(given_shares: tuple[Fraction, ...]) -> float:
        return math.fsum(
            release.variance(on, Pure(share / 10))
            for (release, on), share in zip(releases, given_shares, strict=True)
        )

    best = noise(shares)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        for moved in (Fraction(1, 20), Fraction(-1, 20)):
            other = list(shares)
            other[i] += moved
            other[j] -= moved
            assert noise(tuple(other)) > best


def test_with_delta_gaussian_noise_is_looked_at() -> None:
    on = terms(horizon=60, max_steps=40, window=1)
    releases = [(measure("count"), on), (measure("count"), terms(horizon=60, max_steps=40))]
    pure, gaussian = default_shares(releases), default_shares(releases, Fraction(1, 10**6))
    assert sum(pure) == sum(gaussian) == 1
    assert pure != gaussian


@pytest.mark.parametrize("shares", [["0.7", "0.4"], [1, None], ["0.7", "0.4", None]])
def test_more_than_there_is_is_refused(shares: list[Any]) -> None:
    on = terms(horizon=50)
    releases = [(measure("count", share=share), on) for share in shares]
    with pytest.raises(PlanError) as caught:
        default_shares(releases)
    assert caught.value.what.endswith(".")
