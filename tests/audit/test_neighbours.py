"""Several changed steps: every combination where that is possible, a bound where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from ameles.audit import Verdict, exact_loss, neighbours
from ameles.core.loss import Loss, Pure
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from tests.audit.weighted import GaussianCounter, WeightedCounter
from tests.mechanisms.counters.loss import exact_loss as by_inversion


@pytest.mark.parametrize("contributions", [1, 2, 3, 6])
@pytest.mark.parametrize("bound", [1, 3])
def test_all_combinations_agree_with_a_plain_search(contributions: int, bound: int) -> None:
    for kind in (SimpleOneCounter, BinaryCounter):
        recipe = kind(epsilon=1, horizon=6, contributions=contributions, bound=bound)
        assert exact_loss(recipe).exact == by_inversion(recipe, 6)


@dataclass(frozen=True, kw_only=True)
class DifferencesOnly(WeightedCounter):
    """Noise that later steps take back: changes in opposite directions cost the most."""

    def weights(self) -> list[list[Any]]:
        size = self.horizon
        return [[1 if i <= t else 0 for i in range(size)] for t in range(size)]

    @property
    def loss(self) -> Loss:
        return Pure(2 * self.claim)


def test_the_worst_signs_are_found() -> None:
    recipe = DifferencesOnly(epsilon=1, horizon=5, contributions=2)
    finding = exact_loss(recipe)
    assert finding.exact == 2
    assert finding.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("contributions", [2, 3, 4])
def test_the_bound_for_many_combinations_holds(
    contributions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (SimpleOneCounter, BinaryCounter, GaussianCounter):
        recipe = kind(epsilon=1, horizon=8, contributions=contributions, bound=2)
        tried = exact_loss(recipe)
        monkeypatch.setattr(neighbours, "MOST_TRIED", 0)
        bounded = exact_loss(recipe)
        monkeypatch.undo()
        assert tried.exact is not None
        assert bounded.lower <= tried.exact <= bounded.upper
        assert f"the sum of the {contributions} most expensive steps" in bounded.how


def test_the_bound_is_often_exact() -> None:
    finding = exact_loss(SimpleOneCounter(epsilon=1, horizon=40, contributions=5))
    assert (finding.exact, finding.verdict) == (1, Verdict.CERTIFIED)
    assert finding.worst is not None
    assert [step for step, _ in finding.worst.changes] == [1, 2, 3, 4, 5]


@dataclass(frozen=True, kw_only=True)
class Replaceable(WeightedCounter):
    """Two ways to hide each step, of which one is shared: sums of the cheapest are not cheapest."""

    def weights(self) -> list[list[Any]]:
        # the increment of step 1 has draws 0 and 2, that of step 2 draws 1 and 2
        return [[1, 0, 1], [1, 1, 2]]

    def scale(self) -> Fraction:
        return Fraction(1)


def test_combinations_are_solved_anew() -> None:
    # each step alone costs 1; both together cost 1 by their shared draw, and 2 if opposed
    finding = exact_loss(Replaceable(epsilon=2, horizon=2, contributions=2))
    assert finding.exact == 2
    assert finding.worst is not None
    assert sorted(by for _, by in finding.worst.changes) == [-1, 1]


def test_little_patience_gives_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "MOST_SOLVED", 0)
    finding = exact_loss(Replaceable(epsilon=2, horizon=2, contributions=2))
    assert finding.lower <= 2 <= finding.upper
