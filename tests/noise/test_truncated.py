"""Discrete Laplace noise without its tails: its law, and what is nearly its law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from ameles.noise.enumeration import law_of

from .sources import Stream
from .truth import ALARM, decimal, doubt, exp

# 2**17 draws in up to 13 cells; the false alarm is ALARM for each assertion.
DRAWS = 1 << 17
SCALE = Fraction(7, 3)


def truncated_doubt(sample: IntArray, within: int) -> float:
    weights = [exp(-abs(k) / SCALE) for k in range(-within, within + 1)]
    chances = [float(weight / sum(weights)) for weight in weights]
    return doubt(sample, list(range(-within, within)), chances)


@pytest.mark.parametrize("within", [3, 6])
def test_truncated_noise_has_its_law(within: int) -> None:
    sample = System(entropy=Stream("truncated")).truncated_laplace(SCALE, within, DRAWS)
    assert abs(sample).max() == within
    assert truncated_doubt(sample, within) > ALARM


def clamped(noise: System) -> IntArray:
    """Planted: what is beyond is moved to the end."""
    return np.clip(noise.laplace(SCALE, DRAWS), -6, 6)


def folded(noise: System) -> IntArray:
    """Planted: what is beyond begins again at one."""
    drawn = noise.laplace(SCALE, DRAWS)
    return np.where(drawn == 0, 0, np.sign(drawn) * ((abs(drawn) - 1) % 6 + 1))


@pytest.mark.parametrize("planted", [clamped, folded])
def test_noise_that_is_nearly_truncated_is_seen(planted: Callable[[System], IntArray]) -> None:
    assert truncated_doubt(planted(System(entropy=Stream("planted"))), 6) < ALARM


def test_all_that_is_beyond_is_drawn_again_in_its_place() -> None:
    ours = System(entropy=Stream("places")).truncated_laplace(SCALE, 3, (40, 50))
    plain = System(entropy=Stream("places")).laplace(SCALE, (40, 50))
    inside = abs(plain) <= 3
    assert 0 < (~inside).sum() < inside.sum()
    assert np.array_equal(ours[inside], plain[inside])


def test_its_tape_has_the_scale_and_the_end() -> None:
    assert Zero().truncated_laplace(SCALE, 3, 2).tolist() == [0, 0]
    tape = Tape([3])
    assert tape.truncated_laplace(SCALE, 3, 2).tolist() == [3, 0]
    assert tape.laws == [("truncated_laplace", (SCALE, Fraction(3)))] * 2


def test_its_law_in_base_two() -> None:
    law = law_of(lambda noise: int(noise.truncated_laplace(Fraction(1), 2, 1)[0]), modulus=3)
    weights = {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1}
    assert law == {k: Fraction(weight, 10) for k, weight in weights.items()}
    assert decimal(sum(law.values())) == 1
    with pytest.raises(BadInput, match="'within'"):
        law_of(lambda noise: noise.truncated_laplace(Fraction(1), 1 << 17, 1).size, modulus=3)
