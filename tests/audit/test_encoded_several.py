"""Encoded counters with several contributions, in segments and as vectors: certified, or caught."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from ameles.audit import Finding, Verdict, exact_loss
from ameles.audit.encoded import PartPrice, worst_division
from ameles.audit.encoded_parts import Part, columns_of, parts_of
from ameles.audit.hiding_shift import ONE, FilterColumn, HidingShift
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter, SegmentedProcess
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from tests.audit import broken_encoded as broken
from tests.audit.broken_encoded import SHORT, cut, filtered
from tests.audit.broken_laws import LaplaceInItsRun, LessForTheSecondKey


def squared(columns: list[float], steps: tuple[int, ...], signs: tuple[int, ...]) -> float:
    """The squared norm of the sum of these columns, later and cut off, with these signs."""
    total = np.zeros(len(columns))
    for step, sign in zip(steps, signs, strict=True):
        total[step:] += sign * np.array(columns[: len(columns) - step])
    return float(total @ total)


def ways(steps: int, most: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All sets of at most so many steps, in all directions."""
    return [
        (places, (1, *signs))
        for count in range(1, most + 1)
        for places in combinations(range(steps), count)
        for signs in product((1, -1), repeat=count - 1)
    ]


def rho(norm: float, recipe: Any, bits: int, allowance: Fraction, variance: Fraction) -> float:
    moved = norm * recipe.bound * 2.0**bits + float(allowance)
    return float(moved**2 / (2 * float(variance)))


def encoder(recipe: Any, cascade: Any, steps: int) -> list[float]:
    """The encoder's column by its theorem: a sum of decaying powers, or the square root."""
    if isinstance(recipe, ToeplitzCounter):
        return [math.comb(2 * j, j) / 4.0**j for j in range(steps)]
    terms = [(float(w), float(kept)) for w, kept in cascade.terms]
    return [1.0, *(sum(w * kept ** (j - 1) for w, kept in terms) for j in range(1, steps))]


@pytest.mark.parametrize("kind", [ToeplitzCounter, BufferedCounter])
@pytest.mark.parametrize(("contributions", "bound"), [(2, 1), (3, 4), (5, 1)])
def test_the_loss_is_that_of_a_search_through_all_neighbours(
    kind: Any, contributions: int, bound: int
) -> None:
    recipe = kind(rho=1, horizon=6, contributions=contributions, bound=bound)
    finding = exact_loss(recipe)
    columns = encoder(recipe, recipe.filter, 6)
    longest = max(math.sqrt(squared(columns, *way)) for way in ways(6, contributions))
    encoding = recipe.encoding
    known = rho(longest, recipe, encoding.bits, recipe.allowance, encoding.variance)
    assert float(finding.upper) == pytest.approx(known, rel=1e-8)
    assert finding.verdict is Verdict.CERTIFIED
    assert Fraction("0.995") < finding.lower < finding.upper <= 1
    assert finding.worst is not None
    assert finding.worst.changes == tuple((s, bound) for s in range(1, contributions + 1))


@pytest.mark.parametrize("contributions", [1, 2, 3])
@pytest.mark.parametrize("steps", [2, 3, 5, 11])
def test_segments_lose_what_a_search_through_all_neighbours_finds(
    contributions: int, steps: int
) -> None:
    recipe = SegmentedCounter(**SHORT, contributions=contributions, bound=2)
    finding = exact_loss(recipe, steps=steps)
    assert finding.verdict is Verdict.CERTIFIED
    known = max(
        in_segments(recipe, steps, dict(zip(*way, strict=True)))
        for way in ways(steps, contributions)
    )
    assert float(finding.upper) == pytest.approx(known, rel=1e-8)
    assert float(finding.upper) * 0.99 < finding.lower < finding.upper


def in_segments(recipe: SegmentedCounter, steps: int, changes: dict[int, int]) -> float:
    """What these changes cost: in each segment by its filter, and by its total if it ends."""
    cost, segment = 0.0, 0
    while (start := recipe.cuts.before(segment)) < steps:
        end = recipe.cuts.before(segment + 1)
        inside = min(end - 1, steps) - start
        own = {s - start: by for s, by in changes.items() if start <= s < end}
        filtered_ = {s: by for s, by in own.items() if s < inside}
        if filtered_:
            columns = encoder(recipe, recipe.filter(segment), inside)
            norm = math.sqrt(squared(columns, tuple(filtered_), tuple(filtered_.values())))
            encoding = recipe.encoding(segment)
            cost += rho(norm, recipe, encoding.bits, recipe.allowance(segment), encoding.variance)
        if end <= steps:
            cost += (recipe.bound * sum(own.values())) ** 2 / (2 * float(recipe.variance))
        segment += 1
    return cost


