"""The matrices of the noise in exact fractions, from the cascade's rates alone."""

from __future__ import annotations

from fractions import Fraction

from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise

Matrix = list[list[Fraction]]


def series(top: list[Fraction], bottom: list[Fraction], length: int) -> list[Fraction]:
    """The product of (1 - p z) over ``top``, divided by that over ``bottom``."""
    whole = [Fraction(1)] + [Fraction(0)] * (length - 1)
    for p in top:
        whole = [x - p * before for x, before in zip(whole, [Fraction(0), *whole], strict=False)]
    for p in bottom:
        for j in range(1, length):
            whole[j] += p * whole[j - 1]
    return whole


def encoder_series(cascade: Cascade, length: int) -> list[Fraction]:
    """c_0, c_1, ..."""
    zeros = [1 - section.rate for section in cascade.sections]
    return series(zeros, [1 - section.pole for section in cascade.sections], length)


def inverse_series(cascade: Cascade, length: int) -> list[Fraction]:
    """The coefficients of 1 / C."""
    zeros = [1 - section.rate for section in cascade.sections]
    return series([1 - section.pole for section in cascade.sections], zeros, length)


def parts_of(noise: EncodedNoise) -> list[int]:
    """The part of each step."""
    return noise.columns.units(noise.horizon, PART_BITS)


def encoder(noise: EncodedNoise) -> Matrix:
    """C with its columns scaled, in units of the grid over 2^bits."""
    c = encoder_series(noise.cascade, noise.horizon)
    steps = range(noise.horizon)
    scales = [Fraction(part, 1 << PART_BITS) for part in parts_of(noise)]
    return [[c[t - s] * scales[s] if s <= t else Fraction(0) for s in steps] for t in steps]


def decoder(noise: EncodedNoise) -> Matrix:
    """How much of each draw is in each decoded value."""
    inverse = inverse_series(noise.cascade, noise.horizon)
    rows: Matrix = []
    row = [Fraction(0)] * noise.horizon
    for t, part in enumerate(parts_of(noise)):
        weight = Fraction(1 << PART_BITS, part)
        row = [x + (weight * inverse[t - s] if s <= t else 0) for s, x in enumerate(row)]
        rows.append(row)
    return rows


def smoothed(rows: Matrix, gain: Fraction) -> Matrix:
    """The same after smoothing."""
    result: Matrix = []
    last = [Fraction(0)] * len(rows[0])
    for row in rows:
        last = [old + gain * (new - old) for old, new in zip(last, row, strict=True)]
        result.append(last)
    return result


def squared(column: list[Fraction]) -> Fraction:
    """The squared L2 norm."""
    return sum((x * x for x in column), Fraction(0))
