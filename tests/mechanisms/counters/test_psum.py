"""p-sums: alpha is computed, covers are disjoint, incomplete collections are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.psum import PSumCounter, covers, most_shared
from ameles.noise import Tape
from tests.checks import build
from tests.each import together
from tests.mechanisms.counters.loss import exact_loss

SINGLES = [(t, t) for t in range(1, 13)]


@given(st.sets(st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda p: p[0] < p[1])))
def test_alpha_and_covers(extra: set[tuple[int, int]]) -> None:
    intervals = tuple(sorted([*SINGLES, *extra], key=lambda pair: (pair[1], -pair[0])))
    shared = max(sum(i <= item <= j for i, j in intervals) for item in range(1, 13))
    assert most_shared(intervals) == shared
    starts = covers(intervals, 12)
    for t in range(1, 13):
        covered: list[int] = []
        end = t
        while end:
            assert (starts[end], end) in intervals
            covered += range(starts[end], end + 1)
            end = starts[end] - 1
        assert sorted(covered) == list(range(1, t + 1))


@pytest.mark.parametrize("horizon", [1, 2, 4, 7, 31, 32])
def test_dyadic_intervals_are_the_binary_counter(horizon: int) -> None:
    psum = build(PSumCounter, epsilon=1, horizon=horizon)
    binary = BinaryCounter(epsilon=1, horizon=horizon)
    assert isinstance(psum, PSumCounter)
    assert psum.alpha == binary.levels
    for t in range(1, horizon + 1):
        assert psum.error.terms(t) == binary.error.terms(t)


@pytest.mark.parametrize(
    "intervals",
    [[], [(0, 1)], [(2, 1)], [(1, 1), (1, 1)], [(1.0, 1)], "ab", [(1,)], 7, [(1, 1), (1, 9)]],
    ids=str,
)
def test_collections_that_are_none_are_refused(intervals: object) -> None:
    with pytest.raises(BadInput):
        build_with(intervals, 2)


def build_with(intervals: object, horizon: int) -> PSumCounter:
    kind: type = PSumCounter
    built: PSumCounter = kind(epsilon=1, horizon=horizon, intervals=intervals)
    return built


def test_every_step_must_be_reachable() -> None:
    with pytest.raises(BadInput, match="cannot count to 2"):
        PSumCounter(epsilon=1, horizon=3, intervals=[(1, 1), (2, 3)])


def test_intervals_that_no_cover_uses_cost_nothing() -> None:
    # (2, 4) and (3, 4) share step 4 with (1, 4), which alone is in a cover
    given: dict[str, Any] = {"epsilon": 1, "horizon": 4}
    declared = [(1, 1), (2, 2), (1, 2), (3, 3), (1, 4), (2, 4), (3, 4)]
    recipe = PSumCounter(**given, intervals=declared)
    assert recipe.noisy == ((1, 1), (1, 2), (3, 3), (1, 4))
    assert recipe.alpha == recipe.scale == 3
    tape = Tape()
    recipe.start(tape).feed([0] * 4)
    assert len(tape.draws) == 4
    first = PSumCounter(**given, intervals=declared, law=1)
    assert first.alpha == first.scale == 4
    older = Tape()
    first.start(older).feed([0] * 4)
    assert len(older.draws) == 7


@together("contributions", [1, 2, 3])
@together("extra", [(), ((1, 3), (2, 3)), ((1, 5), (2, 5), (4, 7)), ((1, 2), (1, 4), (5, 6))])
def test_the_loss_is_exactly_epsilon(
    extra: tuple[tuple[int, int], ...], contributions: int
) -> None:
    intervals = sorted({*SINGLES[:7], *extra})
    recipe = PSumCounter(
        epsilon="1/3", horizon=7, intervals=intervals, contributions=contributions, bound=2
    )
    assert exact_loss(recipe, 7) == Fraction(1, 3)
