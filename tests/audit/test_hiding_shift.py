"""The shift that hides a change: brute force over all sets of steps, and numbers that are off."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from ameles.audit.hiding_shift import ONE, FilterColumn, HidingShift
from ameles.audit.observation import NotLinear

# In sixteenths; the first fall to zero, the others change their sign or grow.
FALLING = [(16, 8, 6, 5, 4), (16, 16, 16, 16, 16), (16, 9, 7, 6, 5, 5)]
OTHERS = [
    *((16, 24, 4, 1, 1, 3), (16, -16, 8, -4, 2), (16, 0, 0, 40, 0), (16, 40, 5, 2, 1)),
    (16, 16, 0, 0, 0),  # every second e is 0, so the first two steps are not the worst
]


def shift_by_hand(column: tuple[int, ...], bits: int) -> list[Fraction]:
    shift: list[Fraction] = []
    for t in range(len(column)):
        past = sum((Fraction(column[j], 16) * shift[t - j] for j in range(1, t + 1)), Fraction(0))
        shift.append((1 << bits) - past)
    return shift


def square(shift: list[Fraction], amounts: tuple[int, ...]) -> Fraction:
    """The squared norm of the shifts of all steps, by these amounts."""
    moved = [
        sum((amounts[s] * shift[t - s] for s in range(t + 1)), Fraction(0))
        for t in range(len(shift))
    ]
    return sum((e * e for e in moved), Fraction(0))


def worst(shift: list[Fraction], count: int) -> Fraction:
    """Over all sets of at most ``count`` steps and all directions."""
    ways = product((-1, 0, 1), repeat=len(shift))
    return max(square(shift, way) for way in ways if sum(map(abs, way)) <= count)


@pytest.mark.parametrize("column", FALLING + OTHERS)
def test_the_shift_and_its_lengths_are_those_of_a_search(column: tuple[int, ...]) -> None:
    known = shift_by_hand(column, 3)
    shift = HidingShift.of(FilterColumn(tuple(c * ONE // 16 for c in column), 0), bits=3)
    assert shift.error == 0  # few digits: nothing was cut
    assert [Fraction(value, ONE) for value in shift.values] == known
    tiny = Fraction(1, 1 << 100)
    for count in range(1, 4):
        largest = worst(known, count)
        assert largest <= shift.longest(count) ** 2
        if column in FALLING:
            assert shift.longest(count) ** 2 <= largest * (1 + tiny)
        for signs in product((1, -1), repeat=count):
            exact = square(known, (*signs, *[0] * (len(column) - count)))
            assert exact * (1 - tiny) <= shift.length(signs) ** 2 <= exact


def test_steps_that_move_the_noise_up_and_down_are_longer_where_it_alternates() -> None:
    shift = HidingShift.of(FilterColumn((ONE, 2 * ONE, 2 * ONE, 2 * ONE), 0), bits=0)
    assert [value // ONE for value in shift.values] == [1, -1, 1, -1]
    assert shift.length((1, -1)) > shift.length((1, 1))
    assert shift.length((1, -1)) <= shift.longest(2)


@pytest.mark.parametrize("column", FALLING + OTHERS)
def test_bounds_hold_for_every_column_that_the_error_allows(column: tuple[int, ...]) -> None:
    off = ONE >> 40
    read = tuple(c * ONE // 16 for c in column)
    shift = HidingShift.of(FilterColumn(read, off), bits=2)
    assert 0 < shift.error < ONE >> 8
    for signs in ((1, 1, 1, 1, 1), (-1, -1, -1, -1, -1), (1, -1, 1, -1, 1)):
        moved = [read[0], *(c + s * off for c, s in zip(read[1:], signs, strict=False))]
        true = HidingShift.of(FilterColumn(tuple(moved), 0), bits=2)
        pairs = zip(shift.values, true.values, strict=True)
        assert all(abs(a - b) <= shift.error for a, b in pairs)
        for count in (1, 2, 3):
            assert true.longest(count) <= shift.longest(count)
            assert true.length((1,) * count) >= shift.length((1,) * count)


def test_digits_that_are_cut_are_counted() -> None:
    # 0.999... to the power of 3 needs more digits than there are
    shift = HidingShift.of(FilterColumn((ONE, ONE - 1, 0, 0), 0), bits=0)
    assert 0 < shift.error < 16


def test_a_column_that_nobody_could_read_is_refused() -> None:
    with pytest.raises(NotLinear, match="too many digits"):
        HidingShift.of(FilterColumn((ONE, ONE // 2, ONE // 4), ONE), bits=0)
