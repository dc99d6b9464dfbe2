"""Coins and choices for many candidates: enclosures, rare decisions, extreme weights, the law."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from ameles.noise.enumeration import law_of
from ameles.noise.exponentials import BITS, FAINTEST, SLACK, enclosed
from ameles.noise.selection import _envelope, accept, pick

from .sources import Scripted, Stream, word
from .truth import ALARM, exp

RATES = [Fraction(1, 2), Fraction(1), Fraction(7, 3000), Fraction(1, 10**9), Fraction(1, 2**58)]


def ints(*numbers: int) -> IntArray:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize("rate", RATES)
def test_every_weight_is_between_its_mantissa_and_the_slack(rate: Fraction) -> None:
    reach = min(int(400 / rate), 2**63 - 1)
    penalties = sorted({0, 1, 2, 255, 256, 257, 65_535, *(reach * i // 97 for i in range(97))})
    kept = [k for k in penalties if k <= reach]
    mantissas, powers = enclosed(np.array(kept, dtype=np.uint64), rate)
    for k, m, power in zip(kept, mantissas.tolist(), powers.tolist(), strict=True):
        true = exp(-rate * k) * (1 << BITS + power)
        assert m <= true <= m + SLACK
        assert m + SLACK >= 1 << BITS - 1


@pytest.mark.parametrize(
    "rate", [Fraction(1, 2), Fraction(1, 10**9), Fraction(900), Fraction(2**90)]
)
def test_what_is_faint_is_bounded_from_above(rate: Fraction) -> None:
    k = max(1, int(400 / rate)) + 1
    mantissas, powers = enclosed(np.array([k, 2**63], dtype=np.uint64), rate)
    assert (powers >= FAINTEST).all()
    for m, power in zip(mantissas.tolist(), powers.tolist(), strict=True):
        assert exp(-Fraction(400)) * (1 << BITS + power) <= (m + SLACK) * 2


def test_a_coin_near_its_bias_is_decided_by_the_exact_number() -> None:
    # exp(-1) in 64 bits: far below, far above, the last word below, a tie and then one more word
    edge = int(exp(Fraction(-1)) * (1 << 64))
    for script, heads in (
        ([0], True),
        ([2**64 - 1], False),
        ([edge - 9], True),
        ([edge + 9], False),
        ([edge, 0], True),
        ([edge, 2**64 - 1], False),
    ):
        entropy = Scripted(word(*script))
        assert accept(entropy, ints(1), Fraction(1)).tolist() == [heads]
        assert entropy.spent


def test_no_penalty_is_always_accepted_and_a_huge_one_hardly_ever() -> None:
    entropy = Scripted(word(2**64 - 1, 1 << 33), word(0))
    assert accept(entropy, ints(0, 2**62), Fraction(1)).tolist() == [True, False]
    # a word of zeros could still be below exp(-100), so it draws on
    assert accept(Scripted(word(0, 5)), ints(100), Fraction(1)).tolist() == [False]
    assert accept(Scripted(word(0, 0, 0)), ints(100), Fraction(1)).tolist() == [True]


GAPS = ints(0, 1, 3, 3, 8, 40)
MEASURE = ints(3, 5, 2, 9, 300, 10**9)


def chances(rate: Fraction, weights: IntArray | None) -> list[float]:
    measure = [1] * len(GAPS) if weights is None else weights.tolist()
    weighted = [w * exp(-rate * k) for k, w in zip(GAPS.tolist(), measure, strict=True)]
    return [float(one / sum(weighted)) for one in weighted]


def choice_doubt(seen: list[int], likely: list[float]) -> float:
    """The p-value of these choices; candidates that are hardly ever chosen count as one."""
    expected = np.array(likely) * len(seen)
    counts = np.bincount(seen, minlength=len(likely))
    rare = expected < 5
    assert not counts[rare].any()
    total = expected[~rare].sum()
    return float(stats.chisquare(counts[~rare], expected[~rare] * len(seen) / total).pvalue)


@pytest.mark.parametrize("weights", [None, MEASURE, MEASURE * 2**31])
def test_picks_have_their_weights(weights: IntArray | None) -> None:
    # 2,500 picks of six for each of the three; the false alarm of each is ALARM.
    rate, noise = Fraction(1, 2), System(entropy=Stream("picks"))
    seen = [noise.pick(GAPS - 7, rate, weights) for _ in range(2_500)]
    assert choice_doubt(seen, chances(rate, weights)) > ALARM
    assert choice_doubt(seen, chances(Fraction(2, 5), weights)) < ALARM


def test_coins_have_their_biases() -> None:
    # 6 times 20,000 coins; the false alarm of each is ALARM.
    noise, rate = System(entropy=Stream("coins")), Fraction(1, 3)
    heads = noise.accept(np.repeat(GAPS, 20_000), rate).reshape(len(GAPS), -1).sum(axis=1)
    for count, k in zip(heads.tolist(), GAPS.tolist(), strict=True):
        assert stats.binomtest(count, 20_000, min(1.0, float(exp(-rate * k)))).pvalue > ALARM
    assert stats.binomtest(int(heads[1]), 20_000, float(exp(-rate * 11 / 10))).pvalue < ALARM


def test_the_envelope_is_drawn_by_and_the_exact_weight_decides() -> None:
    # two equal candidates, with envelopes of 2**30 + 1024: an integer of 32 bits, then one word
    first, last = (0).to_bytes(4, "little"), (2**32 - 1).to_bytes(4, "little")
    entropy = Scripted(first, word(0))
    assert pick(entropy, ints(5, 5), Fraction(1)) == 0
    assert entropy.spent
    entropy = Scripted(first, word(2**64 - 1), last, first, word(0))  # not kept; too large; kept
    assert pick(entropy, ints(5, 5), Fraction(1)) == 0
    assert entropy.spent


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(9), Fraction(1, 10**6)])
def test_the_envelope_is_above_every_weight_and_near_the_likely_ones(rate: Fraction) -> None:
    gaps = np.array([0, 1, 2, 50, 10**5, 10**8, 2**63], dtype=np.uint64)
    small, large = ints(1, 3, 7, 2, 1, 9, 5), ints(1, 2**61 + 1, 2**40 - 1, 2**31 + 1, 5, 2**50, 3)
    for weights in (None, small, large):
        tops, best = _envelope(gaps, rate, weights)
        measure = [1] * len(gaps) if weights is None else weights.tolist()
        exact = [
            w * exp(-rate * k) * Decimal(2) ** (62 - best)
            for k, w in zip(gaps.tolist(), measure, strict=True)
        ]
        for top, weight in zip(tops.tolist(), exact, strict=True):
            assert weight <= top <= weight * Decimal("1.00001") + 1
            assert top < 1 << 31
        assert max(tops.tolist()) >= 1 << 29


def test_weights_that_are_far_apart_take_no_long_search() -> None:
    # weights 1 and 2**61 exp(-100): the second is nothing, and the first needs a few bytes
    entropy = Stream("apart")
    for _ in range(50):
        assert pick(entropy, ints(-(2**62), 100 - 2**62), Fraction(1), ints(1, 2**61)) == 0
    assert entropy.used < 50 * 64


def test_gaps_beyond_63_bits_are_gaps() -> None:
    assert pick(Stream("far"), ints(2**63 - 1, -(2**63)), Fraction(1)) == 1


@pytest.mark.parametrize("noise", [System(), Zero(), Tape(), Tape(beyond=System())])
def test_what_cannot_be_picked_by_is_refused(noise: Noise) -> None:
    refused: list[tuple[Any, Any]] = [
        (ints(), None),
        (np.array([1.0]), None),
        (np.array([[1]]), None),
        ([1, 2], None),
        (ints(1, 2), ints(1)),
        (ints(1, 2), ints(1, 0)),
        (ints(1, 2), ints(1, 2**62)),
        (ints(1, 2), np.array([1.0, 2.0])),
    ]
    for penalties, weights in refused:
        with pytest.raises(BadInput):
            noise.pick(penalties, Fraction(1), weights)
    wrong: list[Any] = [0, Fraction(-1), 0.5]
    for bad in wrong:
        with pytest.raises(BadInput, match="'rate'"):
            noise.pick(ints(1), bad)
        with pytest.raises(BadInput, match="'rate'"):
            noise.accept(ints(1), bad)
    with pytest.raises(BadInput, match="zero or more"):
        noise.accept(ints(1, -1), Fraction(1))


def test_zero_picks_a_best_one_and_accepts_the_best_alone() -> None:
    assert Zero().pick(ints(4, 2, 2), Fraction(1), ints(100, 1, 50)) == 1
    assert Zero().accept(ints(0, 1, 0), Fraction(1, 100)).tolist() == [True, False, True]


def test_a_tape_has_one_draw_for_a_pick_and_one_for_each_coin() -> None:
    tape = Tape([2, 1, 0])
    assert tape.pick(ints(0, 1, 2), Fraction(1, 3)) == 2
    assert tape.accept(ints(5, 0), Fraction(1, 4)).tolist() == [True, False]
    assert tape.laws == [("pick", Fraction(1, 3)), *[("accept", Fraction(1, 4))] * 2]


def test_an_enumeration_has_powers_of_two() -> None:
    law = law_of(lambda noise: noise.pick(ints(7, 8), Fraction(2), ints(3, 8)), modulus=3)
    assert law == {0: Fraction(3, 5), 1: Fraction(2, 5)}
    coins = law_of(lambda noise: tuple(noise.accept(ints(0, 3), Fraction(1)).tolist()), modulus=3)
    assert coins == {(True, True): Fraction(1, 8), (True, False): Fraction(7, 8)}
    with pytest.raises(BadInput, match="whole"):
        law_of(lambda noise: noise.pick(ints(0, 1), Fraction(1, 2)), modulus=3)


def test_a_million_candidates() -> None:
    penalties = np.arange(10**6, dtype=np.int64) * 48_271 % 1_000_003
    noise = System()
    # a penalty of 200,000 has weight e^-100: each assertion fails once in about 10^37 runs
    assert penalties[noise.pick(penalties, Fraction(1, 2000))] < 200_000
    heads = noise.accept(penalties, Fraction(1, 2000))
    assert not heads[penalties > 200_000].any()
    assert heads[penalties < 20].sum() > 5  # of 20 coins with bias above 0.99
