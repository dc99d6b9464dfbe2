"""Column scales: no column of the scaled encoder is longer than one, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.column_decoder import ColumnDecoder
from ameles.mechanisms.counters.gaussian.column_scales import (
    MOST_ANGLES,
    PART_BITS,
    PIECES,
    ColumnScales,
    column_squares,
    squared_norm,
)
from tests.mechanisms.counters.twins import scattered

ONE = 1 << PART_BITS


def coefficients(cascade: Cascade, count: int) -> list[Fraction]:
    """c_0, c_1, ... from the filter itself: the product of (1 - (1-a) z) / (1 - (1-x) z)."""
    series = [Fraction(1)] + [Fraction(0)] * (count - 1)
    for section in cascade.sections:
        kept, cut = 1 - section.pole, 1 - section.rate
        taken = [
            c - cut * before for c, before in zip(series, [Fraction(0), *series], strict=False)
        ]
        series = []
        for c in taken:
            series.append(c + kept * (series[-1] if series else 0))
    return series


def parts_of(scales: ColumnScales, horizon: int) -> list[int]:
    return scales.units(horizon, PART_BITS)


@pytest.mark.parametrize(("horizon", "buffers"), [(1, 2), (2, 2), (17, 2), (60, 3), (128, 2)])
def test_every_column_has_a_norm_of_one_at_most_and_hardly_less(horizon: int, buffers: int) -> None:
    cascade = Cascade.near(horizon, buffers)
    c = coefficients(cascade, horizon)
    parts = parts_of(ColumnScales.of(cascade, horizon), horizon)
    square = Fraction(0)
    for c_j, part in zip(c, reversed(parts), strict=True):
        square += c_j * c_j
        norm = square * part * part / ONE**2
        assert Fraction("0.985") < norm <= 1
    assert parts == sorted(parts)
    assert parts[-1] == ONE


def test_squares_of_columns_are_those_of_the_filter() -> None:
    cascade = Cascade.near(50, 3)
    c = coefficients(cascade, 50)
    lengths = [1, 2, 3, 20, 50]
    for length, square in zip(lengths, column_squares(cascade, lengths), strict=True):
        exact = sum((x * x for x in c[:length]), Fraction(0))
        assert Fraction(square.low) <= exact <= Fraction(square.high)


@pytest.mark.parametrize("contributions", [2, 3, 5])
def test_no_set_of_steps_exceeds_the_bound_for_several(contributions: int) -> None:
    horizon = 11
    cascade = Cascade.near(horizon, 2)
    c = coefficients(cascade, horizon)
    parts = parts_of(ColumnScales.of(cascade, horizon), horizon)
    columns = [
        [Fraction(0)] * s + [c_j * part / ONE for c_j in c[: horizon - s]]
        for s, part in enumerate(parts)
    ]
    bound = Fraction(squared_norm(cascade, horizon, contributions).high)
    worst = max(
        sum(sum(column[t] for column in chosen) ** 2 for t in range(horizon))
        for chosen in combinations(columns, contributions)
    )
    assert worst <= bound <= worst * Fraction("1.07")


def test_the_moments_that_the_proof_needs() -> None:
    # c_(j+1) / c_j does not fall, and angles fall with the step and with the distance
    horizon = 40
    c = coefficients(Cascade.near(horizon, 3), horizon)
    ratios = [after / before for before, after in pairwise(c)]
    assert ratios == sorted(ratios)

    def square_of_angle(t: int, d: int) -> Fraction:
        n = horizon - t - d
        product = sum((c[j] * c[j + d] for j in range(n)), Fraction(0))
        squares = [sum((x * x for x in c[:m]), Fraction(0)) for m in (n, n + d)]
        return product**2 / (squares[0] * squares[1])

    for d in (1, 2, 7):
        angles = [square_of_angle(t, d) for t in range(horizon - d)]
        assert angles == sorted(angles, reverse=True)
    along = [square_of_angle(0, d) for d in range(horizon)]
    assert along == sorted(along, reverse=True)


def test_many_contributions_are_bounded_by_the_columns_themselves() -> None:
    cascade = Cascade.near(100, 2)
    few, many = (squared_norm(cascade, 100, m).high for m in (MOST_ANGLES, MOST_ANGLES + 1))
    assert few < many < 1.2 * float(few)
    assert squared_norm(cascade, 100, 1000) == squared_norm(cascade, 100, 100)
    assert squared_norm(cascade, 100, 1).high == 1


def test_pieces_are_short_towards_the_end() -> None:
    scales = ColumnScales.of(Cascade.near(2**20, 2), 2**20)
    starts = [0, *scales.ends[:-1]]
    for start, end in zip(starts, scales.ends, strict=True):
        assert end - start <= max(1, (2**20 - start) // PIECES)
    assert scales.ends[-1] == 2**20
    assert len(scales.ends) < 250
    assert [scales.piece(t) for t in (0, scales.ends[0] - 1, scales.ends[0])] == [0, 0, 1]


def test_decoding_gives_counts_back_and_is_the_same_in_pieces_and_resumed() -> None:
    scales, steps, bits = ColumnScales.of(Cascade.near(60, 2), 60), 60, 20
    counts = np.array(scattered(2 * steps, 1000)).reshape(steps, 2)
    units = np.array(scales.units(steps, bits))[:, None]
    noise = np.array(scattered(2 * steps, 2**24, 5)).reshape(steps, 2)
    encoded = np.cumsum(counts * units, axis=0) + noise

    def decoded(values: np.ndarray) -> list[list[int]]:
        shown: list[list[int]] = ColumnDecoder(scales, bits=bits, columns=2).decode(values).tolist()
        return shown

    assert decoded(encoded - noise) == np.cumsum(counts, axis=0).tolist()
    # the data come out whole, whatever the noise is
    assert decoded(encoded) == (np.cumsum(counts, axis=0) + decoded(noise)).tolist()
    decoder = ColumnDecoder(scales, bits=bits, columns=2)
    shown = []
    for row in encoded:
        shown += decoder.decode(row[None]).tolist()
        decoder = ColumnDecoder(scales, bits=bits, columns=2, state=decoder.state())
    assert shown == decoded(encoded)
