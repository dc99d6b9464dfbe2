"""Choices by exponential weights: envelopes, rejections, faint candidates, and the law."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy import stats

from ameles.noise import System
from ameles.noise.coin import FAINTEST, LOG2_E, choose

from .sources import Scripted, Stream, word
from .truth import ALARM, exp


def test_the_only_candidate_is_chosen_however_bad_it_is() -> None:
    # One candidate of weight 2**128 in 129 bits: the top bit of 17 bytes rejects.
    entropy = Scripted(bytes(16) + b"\x80", bytes(17))
    assert choose(entropy, [Fraction(10**9)]) == 0
    assert entropy.spent


def drawn(index_at: int, length: int) -> bytes:
    """The bytes with which an integer of so many bits is drawn."""
    size = -(-length // 8)
    return (index_at << 8 * size - length).to_bytes(size, "little")


def test_candidates_are_drawn_by_powers_of_two_and_kept_by_lazy_comparison() -> None:
    # Penalties 0 and 1: weights 1 and exp(-1), envelopes 2**128 and 2**127, 129 bits.
    gammas = [Fraction(3), Fraction(4)]
    best, other = 1 << FAINTEST, 1 << FAINTEST - 1
    length = (best + other).bit_length()
    keep = int(2 * exp(Fraction(-1)) * (1 << 64))  # exp(-1) of an envelope of 1/2
    for script, index in (
        ([drawn(0, length)], 0),  # the best is kept without another bit
        ([drawn(best - 1, length)], 0),
        ([drawn(best, length), word(keep - 9)], 1),
        ([drawn(best, length), word(keep), word(0)], 1),  # a tie, and then kept
        ([drawn(best, length), word(keep + 9), drawn(0, length)], 0),  # rejected
        ([drawn(best + other, length), drawn(best + other - 1, length), word(0)], 1),  # too large
    ):
        entropy = Scripted(*script)
        assert choose(entropy, gammas) == index
        assert entropy.spent


def test_faint_candidates_share_one_envelope_and_are_still_chosen() -> None:
    # exp(-100) is about 2**-144.3, so its envelope of 2**-128 is kept once in 2**16.3.
    gammas = [Fraction(100), Fraction(0), Fraction(10**6)]
    length = ((1 << FAINTEST) + 2).bit_length()
    keep = int(exp(Fraction(-100)) * (1 << FAINTEST + 64))
    for script, index in (
        ([drawn(0, length), word(keep - 9)], 0),
        ([drawn(0, length), word(keep + 9), drawn(1, length)], 1),
        ([drawn((1 << FAINTEST) + 1, length), word(0), word(1), drawn(5, length)], 1),
    ):
        entropy = Scripted(*script)
        assert choose(entropy, gammas) == index
        assert entropy.spent


def test_the_envelope_is_above_every_weight() -> None:
    # LOG2_E < log2(e), that is, exp(-1 / LOG2_E) < 1/2; and not by more than its last digit.
    assert exp(-1 / LOG2_E) < Decimal("0.5") < exp(-1 / (LOG2_E + Fraction(1, 10**9)))


GAMMAS = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(1), Fraction(5, 2), Fraction(4)]


def choice_doubt(seen: Sequence[int]) -> float:
    weights = np.array([float(exp(-gamma)) for gamma in GAMMAS])
    counts = np.bincount(seen, minlength=len(GAMMAS))
    return float(stats.chisquare(counts, weights / weights.sum() * len(seen)).pvalue)


def test_choices_have_their_weights() -> None:
    # 20,000 choices of six; the false alarm is ALARM.
    noise = System(entropy=Stream("choices"))
    assert choice_doubt([noise.choose(GAMMAS) for _ in range(20_000)]) > ALARM


def test_choices_by_the_envelope_alone_are_seen() -> None:
    envelope = [int(gamma * LOG2_E) * Fraction(6931, 10**4) for gamma in GAMMAS]
    noise = System(entropy=Stream("choices"))
    assert choice_doubt([noise.choose(envelope) for _ in range(20_000)]) < ALARM


def test_only_differences_of_penalties_matter() -> None:
    shifted = [gamma - 50 for gamma in GAMMAS]
    ours, theirs = System(entropy=Stream("shift")), System(entropy=Stream("shift"))
    assert [ours.choose(shifted) for _ in range(100)] == [theirs.choose(GAMMAS) for _ in range(100)]