def test_the_worst_steps_may_be_in_several_segments() -> None:
    # totals have all of rho, so that two steps of one segment count four times
    together = exact_loss(SegmentedCounter(**SHORT, contributions=2, share="0.9"), steps=6)
    assert str(together.worst) == "step 1 by 1, step 2 by 1"
    # and where the segments have all of it, steps apart are as bad as steps of one segment
    apart = exact_loss(SegmentedCounter(**SHORT, contributions=8, share="0.01"), steps=11)
    assert apart.worst is not None
    assert len({step > 3 for step, _ in apart.worst.changes}) == 2
    assert apart.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize(
    "recipe",
    [
        ToeplitzCounter(rho=1, horizon=5, contributions=2, bound=3, width=4),
        BufferedCounter(epsilon=1, delta="1e-6", horizon=5, contributions=3, width=2, buffers=2),
        SegmentedCounter(**SHORT, contributions=2, bound=2, width=3),
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_vectors_are_certified(recipe: Any) -> None:
    finding = exact_loss(recipe, steps=5)
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.upper > finding.limit / 2


def test_a_long_horizon_is_audited_whole() -> None:
    finding = exact_loss(BufferedCounter(rho=1, horizon=300, contributions=3, buffers=2))
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.lower > Fraction("0.99")


# Broken counters ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "recipe",
    [
        broken.OneStepToeplitz(rho=1, horizon=6, contributions=2),
        broken.RootOfStepsBuffered(rho=1, horizon=6, contributions=3),
        broken.OneStepTotals(**SHORT, contributions=3),
        broken.OneStepInside(**SHORT, contributions=2),
        broken.LaterSegmentsQuiet(**SHORT),
        broken.QuietToeplitz(rho=1, horizon=6, contributions=3, bound=2),
        broken.QuietBuffered(rho=1, horizon=6, contributions=2, width=2),
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_a_sensitivity_that_is_too_small_is_refuted(recipe: Any) -> None:
    finding: Finding = exact_loss(recipe, steps=6)
    assert finding.verdict is Verdict.REFUTED
    assert finding.lower > 1


def test_a_quiet_segment_is_noticed_where_it_begins() -> None:
    assert exact_loss(broken.LaterSegmentsQuiet(**SHORT), steps=3).verdict is Verdict.CERTIFIED


HIDDEN: Any = broken.HidesItsEncoding


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (cut(broken.ReusedNoise), "weight one"),
        (cut(broken.GoesOn), "changes with the steps"),
        (cut(broken.TotalsOfOne), "changes with the steps"),
        (cut(broken.LeavesLowBits), "moves the noise of another"),
        (cut(broken.TotalsWithABit), "total is not moved by the changes"),
        (broken.NothingForRoundingsInside(**SHORT), "more than it allows for"),
        (filtered(broken.WeightTwo), "weight one"),
        (filtered(broken.Squares), "is not linear"),
        (filtered(broken.TwoVariances), "not of one law"),
        (cut(LessForTheSecondKey, width=2), "not of one law"),
        (filtered(broken.DrawsMore), "another law"),
        (filtered(broken.FlipsACoin), "another law"),
        (LaplaceInItsRun(rho=1, horizon=6), "another law"),
        (filtered(HIDDEN), "does not show its encoded values"),
        (filtered(broken.OneNoiseForAllKeys, width=2), "changes with the steps"),
        (broken.EncodedStepsWithoutNoise(rho=1, horizon=6), "than the same steps at once"),
        (broken.NoticesTwo(rho=1, horizon=6), "does not show what the neighbour shows"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_is_no_such_counter_is_not_certified(recipe: Any, why: str) -> None:
    finding = exact_loss(recipe, steps=6)
    assert finding.verdict is Verdict.NOT_LINEAR
    assert why in finding.how


def test_the_mothers_of_the_broken_ones_are_certified() -> None:
    assert exact_loss(cut(SegmentedProcess), steps=6).verdict is Verdict.CERTIFIED
    assert exact_loss(BufferedCounter(rho=1, horizon=4, width=2)).verdict is Verdict.CERTIFIED


def test_a_vector_that_goes_on_past_its_horizon_is_noticed() -> None:
    finding = exact_loss(broken.NeverEndingVector(rho=1, horizon=4, width=2))
    assert (finding.verdict, finding.steps) == (Verdict.NOT_LINEAR, 8)


def test_digits_that_roundings_spoil_are_counted() -> None:
    recipe = BufferedCounter(rho=1, horizon=16, buffers=2)
    [part] = parts_of(recipe, 16)
    [column] = columns_of(recipe, [part])
    assert column.error > 0
    shift = HidingShift.of(column, bits=part.bits)
    terms = [(Fraction(w), Fraction(kept)) for w, kept in recipe.filter.terms]
    known = [Fraction(1)]
    known += [sum((w * kept**j for w, kept in terms), Fraction(0)) for j in range(15)]
    off = [
        abs(e - value * (ONE << part.bits)) for e, value in zip(shift.values, known, strict=True)
    ]
    assert 0 < max(off) <= shift.error


@pytest.mark.parametrize(
    ("allowance", "least", "most"), [("1/2", "9/8", "25/8"), ("3", "0", "25/2"), ("0", "2", "2")]
)
def test_roundings_lower_one_bound_and_raise_the_other(
    allowance: str, least: str, most: str
) -> None:
    same = HidingShift.of(FilterColumn((ONE, 0, 0, 0), 0), bits=0)  # a shift of length 2
    price = PartPrice(
        Part(0, 4, False, 0, (1,) * 4, Fraction(allowance)), same, 1, Fraction(1), None
    )
    assert (price.least((1,)), price.most(1)) == (Fraction(least), Fraction(most))
    assert price.least(()) == price.most(0) == 0


def test_steps_in_turn_up_and_down_are_worst_where_the_shift_alternates() -> None:
    shift = HidingShift.of(FilterColumn((ONE, *[2 * ONE] * 3), 0), bits=0)
    price = PartPrice(Part(0, 4, False, 0, (1,) * 4, Fraction(0)), shift, 1, Fraction(1), None)
    assert worst_division([price], 2).changes == ((1, 1), (2, -1))
