from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.martingale import azuma_deviation, azuma_tail, mcdiarmid_tail
from ameles.core.exceptions import BadInput

from .oracle import decimal, many_digits, outward


def walk_tail(steps: int, deviation: int) -> Fraction:
    """The probability that a fair walk of +-1 ends at ``deviation`` or above, exactly."""
    heads = -((-steps - deviation) // 2)
    paths = sum(math.comb(steps, j) for j in range(max(0, heads), steps + 1))
    return Fraction(paths, 2**steps)


def holds_on_walks(bound: Callable[[int, int], Fraction]) -> bool:
    return all(
        walk_tail(steps, deviation) <= bound(steps, deviation)
        for steps in (1, 2, 3, 10, 50, 100)
        for deviation in range(steps + 1)
    )


def test_catalogue_54_the_exact_walk_stays_below() -> None:
    assert holds_on_walks(lambda steps, far: azuma_tail(steps=steps, deviation=far))
    # Planted: the exponent without its 2.
    assert not holds_on_walks(lambda steps, far: azuma_tail(steps=steps, deviation=far) ** 2)


def test_catalogue_54_in_units_of_the_root_of_the_steps() -> None:
    # P(X_m >= L sqrt(m)) <= exp(-L²/2): L = 3, m = 100
    tail = azuma_tail(steps=100, deviation=30)
    assert float(tail) == pytest.approx(math.exp(-4.5), rel=1e-13)
    assert walk_tail(100, 30) < tail


@given(
    st.integers(1, 10**6),
    st.fractions(min_value=Fraction(1, 10), max_value=1000, max_denominator=10),
    st.fractions(min_value=Fraction(1, 10), max_value=10, max_denominator=10),
)
def test_azuma_is_outward(steps: int, deviation: Fraction, bound: Fraction) -> None:
    with many_digits():
        truth = (-decimal(deviation**2 / (2 * steps * bound**2))).exp()
    assert outward(azuma_tail(steps=steps, deviation=deviation, bound=bound), truth, "up")


@given(st.integers(1, 10**6), st.integers(1, 12))
def test_deviation_is_the_inverse_of_the_tail(steps: int, places: int) -> None:
    beta = Fraction(1, 10**places)
    deviation = azuma_deviation(steps=steps, beta=beta, bound=3)
    assert azuma_tail(steps=steps, deviation=deviation, bound=3) <= beta * (1 + Fraction(1, 10**12))
    assert azuma_tail(steps=steps, deviation=deviation * Fraction(999, 1000), bound=3) > beta


def test_lemma_3_19_with_a_drift() -> None:
    still = azuma_deviation(steps=100, beta="0.01", bound=2)
    moved = azuma_deviation(steps=100, beta="0.01", bound=2, drift="0.25")
    assert abs(moved - still - 25) < Fraction(1, 10**10)


def test_lemma_3_19_covers_the_loss_of_randomized_response() -> None:
    # A walk of +-e with drift e tanh(e/2): the step from here to advanced composition.
    e, k, beta = 0.5, 60, Fraction(1, 100)
    p = math.exp(e) / (1 + math.exp(e))
    far = float(azuma_deviation(steps=k, beta=beta, bound=e, drift=e * math.tanh(e / 2)))
    tail = sum(
        math.comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(k + 1) if (2 * j - k) * e > far
    )
    assert 0 < tail <= float(beta)


def test_mcdiarmid_on_sums_of_bits() -> None:
    # A sum of n fair bits: each input moves it by 1; the walk is twice its distance.
    for n in (1, 4, 30):
        for far in range(1, n // 2 + 1):
            tail = mcdiarmid_tail(effects=[1] * n, deviation=far)
            assert walk_tail(n, 2 * far) <= tail
            assert tail == azuma_tail(steps=n, deviation=2 * far)


def test_mcdiarmid_with_unequal_effects() -> None:
    tail = mcdiarmid_tail(effects=["0.5", 1, 2], deviation=3)
    assert float(tail) == pytest.approx(math.exp(-18 / 5.25), rel=1e-13)


def test_catalogue_54_at_most_and_not_less_than() -> None:
    # A game that never moves ends at 0 or above with probability 1.
    assert azuma_tail(steps=5, deviation=0) == 1
    assert mcdiarmid_tail(effects=[1], deviation=0) == 1


def test_refusals() -> None:
    with pytest.raises(BadInput, match="'steps'"):
        azuma_tail(steps=0, deviation=1)
    with pytest.raises(BadInput, match="'deviation'"):
        azuma_tail(steps=1, deviation=-1)
    with pytest.raises(BadInput, match="'bound'"):
        azuma_tail(steps=1, deviation=1, bound=0)
    with pytest.raises(BadInput, match="'drift' parameter must be at most the bound"):
        azuma_deviation(steps=1, beta="0.1", drift=2)
    with pytest.raises(BadInput, match="'effects'"):
        mcdiarmid_tail(effects=[0, 0], deviation=1)
    with pytest.raises(BadInput, match="'effects'"):
        mcdiarmid_tail(effects=[], deviation=1)
