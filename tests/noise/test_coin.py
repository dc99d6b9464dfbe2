"""Coins and uniform integers: ties and rejections by scripted bits, laws by counting."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ameles.core.noise import Shape
from ameles.noise import System
from ameles.noise.coin import FAINTEST, LOG2_E, below, bits, count_of, flips, uniform, words
from ameles.noise.enclosure import Enclosure, exp_minus, rational

from .sources import Scripted, Stream, word
from .truth import ALARM, exp

ALL_ONES = (1 << 64) - 1


def exponential(gamma: Fraction) -> Enclosure:
    return lambda known: exp_minus(gamma, known)


def digits(gamma: Fraction, count: int) -> list[int]:
    """The first words of exp(-gamma), from outside the code under test."""
    whole = int(exp(-gamma) * (1 << 64 * count))
    return [whole >> 64 * i & ALL_ONES for i in reversed(range(count))]


def test_words_and_bits_are_read_little_end_first() -> None:
    assert words(Scripted(word(5, 1 << 63)), 2).tolist() == [5, 1 << 63]
    assert words(Scripted(), 0).tolist() == []
    assert bits(Scripted(word(12345)), 64) == 12345
    assert bits(Scripted(b"\x00\xb0"), 12) == 0xB00
    assert bits(Scripted(b"\x80"), 1) == 1
    assert bits(Scripted(b"\x7f"), 1) == 0
    assert bits(Scripted(), 0) == 0


@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 13])
def test_bits_are_uniform(count: int) -> None:
    length = -(-count // 8)
    every = [bits(Scripted(n.to_bytes(length, "little")), count) for n in range(256**length)]
    assert np.bincount(every).tolist() == [256**length >> count] * (1 << count)


# Lazy comparison: a number that is 1/2 or 1 needs few bits, exp(-1) as many as it takes.


@pytest.mark.parametrize(("p", "result"), [(0, False), (1, True)])
def test_what_is_certain_needs_no_bits(p: int, result: bool) -> None:
    assert below(Scripted(), rational(Fraction(p))) is result


def test_a_half_is_decided_by_one_word() -> None:
    for first, result in (((1 << 63) - 1, True), (1 << 63, False)):
        entropy = Scripted(word(first))
        assert below(entropy, rational(Fraction(1, 2))) is result
        assert entropy.spent


@pytest.mark.parametrize("ties", [0, 1, 2])
def test_a_comparison_goes_on_until_it_is_decided(ties: int) -> None:
    *equal, last = digits(Fraction(1), ties + 1)
    for off, result in ((-4, True), (4, False)):
        entropy = Scripted(word(*equal, last + off))
        assert below(entropy, exponential(Fraction(1))) is result
        assert entropy.spent


def test_a_comparison_goes_on_from_the_bits_that_are_known() -> None:
    first, second = digits(Fraction(1), 2)
    entropy = Scripted(word(second - 4))
    assert below(entropy, exponential(Fraction(1)), prefix=first, known=64)
    assert entropy.spent
    assert below(Scripted(), exponential(Fraction(1)), prefix=first - 4, known=64)
    assert not below(Scripted(), exponential(Fraction(1)), prefix=first + 4, known=64)


# Coins.


def test_coins_are_tossed_with_one_word_each() -> None:
    entropy = Scripted(word(0, (1 << 62) - 1, 1 << 62, ALL_ONES))
    assert flips(entropy, rational(Fraction(1, 4)), (2, 2)).tolist() == [[True, True], [False] * 2]
    assert entropy.spent


def test_a_tie_of_a_rational_coin_is_settled_by_the_next_word() -> None:
    # 1/3 is 0x5555... in every word: the second coin ties and the third ties twice.
    third = ALL_ONES // 3
    entropy = Scripted(
        word(third - 1, third, third, third + 1, third), word(third - 1), word(third, third + 1, 0)
    )
    assert flips(entropy, rational(Fraction(1, 3)), 5).tolist() == [True, True, False, False, True]
    assert entropy.spent


def test_a_tie_of_an_exponential_coin_is_settled_by_the_next_word() -> None:
    first, second = digits(Fraction(1), 2)
    for off, result in ((-4, True), (4, False)):
        entropy = Scripted(word(first - 4, first, first + 4), word(second + off))
        heads = flips(entropy, exponential(Fraction(1)), 3)
        assert heads.tolist() == [True, result, False]
        assert entropy.spent


@pytest.mark.parametrize("p", [0, 1])
def test_certain_coins_read_their_words_all_the_same(p: int) -> None:
    # What is read must not tell what came of it, and certain coins are public anyway.
    entropy = Scripted(word(0, ALL_ONES))
    assert flips(entropy, rational(Fraction(p)), 2).tolist() == [bool(p)] * 2
    assert entropy.spent


def test_a_coin_that_is_almost_certain_can_fail() -> None:
    p = 1 - Fraction(1, 1 << 100)
    kept = Scripted(word(ALL_ONES - 1, ALL_ONES), word(0))
    assert flips(kept, rational(p), 2).all()
    assert kept.spent
    lost = Scripted(word(ALL_ONES), word(ALL_ONES))
    assert not flips(lost, rational(p), 1).any()
    assert lost.spent


def test_an_exponential_coin_that_is_almost_certain_can_fail() -> None:
    # exp(-2**-100) is above 1 - 2**-64: once an error, since 2**64 is no word.
    gamma = Fraction(1, 1 << 100)
    kept = Scripted(word(ALL_ONES - 2, ALL_ONES), word(0))
    assert flips(kept, exponential(gamma), 2).all()
    assert kept.spent
    lost = Scripted(word(ALL_ONES), word(ALL_ONES))
    assert not flips(lost, exponential(gamma), 1).any()
    assert lost.spent


def test_a_coin_that_is_almost_impossible_can_fall() -> None:
    gamma = Fraction(1000)
    lost = Scripted(word(1, 0), word(1))
    assert not flips(lost, exponential(gamma), 2).any()
    assert lost.spent
    # exp(-1000) is about 2**-1442.7: 22 words of zeros and a small one
    won = Scripted(word(0), bytes(8 * 22))
    assert flips(won, exponential(gamma), 1).all()
    assert won.spent


def heads(draw: Callable[[System], np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]) -> int:
    return int(draw(System(entropy=Stream("coins"))).sum())


@pytest.mark.parametrize("p", [Fraction(1, 1000), Fraction(1, 3), Fraction(999, 1000)])
def test_coins_fall_as_often_as_they_should(p: Fraction) -> None:
    # 1,000,000 coins, an exact binomial test; the false alarm is ALARM.
    n = 1_000_000
    seen = heads(lambda noise: noise.bernoulli(p, n))
    assert stats.binomtest(seen, n, float(p)).pvalue > ALARM
    # planted: a coin that is off by a hundredth of its standard deviation
    off = p + Fraction(math.isqrt(int(p * (1 - p) * 10**12)), 10**8)
    seen = heads(lambda noise: noise.bernoulli(off, n))
    assert stats.binomtest(seen, n, float(p)).pvalue < ALARM


@pytest.mark.parametrize("gamma", [Fraction(1, 1000), Fraction(1), Fraction(7)])
def test_exponential_coins_fall_as_often_as_they_should(gamma: Fraction) -> None:
    # 1,000,000 coins, an exact binomial test; the false alarm is ALARM.
    n = 1_000_000
    seen = heads(lambda noise: noise.bernoulli_exp(gamma, n))
    assert stats.binomtest(seen, n, float(exp(-gamma))).pvalue > ALARM
    # planted: a power of 2 in place of e
    seen = heads(lambda noise: noise.bernoulli_exp(gamma * Fraction(7, 10), n))
    assert stats.binomtest(seen, n, float(exp(-gamma))).pvalue < ALARM


# Uniform integers.


def test_words_that_would_favour_small_values_are_drawn_again() -> None:
    # 2**64 = 3 * 6148914691236517205 + 1: the last word alone is one too many.
    entropy = Scripted(word(4, ALL_ONES, 5, ALL_ONES), word(ALL_ONES, 7), word(2))
    assert uniform(entropy, 3, (2, 2)).tolist() == [[1, 2], [2, 1]]
    assert entropy.spent
    assert uniform(Scripted(word(ALL_ONES - 1)), 3, 1).tolist() == [2]


@pytest.mark.parametrize("n", [1, 2, 1 << 63])
def test_powers_of_two_reject_nothing(n: int) -> None:
    entropy = Scripted(word(ALL_ONES))
    assert uniform(entropy, n, 1).tolist() == [n - 1]
    assert entropy.spent


@given(n=st.integers(1, 1 << 63))
def test_uniform_integers_are_below_their_bound(n: int) -> None:
    drawn = uniform(Stream("bound"), n, 100)
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0
    assert drawn.max() <= n - 1


@pytest.mark.parametrize("n", [2, 10, 1000, 3 << 61])
def test_uniform_integers_are_uniform(n: int) -> None:
    # 1,000,000 draws in at most 12 cells; the false alarm is ALARM.
    drawn = System(entropy=Stream("uniform")).uniform(n, 1_000_000)
    assert cells_doubt(drawn, n) > ALARM


def test_a_uniform_that_does_not_reject_is_seen() -> None:
    n = 3 << 61  # of eight parts of 2**61, three are 0, three are 1, and two are 0 again
    biased = (words(Stream("uniform"), 1_000_000) % np.uint64(n)).astype(np.int64)
    assert cells_doubt(biased, n) < ALARM


def cells_doubt(drawn: np.ndarray[tuple[int, ...], np.dtype[np.int64]], n: int) -> float:
    count = min(n, 12)
    edges = [n * i // count for i in range(count + 1)]
    seen = np.histogram(drawn, bins=np.array(edges, dtype=np.float64))[0]
    expected = np.diff(np.array([edge / n for edge in edges])) * drawn.size
    return float(stats.chisquare(seen, expected).pvalue)


@pytest.mark.parametrize(
    ("size", "count"), [(0, 0), (5, 5), ((), 1), ((3,), 3), ((2, 3), 6), ((4, 0, 5), 0)]
)
def test_a_shape_holds_the_product_of_its_sides(size: Shape, count: int) -> None:
    assert count_of(size) == count


def test_an_envelope_is_never_below_its_weight() -> None:
    # choose() keeps a candidate with probability exp(-x) 2**k, which must not be above 1.
    for k in range(1, FAINTEST + 1):
        x = k / LOG2_E  # the smallest x with this k
        assert int(x * LOG2_E) == k
        _, above = exp_minus(x, 300)
        assert above <= 1 << 300 - k
