"""Noise of a secret scale: certain enclosures, and results that are those of the real number."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest

import ameles.mechanisms.one_shot.secret_scale as module
from ameles.mechanisms.one_shot.secret_scale import (
    BITS,
    FIRST,
    cauchy,
    laplace,
    pi,
    sine_cosine,
    tangent,
)
from ameles.noise import System, Tape, Zero
from tests.noise.sources import Stream
from tests.recipe_checks import cached


def test_pi_to_a_hundred_digits() -> None:
    # Machin's formula against Gauss's: 48 arctan(1/18) + 32 arctan(1/57) - 20 arctan(1/239)
    def arctan(n: int) -> Fraction:
        return sum(
            (Fraction((-1) ** k, (2 * k + 1) * n ** (2 * k + 1)) for k in range(60)), Fraction(0)
        )

    true = 48 * arctan(18) + 32 * arctan(57) - 20 * arctan(239)
    for precision in (8, 64, 300):
        assert abs(pi(precision) - true * 2**precision) < precision


@pytest.mark.parametrize("known", [1, 2, 5, 30])
def test_the_tangent_is_enclosed(known: int) -> None:
    tops = range(1 << known) if known < 8 else [0, 1, 2, 3**18, (1 << 29), (1 << 30) - 1]
    for top in tops:
        low, high = tangent(top, known, 80)
        assert 0 <= low <= high <= low + max(2, low >> 60)
        near = math.tan(math.pi / 2 * top / 2**known)
        assert low / 2**80 == pytest.approx(near, rel=1e-6)
    # by addition: tan(a + b) (1 - tan a tan b) = tan a + tan b, a = pi/16, b = pi/8
    a, b, c = (tangent(top, 3, 200) for top in (1, 2, 3))
    one = 1 << 200
    assert abs(c[0] * (one - a[0] * b[0] // one) // one - a[0] - b[0]) < 100


def test_sine_and_cosine_say_how_far_off_they_may_be() -> None:
    for part in range(1, 129):
        rough, fine = sine_cosine(part, 8, 60), sine_cosine(part, 8, 300)
        for near, true in zip(rough[:2], fine[:2], strict=True):
            assert abs((near << 240) - true) <= rough[2] << 240
        assert rough[2] < 1 << 10


def test_a_quarter_turn_is_one() -> None:
    low, high = tangent(1, 1, 64)
    assert low <= 1 << 64 <= high
    assert high - low <= 2


def test_no_noise_gives_the_centre_on_both_sides() -> None:
    assert cauchy(Zero(), centre=7, scale=Fraction(10**6), low=0, high=100) == 7
    assert cauchy(Tape([1]), centre=7, scale=Fraction(10**6), low=0, high=100) == 7


@pytest.mark.parametrize("sign", [0, 1])
def test_it_is_the_rounded_real_number(sign: int) -> None:
    # angles whose result is no tie: floats tell it
    for part in range(1, 200, 2):
        angle = part * (1 << BITS) // 200
        scale = Fraction(7, 3)
        drawn = cauchy(Tape([sign, angle]), centre=50, scale=scale, low=-(10**9), high=10**9)
        real = 50 + (1 - 2 * sign) * 7 / 3 * math.tan(math.pi / 2 * part / 200)
        assert abs(drawn - real) <= 0.5 + 1e-9


def test_a_result_at_the_edge_needs_more_bits() -> None:
    # tan(pi/4) = 1, so with a scale of 1/2 the first bits leave a tie that later ones decide
    above = Tape([0, 1 << (BITS - 1), 1])
    assert cauchy(above, centre=0, scale=Fraction(1, 2), low=-9, high=9) == 1
    assert above.count == 3
    below = Tape([0, (1 << (BITS - 1)) - 1, (1 << BITS) - 2])
    assert cauchy(below, centre=0, scale=Fraction(1, 2), low=-9, high=9) == 0
    assert below.count == 3


def test_the_far_end_is_decided_when_all_of_it_is_outside() -> None:
    last = (1 << BITS) - 1
    for sign, end in ((0, 100), (1, 0)):
        tape = Tape([sign, last])
        assert cauchy(tape, centre=50, scale=Fraction(1), low=0, high=100) == end
        assert tape.count == 2
    # with an end that even this angle does not reach, more bits are drawn
    tape = Tape([0, last, 5])
    cauchy(tape, centre=0, scale=Fraction(1), low=0, high=1 << 90)
    assert tape.count > 2


def test_the_law() -> None:
    # 4,000 draws; each share within 5 standard errors: false alarm 1e-5 together
    noise, count = System(), 4000
    drawn = Counter(cauchy(noise, centre=3, scale=Fraction(2), low=0, high=6) for _ in range(count))
    for value in range(7):
        edges = [(value + shift - 3) / 2 for shift in (-0.5, 0.5)]
        low, high = (0.5 + math.atan(edge) / math.pi for edge in edges)
        chance = (1.0 if value == 6 else high) - (0.0 if value == 0 else low)
        error = math.sqrt(chance * (1 - chance) / count)
        assert abs(drawn[value] / count - chance) < 5 * error


# Laplace -------------------------------------------------------------------------------------


def laplace_chance(k: int, scale: float) -> float:
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(k)


@pytest.mark.parametrize("scale", ["1/3", "2", "7/2"])
def test_the_law_of_laplace(scale: str) -> None:
    # 4,000 draws; each share within 5 standard errors: false alarm 2e-5 together
    noise, count = System(), 4000
    drawn = Counter(laplace(noise, Fraction(scale)) for _ in range(count))
    for k in range(-12, 13):
        chance = laplace_chance(k, float(Fraction(scale)))
        error = math.sqrt(chance * (1 - chance) / count)
        assert abs(drawn[k] / count - chance) < 5 * error + 2 / count


def test_it_is_the_difference_of_two_whole_parts() -> None:
    scale = Fraction(10**9, 7)
    for one, other in ((0, 0), (3 << 40, 1), (1, 5 << 45), (1 << 51, 1 << 50)):
        parts = [math.floor(scale * Fraction(units, 1 << FIRST)) for units in (one, other)]
        assert laplace(Tape([one, other]), scale) == parts[0] - parts[1]
        # the other side of zero has the same numbers, one further out
        assert laplace(Tape([~one, ~other]), scale) == parts[0] - parts[1]


def test_bits_after_the_first_are_those_of_an_exponential_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # of one bit behind the point, and one more: y is 0 with probability 1 / (1 + exp(-1/4))
    monkeypatch.setattr(module, "BITS", 1)
    noise, count = System(), 4000
    zeros = sum(module._further(noise, 2) == 0 for _ in range(count))
    chance = 1 / (1 + math.exp(-1 / 4))
    # 5 standard errors: false alarm 1e-6; uniform bits are 7.9 away
    assert abs(zeros / count - chance) < 5 * math.sqrt(chance * (1 - chance) / count)


def test_a_whole_number_at_the_edge_needs_more_bits() -> None:
    # scale * E is between 1 - 2^-110 and 1 or above, until later bits tell
    scale = Fraction(1, 1) + Fraction(1, 1 << 150)
    tape = Tape([(1 << FIRST) - 1, 0, (1 << BITS) - 1, 1, (1 << BITS) - 1, 1])
    assert laplace(tape, scale) == 1
    sure = Tape([(1 << FIRST) - 1, 0, (1 << BITS) - 1, 1, 0, 1])
    assert laplace(sure, scale) == 0
    assert sure.count == tape.count == 8
    assert laplace(Tape([(1 << FIRST) - 1, 0, (1 << BITS) - 2, 1]), scale) == 0


def test_nothing_is_kept_for_a_scale() -> None:
    noise = System(entropy=Stream("scales"))  # a far tail of noise has a table, too
    laplace(noise, Fraction(10))
    before = cached()
    for scale in range(1, 400, 7):
        laplace(noise, Fraction(scale, 3))
        cauchy(noise, centre=0, scale=Fraction(scale, 3), low=-9, high=9)
    grown = {name for name, count in cached().items() if count != before.get(name, 0)}
    assert grown <= {f"{module.__name__}.pi"}  # kept by its digits
